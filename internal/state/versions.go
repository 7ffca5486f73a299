package state

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/deploy"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/target"
)

// ObjectVersions are the versions of the objects on clusters that values are read from, by cluster.
// Read stores them, and planning uses the stored versions. A plan thus shows another version as a
// change.
//
//nolint:recvcheck // as encoding/json wants it
type ObjectVersions map[string]deploy.Versions

// storedVersion is one version in JSON.
type storedVersion struct {
	Kind      string `json:"kind"`
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	Version   string `json:"version"`
}

// MarshalJSON writes a sorted list for each cluster.
func (v ObjectVersions) MarshalJSON() ([]byte, error) {
	stored := make(map[string][]storedVersion, len(v))
	for cluster, versions := range v {
		for reference, version := range versions {
			stored[cluster] = append(stored[cluster], storedVersion{reference.Kind, reference.Namespace, reference.Name, version})
		}
		slices.SortFunc(stored[cluster], func(a, b storedVersion) int {
			return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
		})
	}
	return json.Marshal(stored)
}

// UnmarshalJSON reads what MarshalJSON writes.
func (v *ObjectVersions) UnmarshalJSON(raw []byte) error {
	var stored map[string][]storedVersion
	if err := json.Unmarshal(raw, &stored); err != nil {
		return err
	}
	*v = nil
	for cluster, versions := range stored {
		for _, item := range versions {
			v.set(cluster, target.Reference{Kind: item.Kind, Namespace: item.Namespace, Name: item.Name}, item.Version)
		}
	}
	return nil
}

func (v *ObjectVersions) set(cluster string, reference target.Reference, version string) {
	if *v == nil {
		*v = ObjectVersions{}
	}
	if (*v)[cluster] == nil {
		(*v)[cluster] = deploy.Versions{}
	}
	(*v)[cluster][reference] = version
}

// Pin sets the digests of deployments whose values are read from their cluster.
func (v ObjectVersions) Pin(deployments []target.Deployment) {
	for i, d := range deployments {
		deployments[i] = d.Pinned(v[d.Cluster])
	}
}

// References returns the objects that a refresh reads again, by cluster. isConnectable reports whether a
// cluster can be queried.
func (v ObjectVersions) References(isConnectable func(cluster string) bool) map[string][]target.Reference {
	references := map[string][]target.Reference{}
	for cluster, versions := range v {
		if isConnectable(cluster) {
			references[cluster] = slices.Collect(maps.Keys(versions))
		}
	}
	return references
}

// Refreshed returns the versions after a refresh. found are the versions that the refresh read. A
// cluster that did not respond keeps its versions.
func (v ObjectVersions) Refreshed(found map[string]deploy.Versions) ObjectVersions {
	if len(found) == 0 {
		return v
	}
	now := ObjectVersions{}
	maps.Copy(now, v)
	maps.Copy(now, found)
	return now
}

// Applied returns the versions of the objects that the wanted deployments name, after an apply.
// found are the versions that the apply read.
func (v ObjectVersions) Applied(found map[string]deploy.Versions, wanted []target.Deployment) ObjectVersions {
	var now ObjectVersions
	for _, d := range wanted {
		for _, reference := range d.References() {
			version, ok := found[d.Cluster][reference]
			if !ok {
				version, ok = v[d.Cluster][reference]
			}
			if ok {
				now.set(d.Cluster, reference, version)
			}
		}
	}
	return now
}
