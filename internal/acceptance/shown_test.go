package acceptance_test

import (
	"encoding/json"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// targetShown are the computed attributes of a target in a plan or a state.
type targetShown struct {
	Deployments map[string]string `json:"deployments"`
	Objects     map[string]string `json:"objects"`
	NotReady    map[string]string `json:"not_ready"`
	Clusters    map[string]string `json:"clusters"`
	Records     map[string]string `json:"records"`
}

// shown reads the computed attributes of the only target in state.
func (w *workspace) shown(t *testing.T) targetShown {
	t.Helper()
	var shown targetShown
	w.attribute(t, "deployments", &shown.Deployments)
	w.attribute(t, "objects", &shown.Objects)
	w.attribute(t, "not_ready", &shown.NotReady)
	w.attribute(t, "clusters", &shown.Clusters)
	w.attribute(t, "records", &shown.Records)
	return shown
}

// objectsByDeployment are the objects by cluster/bundle.
func (s targetShown) objectsByDeployment() map[string]map[string]string {
	found := map[string]map[string]string{}
	for name, hash := range s.Objects {
		deployment, object, isObject := strings.Cut(name, " ")
		if !isObject {
			continue
		}
		if found[deployment] == nil {
			found[deployment] = map[string]string{}
		}
		found[deployment][object] = hash
	}
	return found
}

// storedRecord is the record of a release in the state.
type storedRecord struct {
	Release   string `json:"release"`
	Namespace string `json:"namespace"`
	Chart     string `json:"chart"`
	Version   string `json:"version"`
	Digest    string `json:"digest"`
	// Objects is set if the plan did not know the names of the objects.
	Objects map[string]string `json:"objects"`
}

func (s targetShown) decodeRecord(deployment string) (record storedRecord, err error) {
	err = json.Unmarshal([]byte(s.Records[deployment]), &record)
	return record, err
}

func (s targetShown) record(t *testing.T, deployment string) storedRecord {
	t.Helper()
	record, err := s.decodeRecord(deployment)
	if err != nil {
		t.Fatalf("reading the record of %s: %v", deployment, err)
	}
	return record
}

// objectsHashes returns the hashes of the objects of a deployment, wherever they are in the state.
func (s targetShown) objectsHashes(deployment string, record storedRecord) map[string]string {
	if record.Objects != nil {
		return record.Objects
	}
	found := s.objectsByDeployment()[deployment]
	if found == nil {
		found = map[string]string{}
	}
	return found
}

// states are the states of the deployments in Terraform's state.
func (w *workspace) states(t *testing.T) map[string]string {
	t.Helper()
	shown := w.shown(t)
	states := map[string]string{}
	for key := range shown.Deployments {
		states[key] = "Ready"
		if text, notReady := shown.NotReady[key]; notReady {
			states[key], _, _ = strings.Cut(text, ":")
		}
	}
	return states
}

// counts are the numbers of objects of a cluster.
type counts struct {
	Desired  int `json:"desired_ready"`
	Ready    int `json:"ready"`
	NotReady int `json:"not_ready"`
	Modified int `json:"modified"`
	Missing  int `json:"missing"`
	NotOwned int `json:"not_owned"`
	Unknown  int `json:"unknown"`
}

var (
	objectsPattern = regexp.MustCompile(`, (\d+)/(\d+) objects?`)
	wrongPattern   = regexp.MustCompile(`, (\d+) (not ready|modified|missing|unknown|owned by other releases)`)
)

// countsOf reads the summary of a cluster.
func countsOf(t *testing.T, summary string) counts {
	t.Helper()
	number := func(text string) int {
		number, err := strconv.Atoi(text)
		if err != nil {
			t.Fatalf("%q is no summary of a cluster", summary)
		}
		return number
	}
	objects := objectsPattern.FindStringSubmatch(summary)
	if objects == nil {
		t.Fatalf("%q is no summary of a cluster", summary)
	}
	found := counts{Ready: number(objects[1]), Desired: number(objects[2])}
	for _, wrong := range wrongPattern.FindAllStringSubmatch(summary, -1) {
		into := map[string]*int{
			"not ready": &found.NotReady, "modified": &found.Modified, "missing": &found.Missing, "unknown": &found.Unknown, "owned by other releases": &found.NotOwned,
		}[wrong[2]]
		*into = number(wrong[1])
	}
	return found
}

// readyClusters returns the number of clusters on which every deployment is ready, and the number
// of all clusters.
func (s targetShown) readyClusters() (ready, all int) {
	notReady := map[string]bool{}
	for key := range s.NotReady {
		cluster, _, _ := strings.Cut(key, "/")
		notReady[cluster] = true
	}
	return len(s.Clusters) - len(notReady), len(s.Clusters)
}
