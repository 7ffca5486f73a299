package deploy

import (
	"maps"
	"slices"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/release"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/status"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/target"
)

// Record is what is recorded of one deployment after it was carried out or read.
type Record struct {
	Release   string
	Namespace string
	Chart     string
	Version   string
	// Digest is that of the deployment on the cluster, "" when the release on the cluster was not
	// made by this provider.
	Digest  string
	State   status.State
	Message string
	// Waits reports that an engine carries the deployment out without another apply, when the
	// agent of the cluster is back.
	Waits bool
	// Objects maps the key of each rendered object to a short hash. NamesVary reports that another
	// apply could make objects of other names, so that the state shows only the number of objects.
	Objects   map[string]string
	NamesVary bool
	// HidesNames reports that the names of the objects can contain secret values. Then Objects has
	// numbers in place of their keys.
	HidesNames bool
	// Counts are the objects on the cluster.
	Counts status.Counts
	// Rules and Accepted are what the objects are compared by; see release.Inspection.
	Rules    release.Rules
	Accepted map[string]string
	// HandedOver maps objects that the release no longer has to the bundle that is to take them over.
	// They were left on the cluster, and that bundle has not taken them over yet.
	HandedOver map[string]string
	// BundleLabels are the labels that the bundle had when the deployment was written, nil if they
	// are not known, as after an import.
	BundleLabels map[string]string
	// Known is what a removal of the release needs.
	Known release.Known
	// Leftovers are further releases of the deployment that may be on the cluster. When a move failed,
	// Leftovers has the release that the deployment moved from or was to move to. The next write
	// removes them.
	Leftovers []release.Known
}

// Releases returns the releases of the deployment that may be on the cluster, none if state does not
// have the deployment.
func (r Record) Releases() []release.Known {
	if r.Release == "" {
		return r.Leftovers
	}
	return append([]release.Known{r.Current()}, r.Leftovers...)
}

// NamedObjects returns the objects, nil if their names are not known.
func (r Record) NamedObjects() map[string]string {
	if r.HidesNames {
		return nil
	}
	return r.Objects
}

// Current returns the release of the deployment as it is recorded in state.
func (r Record) Current() release.Known {
	known := r.Known
	known.Release, known.Namespace = r.Release, r.Namespace
	return known
}

// Equal reports whether two records are the same.
func (r Record) Equal(other Record) bool {
	return r.Release == other.Release && r.Namespace == other.Namespace && r.Chart == other.Chart && r.Version == other.Version &&
		r.Digest == other.Digest && r.State == other.State && r.Message == other.Message && r.Waits == other.Waits &&
		maps.Equal(r.Objects, other.Objects) && r.NamesVary == other.NamesVary && r.HidesNames == other.HidesNames &&
		r.Counts == other.Counts && r.Rules.Equal(other.Rules) &&
		maps.Equal(r.Accepted, other.Accepted) && maps.Equal(r.HandedOver, other.HandedOver) &&
		maps.Equal(r.BundleLabels, other.BundleLabels) && (r.BundleLabels == nil) == (other.BundleLabels == nil) &&
		r.Known == other.Known && slices.Equal(r.Leftovers, other.Leftovers)
}

// IsAt reports whether a deployment is to have the release that the record has.
func (r Record) IsAt(d target.Deployment) bool {
	return r.Release == d.Release && r.Namespace == d.Namespace
}

// Corrects reports whether a deployment has to be written again because some of its objects are
// not as they were deployed. If the rules of the comparison change, the next refresh decides.
func (r Record) Corrects(d target.Deployment) bool {
	rules := release.RulesOf(d.Options)
	return r.Counts.Drifted() && !rules.ReportOnly && rules.ComparesAs(r.Rules)
}

// FactsOf returns what state has recorded of a wanted deployment. Plan and apply both use the
// facts to decide what is written.
func FactsOf(d target.Deployment, prior map[Key]Record) release.Facts {
	record, known := prior[KeyOf(d)]
	return release.Facts{
		Known:       known,
		SameDigest:  record.Digest == d.Digest,
		SameRelease: record.IsAt(d),
		// A modification shows in the digest or in the objects.
		Completed:   record.State.Settled() || record.State == status.Modified || record.Waits,
		OtherRecord: record.Digest == "",
		Drifted:     record.Corrects(d),
		Unpinned:    d.Unpinned,
		FromEngine:  record.Known.Engine,
		Leftovers:   len(record.Leftovers) > 0,
	}
}

// Drift is how closely deployments are compared with their clusters.
type Drift string

const (
	// DriftLive compares live objects with what was deployed.
	DriftLive Drift = "live"
	// DriftRelease compares release records. It reads objects only of deployments that were not
	// ready, to find out whether they have become ready.
	DriftRelease Drift = "release"
	// DriftNone checks whether the release exists, and nothing else.
	DriftNone Drift = "none"
)
