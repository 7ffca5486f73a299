package state

import (
	"maps"
	"slices"
	"strings"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/deploy"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/release"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/status"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/target"
)

// Deployment is what the attributes deployments and objects show of one deployment.
type Deployment struct {
	Release, Namespace, Chart, Version, Digest, State, Message string
	// Objects are the hashes of its objects.
	Objects map[string]string

	// IsPlanned says that the deployment is going to be written: its state, its message and
	// its element of records are known after the apply.
	IsPlanned bool
	// DigestUnknown and ObjectsUnknown say that these are known after the apply, too.
	DigestUnknown, ObjectsUnknown bool
}

// Shown is what a plan or a state shows of deployments.
type Shown struct {
	// Deployments have the keys cluster/bundle.
	Deployments map[string]Deployment
	// Records are the known elements of the attribute records.
	Records map[string]string
	// IsUnknown says that a plan shows nothing of deployments.
	IsUnknown bool
}

// ShownOf returns what a state shows of records. lost are the releases that were not on their
// clusters.
func ShownOf(records map[deploy.Key]deploy.Record, lost LostReleases) Shown {
	shown := Shown{Deployments: make(map[string]Deployment, len(records)), Records: make(map[string]string, len(records))}
	for key, record := range records {
		shown.Deployments[key.String()] = Deployment{
			Release: record.Release, Namespace: record.Namespace, Chart: record.Chart, Version: record.Version,
			Digest: record.Digest, State: string(record.State), Message: record.Message, Objects: record.Objects,
		}
		maps.Copy(shown.Records, EncodeRecord(key, record))
	}
	for key, known := range lost {
		if _, there := records[key]; !there {
			shown.Records[key.String()] = EncodeKnown(known)
		}
	}
	return shown
}

// ShownPlan returns what a plan shows, given what was there before and the lost releases of
// wanted deployments.
func ShownPlan(planned *deploy.Plan, prior map[deploy.Key]deploy.Record, lost LostReleases) Shown {
	kept := make(map[deploy.Key]deploy.Record, len(planned.Keep))
	for key := range planned.Keep {
		kept[key] = prior[key]
	}
	shown := ShownOf(kept, lost)
	for _, d := range planned.Write {
		key := deploy.KeyOf(d)
		objects, known := planned.Objects[key]
		if slices.Contains(slices.Collect(maps.Values(objects)), "") { // The attribute has no unknown element.
			objects, known = nil, false
		}
		rendering := planned.Renderings[key]
		shown.Deployments[d.Key()] = Deployment{
			Release: d.Release, Namespace: d.Namespace, Chart: rendering.Chart, Version: rendering.Version, Digest: d.Digest, Objects: objects,
			IsPlanned: true, DigestUnknown: d.Unpinned, ObjectsUnknown: !known,
		}
		delete(shown.Records, d.Key())
	}
	return shown
}

// DeployRecords returns what a state knows of each deployment, given what private state has of
// it.
func (s Shown) DeployRecords(drift DriftState) map[deploy.Key]deploy.Record {
	records := make(map[deploy.Key]deploy.Record, len(s.Deployments))
	known := DecodeRecords(s.Records)
	for name, d := range s.Deployments {
		key := keyOf(name)
		record := drift.On(name, deploy.Record{
			Release: d.Release, Namespace: d.Namespace, Chart: d.Chart, Version: d.Version,
			Digest: d.Digest, State: status.State(d.State), Message: d.Message, Objects: d.Objects,
		})
		records[key] = known.Complete(key, record)
	}
	return records
}

// Lost returns the lost releases of a state.
func (s Shown) Lost() LostReleases {
	return DecodeRecords(s.Records).Lost(func(key deploy.Key) bool {
		_, deployed := s.Deployments[key.String()]
		return deployed
	})
}

// Writes reports whether a plan shows a deployment, by its key, as going to be written.
func (s Shown) Writes(key string) bool { return s.Deployments[key].IsPlanned }

// LeavesOut reports whether a plan shows that a deployment is not there.
func (s Shown) LeavesOut(key deploy.Key) bool {
	_, shown := s.Deployments[key.String()]
	return !shown && !s.IsUnknown
}

// Digests returns the digests that a plan shows.
func (s Shown) Digests() map[deploy.Key]string {
	digests := make(map[deploy.Key]string, len(s.Deployments))
	for name, d := range s.Deployments {
		digests[keyOf(name)] = d.Digest
	}
	return digests
}

// Objects returns the objects that a plan shows as known.
func (s Shown) Objects() map[deploy.Key]map[string]string {
	objects := map[deploy.Key]map[string]string{}
	for name, d := range s.Deployments {
		if d.Objects != nil {
			objects[keyOf(name)] = d.Objects
		}
	}
	return objects
}

func keyOf(name string) deploy.Key {
	cluster, bundle, _ := strings.Cut(name, "/")
	return deploy.Key{Cluster: cluster, Bundle: bundle}
}

// Optional is the value of an attribute that can be missing or not known yet.
type Optional[T comparable] struct {
	Value              T
	IsMissing, Unknown bool
}

// ReleaseLabels is what of a target stands on the records of its releases, and in its state beside
// them.
type ReleaseLabels struct {
	// Name and AdoptionKey stand on the records.
	Name, AdoptionKey Optional[string]
	// PlanObjects says whether the state is to show objects, and ShowsObjects whether it does.
	PlanObjects  Optional[bool]
	ShowsObjects bool
	// Exists says that there is a state.
	Exists bool
}

// Changes reports whether every release has to be observed again, although nothing is deployed:
// the target has another name or adoption key than before, or its objects are to be shown and
// were not before.
func (m ReleaseLabels) Changes(before ReleaseLabels) bool {
	return m.Name != before.Name || m.AdoptionKey != before.AdoptionKey ||
		(!before.ShowsObjects && (m.PlanObjects.Value || m.PlanObjects.Unknown))
}

// MayChange reports whether it is not known yet if every release has to be observed again.
func (m ReleaseLabels) MayChange(before ReleaseLabels) bool {
	if !before.Exists || m.Name != before.Name {
		return false
	}
	if m.AdoptionKey.Unknown {
		return true
	}
	return m.AdoptionKey == before.AdoptionKey && !before.ShowsObjects && m.PlanObjects.Unknown
}

// Counts are what a state counts over deployments.
type Counts struct {
	// ReadyClusters is on how many clusters all deployments are ready, such as 48/50.
	ReadyClusters string
	// Ready and Failed are numbers of deployments.
	Ready, Failed int
	// Objects are those of all deployments, and Clusters those by cluster.
	Objects  status.Counts
	Clusters map[string]status.Counts
}

// CountsOf counts over records.
func CountsOf(records map[deploy.Key]deploy.Record) Counts {
	counts := Counts{Clusters: map[string]status.Counts{}}
	states := map[string][]status.State{}
	for key, record := range records {
		counts.Objects = counts.Objects.Plus(record.Counts)
		counts.Clusters[key.Cluster] = counts.Clusters[key.Cluster].Plus(record.Counts)
		states[key.Cluster] = append(states[key.Cluster], record.State)
		switch record.State {
		case status.Ready:
			counts.Ready++
		case status.ErrApplied:
			counts.Failed++
		case status.NotReady, status.Pending, status.OutOfSync, status.Modified, status.WaitApplied:
		}
	}
	counts.ReadyClusters = status.ReadyClusters(states)
	return counts
}

// FailedAfter counts the deployments that have failed and are not written: every other one
// that fails is an error of the apply, after which nothing has to be as planned.
func FailedAfter(prior map[deploy.Key]deploy.Record, change deploy.Change) int {
	failed := 0
	for key := range change.Keep {
		if prior[key].State == status.ErrApplied {
			failed++
		}
	}
	return failed
}

// ClustersAfter returns the clusters with deployments after a change, and whether all on them
// stay as they are.
func ClustersAfter(change deploy.Change) map[string]bool {
	stay := map[string]bool{}
	for key := range change.Keep {
		stay[key.Cluster] = true
	}
	for _, key := range change.Remove {
		if stay[key.Cluster] {
			stay[key.Cluster] = false
		}
	}
	for _, d := range change.Write {
		stay[d.Cluster] = false
	}
	return stay
}

// WantedReleases are the lost releases of a state that are wanted, and those of deployments
// that a plan left out.
func WantedReleases(lost LostReleases, wanted []target.Deployment, leftOut map[deploy.Key]release.Known) LostReleases {
	releases := lost.Wanted(wanted)
	maps.Copy(releases, leftOut)
	return releases
}
