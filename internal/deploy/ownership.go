package deploy

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/cenkalti/backoff/v5"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/release"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/target"
)

// Holder is whose deployments are looked at.
type Holder struct {
	Owner, Target, Instance string
	// AdoptionKey is a hash of the target's adoption key, "" if it has none.
	AdoptionKey string
}

// mark is what the holder writes on the record of a bundle's release.
func (h Holder) mark(bundle, digest string) release.Mark {
	mark := release.NewMark(h.Owner, h.Target, h.Instance, bundle, digest)
	mark.AdoptionKey = h.AdoptionKey
	return mark
}

// Mark is that of the holder with the id that state knows a release by.
func (h Holder) Mark(bundle, digest string, known release.Known) release.Mark {
	mark := h.mark(bundle, digest)
	if known.Instance != mark.Instance {
		mark.KnownAs = known.Instance
	}
	return mark
}

// OtherClusterError reports that a connection leads to another cluster than the one that
// was planned for.
type OtherClusterError struct {
	Cluster string
	// Want and Got are UIDs of the namespace kube-system. Got is "" if the cluster does
	// not show it.
	Want, Got string
}

func (e *OtherClusterError) Error() string {
	if e.Got == "" {
		return fmt.Sprintf("the cluster does not show the UID of its namespace kube-system, which has to be %s", e.Want)
	}
	return fmt.Sprintf("the connection leads to another cluster: the UID of its namespace kube-system is %s, and has to be %s", e.Got, e.Want)
}

// checkIdentity refuses a cluster that is not the one that was planned for.
func (r Request) checkIdentity(cluster, uid string) error {
	want := r.UIDs[cluster]
	if want == "" || want == uid {
		return nil
	}
	return &OtherClusterError{Cluster: cluster, Want: want, Got: uid}
}

// existing are releases with the owner and the name of the target on the clusters that
// were looked at. What has its adoption key is its own.
func (r Request) existing(visits map[string]*visit) []Existing {
	own := r.mark("", "")
	var found []Existing
	for cluster, v := range visits {
		for _, observed := range v.seen.snapshot.Releases {
			if isThere(&observed) && own.Ownership(observed) == release.SameName {
				found = append(found, Existing{Cluster: cluster, Observed: observed})
			}
		}
	}
	slices.SortFunc(found, func(a, b Existing) int {
		return cmp.Or(cmp.Compare(a.Cluster, b.Cluster), cmp.Compare(a.Observed.Namespace, b.Observed.Namespace), cmp.Compare(a.Observed.Release, b.Observed.Release))
	})
	return found
}

// decide says what is to be done to a release that is wanted. Its error names who made
// the newest revision.
func (v *visit) decide(ctx context.Context, mark release.Mark, observed *release.Observed) (release.Action, error) {
	action, err := release.Decide(mark, observed, v.request.Settings.TakeOwnership)
	return action, v.withMaker(ctx, observed, err)
}

// withMaker adds to a *release.ForeignError who made the newest revision, if no target did.
func (v *visit) withMaker(ctx context.Context, observed *release.Observed, err error) error {
	foreign, ok := errors.AsType[*release.ForeignError](err)
	if !ok || foreign.Ownership != release.OtherTool && foreign.Ownership != release.Unmarked {
		return err
	}
	named := *foreign
	named.Maker = makerOf(ctx, v.seen.cluster, *observed)
	return &named
}

// makerOf is who made the newest revision; without a name if it cannot be read.
func makerOf(ctx context.Context, cluster RecordReader, observed release.Observed) release.Maker {
	maker, err := cluster.Maker(ctx, observed)
	if err != nil {
		return release.Maker{}
	}
	return maker
}

// takeoverPatience is how long a release is waited for that another target of the same
// owner has to remove first: both can be part of one apply.
const takeoverPatience = 2 * time.Minute

// awaitRemoval waits until another target of this owner has removed a release that d is
// to have, and returns what is there then. The other one can have this target's name, when
// two targets exchange theirs. Terraform hands nothing from the plan of one
// target to another, so it cannot be known that the other one is going to.
func (v *visit) awaitRemoval(ctx context.Context, d target.Deployment, observed *release.Observed) (*release.Observed, error) {
	const shortest, longest = 250 * time.Millisecond, 2 * time.Second
	mark := v.markOf(d.Bundle.Name, d.Digest, v.known(d.Namespace, d.Release))
	isOthers := func(observed *release.Observed) bool {
		if !isThere(observed) {
			return false
		}
		ownership := mark.Ownership(*observed)
		return ownership == release.OtherTarget || ownership == release.SameName
	}
	if v.request.Settings.TakeOwnership || !isOthers(observed) {
		return observed, nil
	}
	pauses := backoff.NewExponentialBackOff()
	pauses.InitialInterval, pauses.MaxInterval = shortest, longest
	limit := min(takeoverPatience, v.request.Settings.timeout(d))
	var now *release.Observed
	_, err := backoff.Retry(ctx, func() (struct{}, error) {
		var err error
		if now, err = v.seen.cluster.Release(ctx, d.Namespace, d.Release); err != nil {
			return struct{}{}, backoff.Permanent(err)
		}
		if isOthers(now) {
			return struct{}{}, errStillThere
		}
		return struct{}{}, nil
	}, backoff.WithBackOff(pauses), backoff.WithMaxElapsedTime(limit))
	if isOthers(now) {
		return now, nil // It is refused with the name of the target that has it.
	}
	return now, err
}

// errStillThere keeps awaitRemoval waiting.
var errStillThere = errors.New("another target still has the release")

// Orphan is a release with the id of a target that its state does not know, as after an
// apply that was killed.
type Orphan struct {
	Cluster   string
	Release   string
	Namespace string
	// Objects are the keys of the objects that its record names, some of them if there
	// are many.
	Objects []string
}

// Whoever may write Secrets can make any number of records with the id of a target, of any
// size. So few are listed for each cluster, their objects are read one after the other, and
// only for a short time.
const (
	orphansListed = 50
	objectsListed = 20
	orphansTime   = 10 * time.Second
)

// orphans are the releases of this instance on clusters that were looked at that the
// state does not know. Nothing is concluded while any cluster of the state cannot be told
// from the others: two names can stand for one cluster.
func (h Holder) orphans(prior map[Key]Record, looked map[string]release.Snapshot) (found map[string][]release.Observed, conclusive bool) {
	known := map[string]bool{}
	for key, record := range prior {
		uid := looked[key.Cluster].UID
		if uid == "" {
			return nil, false
		}
		for _, of := range record.all() {
			known[uid+"/"+release.Key(of.Namespace, of.Release)] = true
		}
	}
	found = map[string][]release.Observed{}
	own := h.mark("", "")
	for _, cluster := range sortedKeys(looked) {
		snapshot := looked[cluster]
		for _, name := range sortedKeys(snapshot.Releases) {
			observed, at := snapshot.Releases[name], snapshot.UID+"/"+name
			if known[at] || own.Ownership(observed) != release.Self || !isThere(&observed) || len(found[cluster]) == orphansListed {
				continue
			}
			known[at] = true
			found[cluster] = append(found[cluster], observed)
		}
	}
	return found, true
}

// readOrphans reads the objects of orphans. A record that cannot be read, or not in time,
// has none.
func (e *Engine) readOrphans(ctx context.Context, found map[string][]release.Observed) []Orphan {
	ctx, cancel := context.WithTimeout(ctx, orphansTime)
	defer cancel()
	var orphans []Orphan
	for _, name := range sortedKeys(found) {
		cluster, err := e.clusters(name)
		for _, observed := range found[name] {
			orphan := Orphan{Cluster: name, Release: observed.Release, Namespace: observed.Namespace}
			if err == nil && ctx.Err() == nil {
				orphan.Objects = objectsOf(ctx, cluster, observed)
			}
			orphans = append(orphans, orphan)
		}
	}
	return orphans
}

func objectsOf(ctx context.Context, cluster RecordReader, observed release.Observed) []string {
	read, err := cluster.Objects(ctx, []release.Observed{observed})
	if err != nil || len(read) == 0 {
		return nil
	}
	objects := read[0]
	if more := len(objects) - objectsListed; more > 0 {
		return append(objects[:objectsListed:objectsListed], fmt.Sprintf("%d more", more))
	}
	return objects
}

func sortedKeys[V any](of map[string]V) []string {
	keys := make([]string, 0, len(of))
	for key := range of {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}
