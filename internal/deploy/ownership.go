package deploy

import (
	"context"
	"slices"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/release"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/status"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/target"
)

// Holder is whose deployments are looked at.
type Holder struct {
	Owner, Target, Instance string
	// Workspace is that of the state that knows the target.
	Workspace string
	// Formers are further ids whose releases are the target's own.
	Formers []string
}

// mark is what the holder writes on the record of a bundle's release.
func (h Holder) mark(bundle, digest string) release.Mark {
	mark := release.NewMark(h.Owner, h.Target, h.Instance, bundle, digest)
	mark.Workspace, mark.Formers = h.Workspace, h.Formers
	return mark
}

// HandOver says whether another target wants a release: what leaves this target must
// then not be removed, and what another has is then not handed over. It may wait until
// that can be told. uid is "" where the cluster does not say it.
type HandOver func(ctx context.Context, cluster, uid, namespace, name string) bool

// mark is what the request writes on the record of a bundle's release.
func (r Request) mark(bundle, digest string) release.Mark {
	return Holder{Owner: r.Owner, Target: r.Target, Instance: r.Instance, Workspace: r.Workspace, Formers: r.Formers}.mark(bundle, digest)
}

// isHandedOver says whether a release of this target is to become another's. It may
// wait, so nobody asks who holds a slot.
func (v *visit) isHandedOver(ctx context.Context, cluster string, prior Record) bool {
	handOver := v.request.HandOver
	return handOver != nil && handOver(ctx, cluster, v.seen.snapshot.UID, prior.Namespace, prior.Release)
}

// isContested says whether the release of a deployment is another target's that goes on
// wanting it. It may wait like isHandedOver.
func (v *visit) isContested(ctx context.Context, d target.Deployment, observed *release.Observed) bool {
	if observed == nil {
		return false
	}
	mark := v.request.mark(d.Bundle.Name, d.Digest)
	others := mark.Standing(observed.Mark) == release.Sibling && observed.Mark.Target != mark.Target
	return others && v.isHandedOver(ctx, d.Cluster, Record{Release: d.Release, Namespace: d.Namespace})
}

// decide says what is to be done. Another target of this workspace hands over what it
// does not want any more, and nothing else.
func (v *visit) decide(mark release.Mark, observed *release.Observed, contested bool) (release.Action, error) {
	action, err := release.Decide(mark, observed, v.request.Settings.TakeOwnership)
	if err == nil && contested && !v.request.Settings.TakeOwnership {
		return release.Keep, &release.ForeignError{Release: observed.Release, Namespace: observed.Namespace, Holder: observed.Mark.Holder()}
	}
	return action, err
}

// sweep removes what a move left behind that failed and was taken back: releases
// that this instance made for a bundle that was written just now, and that neither
// the state nor the request knows. The instance id is random, so nobody else can have
// made them.
func (v *visit) sweep(ctx context.Context) {
	strays := v.strays()
	if len(strays) == 0 {
		return
	}
	for _, d := range v.request.Write {
		if d.Cluster == v.name {
			v.sweepAfter(ctx, d, strays[v.request.mark(d.Bundle.Name, "").Bundle])
		}
	}
}

// sweepAfter removes strays of the bundle of a deployment without what that holds.
func (v *visit) sweepAfter(ctx context.Context, d target.Deployment, strays []release.Observed) {
	key := keyOf(d)
	record, written := v.results.record(key)
	if !written || !record.State.Settled() {
		return
	}
	spare := map[string]bool{}
	for object := range record.Objects {
		spare[object] = true
	}
	for _, stray := range strays {
		if v.claimed()[release.Key(stray.Namespace, stray.Release)] {
			continue
		}
		slot, err := v.engine.slot(ctx)
		if err == nil {
			err = v.removeStray(ctx, key, stray, spare)
			slot.Pause()
		}
		if err != nil {
			v.results.failed(key, "removing what a move left behind", err, &record)
		}
	}
}

func (v *visit) removeStray(ctx context.Context, key Key, stray release.Observed, spare map[string]bool) error {
	removed, err := v.seen.cluster.Uninstall(ctx, stray, release.Removal{Spare: spare, Timeout: v.request.Settings.Timeout})
	v.results.left(key, removed)
	return err
}

// strays are the releases of this instance that nobody knows, by the mark of their
// bundle, in the order of their names.
func (v *visit) strays() map[string][]release.Observed {
	known := map[string]bool{}
	for key, record := range v.request.Prior {
		if key.Cluster == v.name || (v.seen.snapshot.UID != "" && v.request.UIDs[key.Cluster] == v.seen.snapshot.UID) {
			known[release.Key(record.Namespace, record.Release)] = true
		}
	}
	own := v.request.mark("", "")
	strays := map[string][]release.Observed{}
	for _, name := range sortedKeys(v.seen.snapshot.Releases) {
		observed := v.seen.snapshot.Releases[name]
		isOwn := own.Standing(observed.Mark) == release.Own && isThere(&observed)
		if isOwn && !known[name] && !v.written[name] {
			strays[observed.Mark.Bundle] = append(strays[observed.Mark.Bundle], observed)
		}
	}
	return strays
}

// unknownToState are the releases of this instance on clusters that were looked at
// which the state does not know: an apply was killed before it could save them, or
// an older state was put back. They come into the state as they are, so that the
// plan shows what becomes of them. Nothing is concluded while any cluster of the
// state cannot be told from the others: two names can stand for one cluster.
func (h Holder) unknownToState(prior map[Key]Record, looked map[string]release.Snapshot) map[Key]Record {
	known := map[string]bool{}
	for key, record := range prior {
		uid := looked[key.Cluster].UID
		if uid == "" {
			return nil
		}
		known[uid+"/"+release.Key(record.Namespace, record.Release)] = true
	}
	found := map[Key]Record{}
	own := h.mark("", "")
	for _, cluster := range sortedKeys(looked) {
		snapshot := looked[cluster]
		for _, name := range sortedKeys(snapshot.Releases) {
			observed := snapshot.Releases[name]
			at := snapshot.UID + "/" + name
			key := Key{Cluster: cluster, Bundle: observed.Mark.Bundle}
			_, taken := prior[key]
			if known[at] || taken || own.Standing(observed.Mark) != release.Own || !isThere(&observed) {
				continue
			}
			known[at] = true
			found[key] = Record{
				Release: observed.Release, Namespace: observed.Namespace, Digest: observed.Mark.Digest,
				State: status.WaitApplied, Message: "found on the cluster; an earlier apply could not save it",
			}
		}
	}
	return found
}

func sortedKeys[V any](of map[string]V) []string {
	keys := make([]string, 0, len(of))
	for key := range of {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}
