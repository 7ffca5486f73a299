package provider

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/tfsdk"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/release"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/target"
)

// claims are the releases that the targets of one configured provider want, as far as
// they have been planned in this process. They find two targets that want one release,
// which is an error, and permit nothing.
type claims struct {
	mu       sync.Mutex
	byTarget map[string]claim
}

// claim is what one target wants.
type claim struct {
	// instance is the id of the target, "" while it is created.
	instance string
	config   tfsdk.Config
	// releases maps what it wants to the key of the deployment.
	releases map[claimed]string
}

// claimed is a release on a cluster, by the name of its entry.
type claimed struct{ cluster, release string }

// conflict is a release that two targets want.
type conflict struct{ release, target, theirs, ours string }

// add notes what a target wants, in place of what it wanted before: Terraform plans a
// target more than once. It answers what others want of it, and whether another
// target has the same name. same says whether two names stand for one cluster.
func (c *claims) add(name string, wants claim, same func(a, b string) bool) (conflicts []conflict, namesake bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if before, ok := c.byTarget[name]; ok {
		// The two legs of a replacement have one configuration; only the first has an id.
		other := before.instance != "" && wants.instance != "" && before.instance != wants.instance
		namesake = other || !before.config.Raw.Equal(wants.config.Raw)
	}
	for _, target := range slices.Sorted(maps.Keys(c.byTarget)) {
		if target == name {
			continue
		}
		for theirs, key := range c.byTarget[target].releases {
			for ours, own := range wants.releases {
				if theirs.release == ours.release && same(theirs.cluster, ours.cluster) {
					conflicts = append(conflicts, conflict{release: ours.release, target: target, theirs: key, ours: own})
				}
			}
		}
	}
	if c.byTarget == nil {
		c.byTarget = map[string]claim{}
	}
	c.byTarget[name] = wants
	slices.SortFunc(conflicts, func(a, b conflict) int { return cmp.Or(cmp.Compare(a.ours, b.ours), cmp.Compare(a.theirs, b.theirs)) })
	return conflicts, namesake
}

// drop notes that a target wants nothing any more, or that it is not known what. One
// that leaves does not speak for another of its name that was planned already, as when
// a target gets another address without a moved block.
func (c *claims) drop(name, instance string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if before, planned := c.byTarget[name]; planned && instance != "" && before.instance != instance {
		return
	}
	delete(c.byTarget, name)
}

// sameCluster says whether two entries of clusters are known to lead to one cluster.
func (f *fleet) sameCluster(a, b string) bool {
	if a == b {
		return true
	}
	first, ok := f.uids.Load(a)
	second, known := f.uids.Load(b)
	return ok && known && first == second
}

// rememberUIDs notes what is known of the identities of clusters.
func (f *fleet) rememberUIDs(uids map[string]string) {
	for cluster, uid := range uids {
		if uid != "" {
			f.uids.Store(cluster, uid)
		}
	}
}

// claim notes what a target wants and reports what another target of the plan wants as
// well: two targets would take one release from each other with every apply.
func (f *fleet) claim(name, instance string, config tfsdk.Config, wanted []target.Deployment, diags *diag.Diagnostics) {
	wants := claim{instance: instance, config: config, releases: map[claimed]string{}}
	for _, d := range wanted {
		wants.releases[claimed{cluster: d.Cluster, release: release.Key(d.Namespace, d.Release)}] = d.Key()
	}
	conflicts, namesake := f.claims.add(name, wants, f.sameCluster)
	if namesake {
		diags.AddError("Two targets are called "+name,
			"A target is known by its name and the provider's owner: two of one name would take each other's releases. Give one of them another name."+
				"\n\nNothing was changed on any cluster.")
		return
	}
	others := map[string][]string{}
	for _, found := range conflicts {
		line := fmt.Sprintf("  - %s: release %s", found.ours, found.release)
		if found.ours != found.theirs {
			line += ", which is " + found.theirs + " there"
		}
		others[found.target] = append(others[found.target], line)
	}
	for _, other := range slices.Sorted(maps.Keys(others)) {
		diags.AddError(fmt.Sprintf("Targets %s and %s want the same releases", other, name),
			strings.Join(others[other], "\n")+"\n\nA release has one owner. Take the bundle or the cluster out of one of the targets, or give the releases different names."+
				"\n\nNothing was changed on any cluster.")
	}
}
