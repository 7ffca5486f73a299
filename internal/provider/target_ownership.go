package provider

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"golang.org/x/sync/errgroup"
	"golang.org/x/sync/semaphore"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/deploy"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/helm"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/release"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/target"
)

// previewPatience is how long a plan waits for clusters to tell what is in the way. A
// plan is right without the answer; it only warns less.
const previewPatience = 3 * time.Second

// glance is what a cluster answered to the plans of this process, asked once.
type glance struct {
	once     sync.Once
	snapshot release.Snapshot
	err      error
}

// glance lists the releases of a cluster for diagnostics.
func (f *fleet) glance(ctx context.Context, cluster string) (*clusterClient, release.Snapshot, error) {
	client, err := f.connect(cluster)
	if err != nil {
		return nil, release.Snapshot{}, err
	}
	kept, _ := f.glances.LoadOrStore(cluster, &glance{})
	seen, ok := kept.(*glance)
	if !ok {
		return nil, release.Snapshot{}, fmt.Errorf("unexpected glance %T", kept)
	}
	seen.once.Do(func() { seen.snapshot, seen.err = deploy.LookAhead(ctx, client) })
	return client, seen.snapshot, seen.err
}

// glanceAhead begins to glance at the clusters that get a new release, while charts are
// rendered. Who glances at one then waits for the answer, and wait for all of them.
func (f *fleet) glanceAhead(ctx context.Context, write []target.Deployment, prior map[deploy.Key]deploy.Record) (wait func()) {
	clusters := map[string]bool{}
	for _, d := range write {
		if isNew(d, prior[keyOf(d)]) && f.isPreviewed(d) {
			clusters[d.Cluster] = true
		}
	}
	ctx, cancel := context.WithTimeout(ctx, previewPatience)
	var glancing sync.WaitGroup
	places := semaphore.NewWeighted(int64(max(1, f.parallelism)))
	for cluster := range clusters {
		glancing.Go(func() {
			if places.Acquire(ctx, 1) != nil {
				return
			}
			defer places.Release(1)
			_, _, _ = f.glance(ctx, cluster) // Whoever needs it hears of the error.
		})
	}
	return func() {
		glancing.Wait()
		cancel()
	}
}

// isPreviewed says whether a plan looks at the cluster of a deployment that changes.
func (f *fleet) isPreviewed(d target.Deployment) bool {
	return !d.Paused && !f.ownerUnknown && !f.expectsNoAnswer(d.Cluster)
}

// silent notes that clusters did not answer a refresh of this process, so that planning
// does not wait for them once more.
func (f *fleet) silent(failures []deploy.Failure) {
	for _, failure := range failures {
		if failure.Bundle != "" {
			continue
		}
		known := &glance{err: failure.Err}
		known.once.Do(func() {})
		f.glances.LoadOrStore(failure.Cluster, known)
	}
}

// belongings are what deployments meet on their clusters that belongs to others.
type belongings struct {
	// undecided says that take_ownership is not known yet.
	undecided bool

	mu sync.Mutex
	// Lines of warnings: what is taken over with consent, what is adopted by its key, what
	// is refused, what keeps a create from being begun, and what another target has to
	// remove first. agents are the clusters on which an agent of Fleet runs.
	taken, adopted, refused, existing, moved, agents []string
}

func (b *belongings) add(to *[]string, format string, args ...any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	*to = append(*to, "  - "+fmt.Sprintf(format, args...))
}

// warnOwnership says what an apply takes over from others, and what it will be
// refused. Only clusters that get something new are asked, with one list of their
// releases for all targets of the plan, and one of each kind that is to be made.
func (r *targetResource) warnOwnership(ctx context.Context, plan *targetModel, prior map[deploy.Key]deploy.Record, write []target.Deployment, renderings map[deploy.Key]release.Rendering, diags *diag.Diagnostics) {
	byCluster := map[string][]target.Deployment{}
	for _, d := range write {
		if key := keyOf(d); len(fresh(d, prior[key], renderings[key])) > 0 && r.fleet.isPreviewed(d) {
			byCluster[d.Cluster] = append(byCluster[d.Cluster], d)
		}
	}
	if len(byCluster) == 0 || diags.HasError() {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, previewPatience)
	defer cancel()
	found := &belongings{undecided: plan.TakeOwnership.IsUnknown()}
	var looking errgroup.Group
	looking.SetLimit(max(1, r.fleet.parallelism))
	for cluster, deployments := range byCluster {
		looking.Go(func() error {
			r.preview(ctx, cluster, plan, prior, deployments, renderings, found)
			return nil
		})
	}
	_ = looking.Wait() // Nobody fails: a cluster that does not answer is not warned about here.
	found.warn(plan.Name.ValueString(), diags)
}

// isNew says whether a deployment gets a release that it did not have.
func isNew(d target.Deployment, prior deploy.Record) bool {
	return prior.Release != d.Release || prior.Namespace != d.Namespace || prior.Digest == ""
}

// fresh are the objects that a deployment is to get and did not have.
func fresh(d target.Deployment, prior deploy.Record, rendering release.Rendering) []release.Object {
	if isNew(d, prior) {
		return rendering.Objects
	}
	return slices.DeleteFunc(slices.Clone(rendering.Objects), func(o release.Object) bool {
		_, had := prior.Objects[o.Key()]
		return had
	})
}

// preview looks at one cluster.
func (r *targetResource) preview(ctx context.Context, cluster string, plan *targetModel, prior map[deploy.Key]deploy.Record, deployments []target.Deployment, renderings map[deploy.Key]release.Rendering, found *belongings) {
	client, snapshot, err := r.fleet.glance(ctx, cluster)
	if err != nil {
		return // The refresh or the apply says so.
	}
	take := plan.TakeOwnership.ValueBool()
	holder := plan.holder(r.fleet)
	var wanted []helm.Wanted
	keys := map[string]target.Deployment{}
	fleets := false
	for _, d := range deployments {
		key := deploy.Key{Cluster: cluster, Bundle: d.Bundle.Name}
		own := holder.Mark(d.Bundle.Name, d.Digest, prior[key].Known)
		observed := snapshot.Find(d.Namespace, d.Release)
		if observed != nil && observed.Status != release.StatusUninstalled {
			isFleets := previewRelease(ctx, client, key, own, *observed, take, found)
			fleets = fleets || isFleets
			if own.Ownership(*observed) != release.Self {
				continue // Its objects come with it.
			}
		}
		former := ""
		if record := prior[key]; record.Release != "" {
			former = release.Key(record.Namespace, record.Release)
		}
		wanted = append(wanted, helm.Wanted{
			Release: d.Release, Namespace: d.Namespace, Former: former, Objects: fresh(d, prior[key], renderings[key]),
		})
		keys[release.Key(d.Namespace, d.Release)] = d
	}
	if holder.Instance == "" && !take {
		r.existing(cluster, holder, snapshot, found)
	}
	occupied, err := client.helm.Occupied(ctx, wanted)
	if err != nil {
		return
	}
	for _, object := range occupied {
		d := keys[release.Key(object.Wanted.Namespace, object.Wanted.Release)]
		lines := &found.refused
		if take || (d.Options.Helm != nil && d.Options.Helm.TakeOwnership) {
			lines = &found.taken
		}
		found.add(lines, "%s: %s, of %s", d.Key(), object.Object.Key(), object.Holder)
	}
	if !fleets {
		return
	}
	if agent, err := client.helm.FleetAgent(ctx); err == nil && agent != "" {
		found.add(&found.agents, "%s: %s", cluster, agent)
	}
}

// existing notes releases with the owner and the name of a target that is to be created.
// Those of a target that this process has seen in its state are of the one that is replaced.
func (r *targetResource) existing(cluster string, holder deploy.Holder, snapshot release.Snapshot, found *belongings) {
	own := holder.Mark("", "", release.Known{})
	for _, observed := range snapshot.Releases {
		_, known := r.fleet.instances.Load(observed.Mark.Instance)
		if !known && observed.Status != release.StatusUninstalled && own.Ownership(observed) == release.SameName {
			found.add(&found.existing, "%s: release %s in namespace %s", cluster, observed.Release, observed.Namespace)
		}
	}
}

// previewRelease notes what becomes of a release that is there, and says whether it is
// Fleet's.
func previewRelease(ctx context.Context, client *clusterClient, key deploy.Key, own release.Mark, observed release.Observed, take bool, found *belongings) (fleets bool) {
	ownership := own.Ownership(observed)
	action, err := release.Decide(own, &observed, take)
	holder := observed.Mark.Holder()
	switch ownership {
	case release.Self:
		return false
	case release.SameKey:
		found.add(&found.adopted, "%s: release %s in namespace %s, of %s", key, observed.Release, observed.Namespace, holder)
		return false
	case release.OtherTarget:
		if !take {
			found.add(&found.moved, "%s: release %s in namespace %s, of %s", key, observed.Release, observed.Namespace, holder)
			return false
		}
	case release.SameName:
		if !take && own.Instance == "" {
			return false // See existing.
		}
		holder = "another " + holder + ", which this state does not know"
	case release.Unmarked, release.OtherTool:
		maker, failed := client.Maker(ctx, observed)
		if failed != nil {
			maker.Name = "somebody unknown"
		}
		holder, fleets = maker.Name, maker.Fleet
	case release.OtherOwner:
	}
	lines, doing := &found.taken, ", "+fate(action)
	if err != nil {
		lines, doing = &found.refused, ""
	}
	found.add(lines, "%s: release %s in namespace %s, revision %d, of %s%s", key, observed.Release, observed.Namespace, observed.Revision, holder, doing)
	return fleets
}

// fate says what an action makes of a release.
func fate(action release.Action) string {
	switch action {
	case release.Upgrade:
		return "gets a new revision"
	case release.Recover:
		return "gets a new revision, after an operation that was cut short"
	case release.Keep, release.Adopt:
		return "stays as it is"
	case release.Install, release.Uninstall:
	}
	return action.Doing()
}

// warn makes one diagnostic of each kind.
func (b *belongings) warn(name string, diags *diag.Diagnostics) {
	refused, next := "will be refused", "Set take_ownership = true to take them over, or choose other names."
	if b.undecided {
		refused, next = "may be refused", "Unless take_ownership, which is not known yet, turns out to be true: then they are taken over."
	}
	for _, about := range []struct {
		lines        []string
		summary, end string
	}{
		{
			b.taken, "Target " + name + ": takes over what belongs to others",
			"Ownership is asked for. The history of a release is kept, and no object is changed that is as wanted.",
		},
		{
			b.adopted, "Target " + name + ": takes up releases with its adoption key",
			"They belong to this target, before it was replaced or its state was lost, or to another target with the same adoption_key. Their history is kept.",
		},
		{
			b.existing, "Target " + name + ": releases of its owner and name are there already",
			"This state does not know them, so the create will stop before its first write. " + importAdvice(name) +
				"\n\nIf this plan replaces the target with create_before_destroy, set adoption_key first.",
		},
		{
			b.moved, "Target " + name + ": releases are uninstalled by other targets and installed again",
			"They belong to other targets of this owner. If those still want them, these deployments will fail. " +
				"To move a release without a reinstall, give both targets the same adoption_key, and name this target in depends_on of the other one.",
		},
		{
			b.refused, "Target " + name + ": " + refused + " what belongs to others",
			"These deployments will fail, and what is there stays as it is. " + next,
		},
		{
			b.agents, "Target " + name + ": Fleet's agent still runs where releases are taken from it",
			"It puts back what its bundles say. Take the clusters out of those bundles first, with keepResources = true, so that it leaves the objects where they are.",
		},
	} {
		if len(about.lines) == 0 {
			continue
		}
		slices.Sort(about.lines)
		diags.AddWarning(about.summary, strings.Join(about.lines, "\n")+"\n\n"+about.end)
	}
}

// importAdvice says how a target takes up releases that no state knows.
func importAdvice(name string) string {
	return fmt.Sprintf("To take them up, import the target, and plan again:\n\n"+
		"  import {\n    to = fleet_cluster_target.%s # the address of this resource\n    id = %q\n  }\n\n"+
		"The id can name the clusters to look at, such as %q. Or set take_ownership = true on the target. "+
		"If another state has the target, give the provider another owner here, or the target another name.", strings.ReplaceAll(name, ".", "_"), name, name+"/cluster-1,cluster-2")
}

// existingShown is how many releases of one cause are listed.
const existingShown = 20

// addExisting reports releases that keep a target from being created.
func addExisting(name string, existing []deploy.Existing, diags *diag.Diagnostics) {
	var lines []string
	for _, found := range existing[:min(len(existing), existingShown)] {
		lines = append(lines, fmt.Sprintf("  - %s: release %s in namespace %s, revision %d", found.Cluster, found.Observed.Release, found.Observed.Namespace, found.Observed.Revision))
	}
	if more := len(existing) - len(lines); more > 0 {
		lines = append(lines, fmt.Sprintf("  - and %d more", more))
	}
	diags.AddError(fmt.Sprintf("Target %s: cannot create it, %d releases of its owner and name are there already", name, len(existing)),
		strings.Join(lines, "\n")+"\n\nThis state does not know them. Nothing was written to any cluster. "+importAdvice(name))
}
