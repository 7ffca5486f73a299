package provider

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/deploy"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/release"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/status"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/target"
)

// recordsAttribute is what a removal needs. It stands in the state and not in private
// state: the Delete of a tainted resource is not given the stored private state. Each record
// is one text: the framework visits every attribute several times in each plan.
func recordsAttribute() schema.MapAttribute {
	return schema.MapAttribute{
		Computed: true, Sensitive: true, ElementType: types.StringType,
		MarkdownDescription: "What the provider knows of each release, as JSON by `cluster/bundle`. Only these releases are ever removed, and only as it stands here: " +
			"a release record in a cluster may be anybody's. A release that a failed move left behind has the key `cluster/bundle namespace/release`.",
	}
}

// storedRelease is release.Known as JSON.
type storedRelease struct {
	Release         string `json:"release"`
	Namespace       string `json:"namespace"`
	ClusterUID      string `json:"cluster_uid,omitempty"`
	Instance        string `json:"instance,omitempty"`
	Digest          string `json:"digest,omitempty"`
	Content         string `json:"content,omitempty"`
	TargetNamespace string `json:"target_namespace,omitempty"`
	ServiceAccount  string `json:"service_account,omitempty"`
	KeepResources   bool   `json:"keep_resources,omitempty"`
	DeleteNamespace bool   `json:"delete_namespace,omitempty"`
	NamespaceKeys   bool   `json:"namespace_keys,omitempty"`
	OwnValues       bool   `json:"own_values,omitempty"`
}

func knownValue(known release.Known) types.String {
	text, _ := json.Marshal(storedRelease{ // Strings and booleans cannot fail.
		Release: known.Release, Namespace: known.Namespace, ClusterUID: known.UID, Instance: known.Instance,
		Digest: known.Digest, Content: known.Content, TargetNamespace: known.TargetNamespace,
		ServiceAccount: known.Terms.ServiceAccount, KeepResources: known.Terms.KeepResources,
		DeleteNamespace: known.Terms.DeleteNamespace, NamespaceKeys: known.Terms.NamespaceKeys, OwnValues: known.Terms.OwnValues,
	})
	return types.StringValue(string(text))
}

// knownOf reads one element of records; ok is false if it is unknown or not readable.
func knownOf(value attr.Value) (known release.Known, ok bool) {
	text, _ := value.(types.String)
	var stored storedRelease
	if json.Unmarshal([]byte(text.ValueString()), &stored) != nil || stored.Release == "" {
		return release.Known{}, false
	}
	return release.Known{
		Release: stored.Release, Namespace: stored.Namespace, UID: stored.ClusterUID, Instance: stored.Instance,
		Digest: stored.Digest, Content: stored.Content, TargetNamespace: stored.TargetNamespace,
		Terms: release.Terms{
			ServiceAccount: stored.ServiceAccount, KeepResources: stored.KeepResources, DeleteNamespace: stored.DeleteNamespace,
			NamespaceKeys: stored.NamespaceKeys, OwnValues: stored.OwnValues,
		},
	}, true
}

// knownReleases are the elements of records, by deployment: the current release, and those
// that a failed move left.
func (m *targetModel) knownReleases() (current map[deploy.Key]release.Known, left map[deploy.Key][]release.Known) {
	current, left = map[deploy.Key]release.Known{}, map[deploy.Key][]release.Known{}
	elements := m.Records.Elements()
	for _, name := range slices.Sorted(maps.Keys(elements)) {
		known, ok := knownOf(elements[name])
		if !ok {
			continue
		}
		deployment, _, isLeft := strings.Cut(name, " ")
		cluster, bundle, _ := strings.Cut(deployment, "/")
		key := deploy.Key{Cluster: cluster, Bundle: bundle}
		if isLeft {
			left[key] = append(left[key], known)
			continue
		}
		current[key] = known
	}
	return current, left
}

// lostReleases are those in records without a deployment: they were not on their cluster
// when it was last looked at. Should their objects be there, they are this target's.
func (m *targetModel) lostReleases() map[deploy.Key]release.Known {
	lost, _ := m.knownReleases()
	for name := range m.Deployments.Elements() {
		cluster, bundle, _ := strings.Cut(name, "/")
		delete(lost, deploy.Key{Cluster: cluster, Bundle: bundle})
	}
	return lost
}

// wantedLost are the lost releases of wanted deployments.
func (m *targetModel) wantedLost(wanted []target.Deployment) map[deploy.Key]release.Known {
	lost, kept := m.lostReleases(), map[deploy.Key]release.Known{}
	for _, d := range wanted {
		if known, is := lost[keyOf(d)]; is {
			kept[keyOf(d)] = known
		}
	}
	return kept
}

// withLost are records and, as to be looked for again, the releases that were lost.
func withLost(records map[deploy.Key]deploy.Record, lost map[deploy.Key]release.Known) map[deploy.Key]deploy.Record {
	all := maps.Clone(records)
	for key, known := range lost {
		all[key] = deploy.Record{
			Release: known.Release, Namespace: known.Namespace, State: status.WaitApplied, Message: "it was gone and is there again", Known: known,
		}
	}
	return all
}

// addKnown adds what is known of a deployment to the elements of records.
func addKnown(to map[string]attr.Value, key deploy.Key, record deploy.Record) {
	known := record.Known
	known.Release, known.Namespace = record.Release, record.Namespace
	to[key.String()] = knownValue(known)
	for _, left := range record.Left {
		to[key.String()+" "+release.Key(left.Namespace, left.Release)] = knownValue(left)
	}
}
