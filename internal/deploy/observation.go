package deploy

import (
	"github.com/agentless-fleet/terraform-provider-fleet/internal/release"
)

// Observation is the result of reading clusters.
type Observation struct {
	// Records contains the existing deployments. Those that could not be read are in it unchanged.
	Records map[Key]Record
	// UIDs maps each cluster that responded to its identity.
	UIDs map[string]string
	// Findings describe the objects of deployments, where they were read.
	Findings map[Key]release.Finding
	// Failures has one entry for each cluster that could not be read, and one for each deployment
	// whose objects could not be read.
	Failures []Failure
	// Orphans are releases of the target that its state does not have, sorted by cluster,
	// namespace and name.
	Orphans []Orphan
	// AllSeen reports that every cluster of the state responded with all releases that were listed, so
	// that Orphans is complete for the namespaces of Listed.
	AllSeen bool
	// Listed maps clusters to the namespaces whose releases were listed. It lacks clusters on which all
	// releases were listed.
	Listed map[string][]string
	// Missing are deployments whose release no longer exists on its cluster. Their objects can still
	// exist, and belong to them.
	Missing map[Key]release.Known
}

// NewObservation returns an observation of nothing.
func NewObservation() Observation {
	return Observation{
		Records: map[Key]Record{}, UIDs: map[string]string{}, Findings: map[Key]release.Finding{},
		Missing: map[Key]release.Known{}, Listed: map[string][]string{},
	}
}

// Orphan is a release that a target wrote and whose state does not have the release, such as after a
// killed apply.
type Orphan struct {
	Cluster   string
	Release   string
	Namespace string
	// Objects are the keys of the objects that the record of the release names. If there are many,
	// it has some of them.
	Objects []string
}
