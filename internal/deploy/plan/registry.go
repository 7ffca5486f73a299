package plan

import (
	"cmp"
	"maps"
	"slices"
	"sync"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/deploy"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/release"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/target"
)

// Registry has the releases that the targets of one configured provider claim, as far as they were
// planned in this process. Conflicts that it finds are errors. It permits one exception: a create
// takes, once, what the delete of the target of the same name left in this process. The zero value
// is empty.
type Registry struct {
	mu      sync.Mutex
	targets map[string]*claim
	// left is what deleted targets left to the target that is created with the same name.
	left map[string]Predecessor
	// instances are the ids of targets that were in a state, with the releases in it by release.Key.
	instances map[string]map[string][]release.Known
	// stored are the records that a state has of a target, by the name of the target.
	stored map[string]map[deploy.Key]deploy.Record
	// keys are the keys of targets that were read or applied.
	keys map[string]bool
	// uids are the identities of clusters, by the names of their entries.
	uids map[string]string
}

// Claim is what one target wants.
type Claim struct {
	// Target is the name of the target, and Instance its id, "" while the target is created.
	Target, Instance string
	// Config is the configuration of the target. It distinguishes two targets of one name.
	Config Config
	Wanted []target.Deployment
}

// Config is the configuration of a target.
type Config interface{ Equal(other Config) bool }

// claim is the part of a Claim that is kept.
type claim struct {
	instance string
	config   Config
	// releases maps the releases that the target wants to the keys of their deployments. It is nil
	// while they are not known.
	releases map[claimedRelease]string
	// deploys are the deployments that exist after the apply, and gainKinds the clusters that can
	// serve more kinds then. Both are nil while that is not known.
	deploys   map[deploy.Key]bool
	gainKinds map[string]bool
	planned   bool
}

// claimedRelease is a release on a cluster, by the name of its entry.
type claimedRelease struct{ cluster, release string }

// Conflict is a release that two targets want. Theirs and Ours are the keys of the
// deployments.
type Conflict struct{ Release, Target, Theirs, Ours string }

// Predecessor is what a replaced target left.
type Predecessor struct {
	Instance string
	// Records are the deployments that were not removed with it.
	Records map[deploy.Key]deploy.Record
	Missing map[deploy.Key]release.Known
	UIDs    map[string]string
}

// Claim notes what a target wants. It replaces the former claim, because Terraform plans a
// replacement twice. It returns the releases that other targets want as well, and whether another
// target has the same name.
func (r *Registry) Claim(wants Claim) (conflicts []Conflict, sameName bool) {
	releases := make(map[claimedRelease]string, len(wants.Wanted))
	for _, d := range wants.Wanted {
		releases[claimedRelease{cluster: d.Cluster, release: release.Key(d.Namespace, d.Release)}] = d.Key()
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	known := r.target(wants.Target)
	if known.releases != nil {
		sameName = isOther(known.instance, wants.Instance) || !known.config.Equal(wants.Config)
	}
	for _, name := range slices.Sorted(maps.Keys(r.targets)) {
		if name != wants.Target {
			conflicts = append(conflicts, r.conflicts(name, releases)...)
		}
	}
	known.instance = wants.Instance
	known.config = wants.Config
	known.releases = releases
	slices.SortFunc(conflicts, func(a, b Conflict) int { return cmp.Or(cmp.Compare(a.Ours, b.Ours), cmp.Compare(a.Theirs, b.Theirs)) })
	return conflicts, sameName
}

// isOther reports whether claims with these ids are of two resources. Terraform plans a create once
// in a process, so two creates of one name are two resources, as with count. The two plans of a
// replacement have one configuration, and only the first has an id.
func isOther(known, wants string) bool {
	if known == "" || wants == "" {
		return known == wants
	}
	return known != wants
}

// target returns the claim of a target. It creates an empty one for a target that has none.
func (r *Registry) target(name string) *claim {
	if r.targets == nil {
		r.targets = map[string]*claim{}
	}
	if r.targets[name] == nil {
		r.targets[name] = &claim{}
	}
	return r.targets[name]
}

// conflicts returns the releases that another target wants as well. It finds equal releases by
// their names, and compares only the clusters of those.
func (r *Registry) conflicts(other string, ours map[claimedRelease]string) []Conflict {
	byName := map[string][]claimedRelease{}
	for theirs := range r.targets[other].releases {
		byName[theirs.release] = append(byName[theirs.release], theirs)
	}
	var conflicts []Conflict
	for at, own := range ours {
		for _, theirs := range byName[at.release] {
			if r.isSameCluster(theirs.cluster, at.cluster) {
				conflicts = append(conflicts, Conflict{Release: at.release, Target: other, Theirs: r.targets[other].releases[theirs], Ours: own})
			}
		}
	}
	return conflicts
}

// isSameCluster reports whether two entries are known to lead to one cluster.
func (r *Registry) isSameCluster(a, b string) bool {
	return a == b || r.uids[a] != "" && r.uids[a] == r.uids[b]
}

// Drop notes that a target no longer wants anything, or that it is not known what it wants. A
// removed target does not drop the claim of another target of its name that was planned already.
// There are two such targets when a target gets another address without a moved block.
func (r *Registry) Drop(name, instance string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	known := r.target(name)
	delete(r.stored, name)
	if known.releases != nil && instance != "" && known.instance != instance {
		return
	}
	known.releases = nil
	known.instance = ""
	known.config = nil
}

// Deploys notes which deployments of a target exist after the apply, and which clusters can serve more
// kinds then, nil if that is not known yet.
func (r *Registry) Deploys(name string, keys map[deploy.Key]bool, gainKinds map[string]bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	known := r.target(name)
	known.deploys = keys
	known.gainKinds = gainKinds
	known.planned = true
}

// MayGainKinds reports whether a target that was planned before the named one can add kinds to a
// cluster. Terraform plans targets in the order of their dependencies.
func (r *Registry) MayGainKinds(name, cluster string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	for other, known := range r.targets {
		if other != name && known.planned && (known.gainKinds == nil || known.gainKinds[cluster]) {
			return true
		}
	}
	return false
}

// MayDeploy reports whether a target other than the named one deploys a bundle to a cluster, or
// may do so.
func (r *Registry) MayDeploy(name string, key deploy.Key) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	for other, known := range r.targets {
		if other != name && known.planned && (known.deploys == nil || known.deploys[key]) {
			return true
		}
	}
	return false
}

// Replaced returns the records that a state of this process has of a target with this name, nil if
// there is none, or if it is destroyed without a replacement.
func (r *Registry) Replaced(name string) map[deploy.Key]deploy.Record {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.stored[name]
}

// RecordInstance notes the id and the name of a target that a state has, and what the state has of
// its releases.
func (r *Registry) RecordInstance(instance, name string, records map[deploy.Key]deploy.Record) {
	known := map[string][]release.Known{}
	for _, record := range records {
		for _, of := range record.Releases() {
			key := release.Key(of.Namespace, of.Release)
			known[key] = append(known[key], of)
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.instances == nil {
		r.instances, r.stored = map[string]map[string][]release.Known{}, map[string]map[deploy.Key]deploy.Record{}
	}
	r.stored[name] = records
	r.instances[instance] = known
}

// KnowsInstance reports whether the id of a target was in a state of this process.
func (r *Registry) KnowsInstance(instance string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.instances[instance] != nil
}

// Former returns what a state of this process had of a release (see release.Key) of the target with
// an id.
func (r *Registry) Former(instance, key string) []release.Known {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.instances[instance][key]
}

// RecordKey notes the key of a target of this process.
func (r *Registry) RecordKey(key string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.keys == nil {
		r.keys = map[string]bool{}
	}
	r.keys[key] = true
}

// Keys returns the keys of the targets of this process.
func (r *Registry) Keys() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Collect(maps.Keys(r.keys))
}

// Identify notes the identities of clusters. A UID of "" is unknown.
func (r *Registry) Identify(uids map[string]string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.uids == nil {
		r.uids = map[string]string{}
	}
	for cluster, uid := range uids {
		if uid != "" {
			r.uids[cluster] = uid
		}
	}
}

// LeavePredecessor notes what a deleted target leaves to the target that is created with the same
// name.
func (r *Registry) LeavePredecessor(name string, left Predecessor) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.left == nil {
		r.left = map[string]Predecessor{}
	}
	r.left[name] = left
}

// TakePredecessor returns what was left to the target of a name, once.
func (r *Registry) TakePredecessor(name string) Predecessor {
	r.mu.Lock()
	defer r.mu.Unlock()
	left := r.left[name]
	delete(r.left, name)
	return left
}
