package state

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/deploy"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/status"
)

// Version is the version of the schema of a target. 0 had nested attributes.
const Version = 1

// state0 is what a state of version 0 has besides attributes that did not change.
type state0 struct {
	Deployments map[string]deployment0       `json:"deployments"`
	Objects     map[string]map[string]string `json:"objects"`
	Records     map[string]string            `json:"records"`
	Clusters    map[string]counts0           `json:"cluster_resource_counts"`
}

type deployment0 struct {
	Release   string       `json:"release"`
	Namespace string       `json:"namespace"`
	Chart     string       `json:"chart"`
	Version   string       `json:"version"`
	Digest    string       `json:"digest"`
	State     status.State `json:"state"`
	Message   string       `json:"message"`
}

type counts0 struct {
	Ready    int `json:"ready"`
	NotReady int `json:"not_ready"`
	Modified int `json:"modified"`
	Missing  int `json:"missing"`
	NotOwned int `json:"not_owned"`
	Unknown  int `json:"unknown"`
}

// Upgrade0 returns the attributes of a state of version 0 as a state of the current version shows
// them, both in JSON. It sends no request to a cluster.
func Upgrade0(attributes []byte) ([]byte, error) {
	var all map[string]json.RawMessage
	if err := json.Unmarshal(attributes, &all); err != nil {
		return nil, fmt.Errorf("reading a state of version 0: %w", err)
	}
	var earlier state0
	if err := json.Unmarshal(attributes, &earlier); err != nil {
		return nil, fmt.Errorf("reading a state of version 0: %w", err)
	}
	for _, gone := range []string{"ready", "failed", "ready_clusters", "resource_counts", "cluster_resource_counts", "stages", "summary"} {
		delete(all, gone)
	}
	shown := earlier.shown()
	computed := map[string]map[string]string{
		"deployments": shown.Deployments, "objects": shown.Objects, "records": shown.Records, "not_ready": shown.NotReady, "clusters": shown.Clusters,
	}
	for name, elements := range computed {
		text, err := json.Marshal(elements)
		if err != nil {
			return nil, fmt.Errorf("writing %s: %w", name, err)
		}
		all[name] = text
	}
	if earlier.Objects == nil {
		all["objects"] = json.RawMessage("null")
	}
	return json.Marshal(all)
}

func (s state0) shown() Shown {
	known := DecodeRecords(s.Records)
	records := make(map[deploy.Key]deploy.Record, len(s.Deployments))
	for name, deployment := range s.Deployments {
		key := keyOf(name)
		record := known.Current[key]
		record.Release, record.Namespace, record.Chart, record.Version = deployment.Release, deployment.Namespace, deployment.Chart, deployment.Version
		record.Digest, record.State, record.Message = deployment.Digest, deployment.State, deployment.Message
		record.Objects, record.Left, record.Yielded = objects0(s.Objects[name]), known.Left[key], objects0(record.Yielded)
		record.Counts = status.Counts{Ready: len(record.Objects)}
		records[key] = record
	}
	lost := known.Lost(func(key deploy.Key) bool { _, deployed := records[key]; return deployed })
	shown := Contents{Records: records, Lost: lost, ShowsObjects: s.Objects != nil}.Shown()
	for cluster, counts := range s.Clusters {
		shown.Clusters[cluster] = s.summary(cluster, counts)
	}
	return shown
}

// summary returns the summary of one cluster.
func (s state0) summary(cluster string, counts counts0) string {
	summary := status.ClusterSummary{Objects: status.Counts(counts)}
	for name, deployment := range s.Deployments {
		if keyOf(name).Cluster != cluster {
			continue
		}
		summary.Deployments++
		if deployment.State == status.Ready {
			summary.Ready++
		}
	}
	return summary.String()
}

// objects0 returns objects whose keys are of version 0, such as "apps/Deployment/web/nginx", by
// keys of the current version. A key that begins with a small letter begins with an API group: a
// kind begins with a capital letter.
func objects0(of map[string]string) map[string]string {
	if of == nil {
		return nil
	}
	objects := make(map[string]string, len(of))
	for key, text := range of {
		group, rest, _ := strings.Cut(key, "/")
		kind, name, hasGroup := strings.Cut(rest, "/")
		if hasGroup && group != "" && group[0] >= 'a' && group[0] <= 'z' {
			key = kind + "." + group + "/" + name
		}
		objects[key] = text
	}
	return objects
}
