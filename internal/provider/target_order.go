package provider

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/hashicorp/terraform-plugin-framework/diag"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/bundle"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/deploy"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/release"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/target"
)

// needsKey is where a target keeps which bundle was deployed after which others, so
// that it can remove them in reverse when the configuration knows none of them any
// more.
const needsKey = "needs"

func readNeeds(ctx context.Context, private privateReader, diags *diag.Diagnostics) map[string][]string {
	raw, found := private.GetKey(ctx, needsKey)
	diags.Append(found...)
	needs := map[string][]string{}
	if len(raw) == 0 {
		return needs
	}
	if err := json.Unmarshal(raw, &needs); err != nil {
		diags.AddError("Cannot read the order of the bundles", sentence(err))
	}
	return needs
}

// rememberNeeds stores the order of all bundles that are wanted or still there.
func rememberNeeds(ctx context.Context, private privateWriter, before, wanted map[string][]string, records map[deploy.Key]deploy.Record, diags *diag.Diagnostics) {
	now := maps.Clone(wanted)
	for key := range records {
		if _, ok := wanted[key.Bundle]; !ok && len(before[key.Bundle]) > 0 {
			now[key.Bundle] = before[key.Bundle]
		}
	}
	if maps.EqualFunc(before, now, slices.Equal[[]string]) {
		return
	}
	raw, err := json.Marshal(now)
	if err != nil {
		diags.AddError("Cannot store the order of the bundles", sentence(err))
		return
	}
	diags.Append(private.SetKey(ctx, needsKey, raw)...)
}

// inWords are the stages of a change and what is removed after them.
func (c change) inWords() string {
	if len(c.remove) == 0 {
		return c.stages
	}
	clusters := map[string][]string{}
	for _, key := range c.remove {
		clusters[key.Bundle] = append(clusters[key.Bundle], key.Cluster)
	}
	removed := release.RemovedText(clusters)
	if c.stages == "" {
		return removed
	}
	return c.stages + "\n" + removed
}

// warnHeld says which deployments the plan leaves as they are, and why. It is one
// warning: of several with one summary Terraform shows the first alone.
func warnHeld(name string, held []deploy.Failure, diags *diag.Diagnostics) {
	if len(held) == 0 {
		return
	}
	var lines strings.Builder
	for _, cause := range groupByCause(held) {
		fmt.Fprintf(&lines, "  - %s: %s\n", listOf(keys(cause.failures)), cause.text)
	}
	diags.AddWarning("Target "+name+": deployments are held",
		lines.String()+"\nThey are not as wanted and stay as they are; those that are not there yet are not begun. A later apply takes them up.")
}

// unexpectedlyHeld are the deployments among those held that the plan showed as to be
// written: it was made without knowing what is there, as that of a replacement is. An
// error is the only way to say that something else is true than was planned.
func (m *targetModel) unexpectedlyHeld(held []deploy.Failure, prior map[deploy.Key]deploy.Record) []deploy.Failure {
	planned := m.records()
	return slices.DeleteFunc(slices.Clone(held), func(f deploy.Failure) bool {
		key := deploy.Key{Cluster: f.Cluster, Bundle: f.Bundle}
		shown, ok := planned[key]
		return !ok || shown.Digest == prior[key].Digest
	})
}

// leavesOut says whether the plan showed that a deployment is not there, as that of a
// replacement does of one that is held: it knows nothing of what is there. To say so
// now would break the plan; records have the release, and a refresh finds the deployment.
func (m *targetModel) leavesOut(key deploy.Key) bool {
	_, shown := m.Deployments.Elements()[key.String()]
	return !shown && !m.Deployments.IsUnknown()
}

// rota is what the targets of one run bring to clusters, as far as they were planned.
type rota struct {
	mu     sync.Mutex
	brings map[string]map[deploy.Key]bool
}

// plan notes what a target brings, nil if that is not known yet.
func (r *rota) plan(name string, keys map[deploy.Key]bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.brings == nil {
		r.brings = map[string]map[deploy.Key]bool{}
	}
	r.brings[name] = keys
}

// mayBring says whether another target than the named one brings a bundle to a
// cluster, or can.
func (r *rota) mayBring(name string, key deploy.Key) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	for other, keys := range r.brings {
		if other != name && (keys == nil || keys[key]) {
			return true
		}
	}
	return false
}

// brings are the deployments that are there after an apply.
func (c change) brings() map[deploy.Key]bool {
	keys := maps.Clone(c.keep)
	for _, d := range c.write {
		keys[keyOf(d)] = true
	}
	return keys
}

// checkOutside looks for dependencies that this target does not bring. Another target
// that was planned before can bring them; else the clusters in question are asked, and
// only one that answers can be found to lack something.
func (r *targetResource) checkOutside(ctx context.Context, name string, wanted []target.Deployment, compared change, diags *diag.Diagnostics) {
	missing := map[deploy.Key][]release.Outside{}
	asked := map[string]bool{}
	for key, outside := range compared.outside {
		for _, needed := range outside {
			if !r.fleet.rota.mayBring(name, deploy.Key{Cluster: key.Cluster, Bundle: needed.Bundle}) {
				missing[key] = append(missing[key], needed)
				asked[key.Cluster] = true
			}
		}
	}
	maps.DeleteFunc(asked, func(cluster string, _ bool) bool { return r.fleet.expectsNoAnswer(cluster) })
	if len(asked) == 0 || r.fleet.ownerUnknown { // Whose releases count is not known.
		return
	}
	snapshots := r.fleet.engine.Snapshots(ctx, slices.Collect(maps.Keys(asked)))
	var failures []deploy.Failure
	for _, d := range compared.write {
		snapshot, answered := snapshots[d.Cluster]
		for _, needed := range missing[keyOf(d)] {
			leaves := slices.Contains(compared.remove, deploy.Key{Cluster: d.Cluster, Bundle: needed.Bundle})
			if answered && (leaves || len(snapshot.Of(r.fleet.owner, needed.Bundle)) == 0) {
				err := &release.MissingDependencyError{Bundle: needed.Bundle, Meant: release.Nearest(needed.Bundle, bundlesOfAll(wanted))}
				failures = append(failures, deploy.Failure{Cluster: d.Cluster, Bundle: d.Bundle.Name, Err: err})
			}
		}
	}
	for _, cause := range groupByCause(failures) {
		planned := keys(cause.failures)
		diags.AddError("Target "+name+": cannot plan "+summaryOf(planned),
			"Deployments: "+listOf(planned)+"\n\n"+sentence(errors.New(cause.text))+"\n\nNothing was changed on any cluster. "+advice(cause.failures[0].Err))
	}
}

func bundlesOfAll(deployments []target.Deployment) []*bundle.Bundle {
	var bundles []*bundle.Bundle
	for _, d := range deployments {
		if !slices.Contains(bundles, d.Bundle) {
			bundles = append(bundles, d.Bundle)
		}
	}
	return bundles
}
