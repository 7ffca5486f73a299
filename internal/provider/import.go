package provider

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"golang.org/x/sync/errgroup"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/deploy"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/helm"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/release"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/status"
)

// ImportState takes up what carries the provider's owner and the name of the target on
// the provider's clusters. It changes nothing there: the target goes on as the instance
// that its releases know already.
func (r *targetResource) ImportState(ctx context.Context, req resource.ImportStateRequest, resp *resource.ImportStateResponse) {
	name, only, err := parseImportID(req.ID)
	if err != nil {
		resp.Diagnostics.AddError("Cannot import "+req.ID, sentence(err))
		return
	}
	clusters := r.fleet.checkImport(name, only, &resp.Diagnostics)
	if resp.Diagnostics.HasError() {
		return
	}
	imported := r.fleet.lookFor(ctx, name, clusters, &resp.Diagnostics)
	if resp.Diagnostics.HasError() {
		return
	}
	id := imported.instance()
	if id == "" {
		resp.Diagnostics.AddError("There is no target "+name+" to import",
			fmt.Sprintf("No release on any of the clusters %s carries the owner %q and the target name %q. Create the target instead.",
				strings.Join(clusters, ", "), r.fleet.owner, name))
		return
	}
	imported.warn(name, id, &resp.Diagnostics)
	var state targetModel
	// Only an object that is not null can be read, with null for everything else.
	resp.Diagnostics.Append(resp.State.SetAttribute(ctx, path.Root("name"), name)...)
	resp.Diagnostics.Append(resp.State.Get(ctx, &state)...)
	state.ID = types.StringValue(id)
	state.setDefaults()
	state.setRecords(imported.records)
	resp.Diagnostics.Append(resp.State.Set(ctx, &state)...)
}

// setDefaults is for a target of which nothing but its deployments is known.
func (m *targetModel) setDefaults() {
	m.Wait, m.DeploymentTimeout, m.MaxHistory = types.BoolValue(true), types.StringValue(defaultTimeout), types.Int64Value(defaultMaxHistory)
	m.TakeOwnership, m.AllowEmpty, m.DeletionProtection = types.BoolValue(false), types.BoolValue(false), types.BoolValue(false)
	m.PlanObjects, m.Drift = types.BoolValue(true), types.StringValue(string(deploy.DriftLive))
	m.Summary, m.Stages = types.StringValue(""), types.StringValue("")
}

// parseImportID reads the name of a target and the clusters to look at, all if there are
// none: "prod" or "prod/eu-1,eu-2".
func parseImportID(id string) (name string, clusters []string, err error) {
	name, list, some := strings.Cut(id, "/")
	if some {
		clusters = strings.Split(list, ",")
	}
	if name == "" || slices.Contains(clusters, "") {
		return "", nil, fmt.Errorf("an import id is the name of a target, or that and clusters, such as prod/eu-1,eu-2")
	}
	return name, clusters, nil
}

// checkImport returns the clusters to look at. It wants everything to be known that
// decides about what is found there.
func (f *fleet) checkImport(name string, only []string, diags *diag.Diagnostics) []string {
	clusters := only
	if len(only) == 0 {
		clusters = slices.Sorted(maps.Keys(f.clusters))
	}
	var unknown []string
	if f.ownerUnknown {
		unknown = append(unknown, "the provider's owner")
	}
	if f.clustersUnknown {
		unknown = append(unknown, "the provider's clusters")
	}
	for _, cluster := range clusters {
		if known := f.clusters[cluster]; known != nil && known.connectionUnknown {
			unknown = append(unknown, "the connection of cluster "+cluster)
		}
	}
	if len(unknown) > 0 {
		diags.AddError("Cannot import target "+name+" yet",
			"Not known yet: "+strings.Join(unknown, ", ")+". What is there would be missed. Import it when everything is known.")
	}
	return clusters
}

// imported is what carries the names of a target.
type imported struct {
	mu       sync.Mutex
	uids     map[string]string // a cluster by its identity
	records  map[deploy.Key]deploy.Record
	marks    map[deploy.Key]release.Mark
	failures []deploy.Failure
}

// lookFor looks at clusters. If one cannot be asked, nothing is imported: its deployments
// would be in no state.
func (f *fleet) lookFor(ctx context.Context, name string, clusters []string, diags *diag.Diagnostics) *imported {
	found := &imported{uids: map[string]string{}, records: map[deploy.Key]deploy.Record{}, marks: map[deploy.Key]release.Mark{}}
	var looking errgroup.Group
	looking.SetLimit(max(1, f.parallelism))
	for _, cluster := range clusters {
		looking.Go(func() error {
			if err := f.lookForOn(ctx, cluster, name, found); err != nil {
				found.fail(deploy.Failure{Cluster: cluster, Doing: "looking at the cluster", Err: err})
			}
			return nil
		})
	}
	_ = looking.Wait() // Failures are collected.
	for _, cause := range groupByCause(found.failures) {
		unseen := keys(cause.failures)
		diags.AddError(fmt.Sprintf("Target %s: cannot look at %s", name, summaryOf(unseen)),
			"Clusters: "+listOf(unseen)+"\n\nCause: "+cause.text+"\n\nNothing was imported: what the target has there would be in no state. "+
				"An id such as "+name+"/cluster-1,cluster-2 imports from these clusters alone. "+advice(cause.failures[0].Err))
	}
	return found
}

func (f *fleet) lookForOn(ctx context.Context, cluster, name string, found *imported) error {
	client, err := f.connect(cluster)
	if err != nil {
		return err
	}
	snapshot, err := client.Look(ctx)
	if err != nil {
		return err
	}
	own := release.NewMark(f.owner, name, "", "", "")
	var observed []release.Observed
	for _, key := range slices.Sorted(maps.Keys(snapshot.Releases)) {
		there := snapshot.Releases[key]
		if there.Mark.Owner == own.Owner && there.Mark.Target == own.Target && there.Status != release.StatusUninstalled {
			observed = append(observed, there)
		}
	}
	renderings, err := client.helm.Recall(ctx, observed)
	if err != nil {
		return err
	}
	found.add(cluster, snapshot.UID, observed, renderings)
	return nil
}

func (i *imported) fail(failure deploy.Failure) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.failures = append(i.failures, failure)
}

// add notes what is on a cluster. Two entries can stand for one; its deployments then
// go by the name that comes first.
func (i *imported) add(cluster, uid string, observed []release.Observed, renderings []helm.Recalled) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if other, twice := i.uids[uid]; twice && uid != "" {
		if other < cluster {
			return
		}
		maps.DeleteFunc(i.records, func(key deploy.Key, _ deploy.Record) bool { return key.Cluster == other })
		maps.DeleteFunc(i.marks, func(key deploy.Key, _ release.Mark) bool { return key.Cluster == other })
	}
	i.uids[uid] = cluster
	for n, there := range observed {
		key := deploy.Key{Cluster: cluster, Bundle: there.Mark.Bundle}
		record := deploy.Record{
			Release: there.Release, Namespace: there.Namespace, Chart: renderings[n].Chart, Version: renderings[n].Version,
			Digest: there.Mark.Digest, State: status.Ready, Objects: renderings[n].Hashes(), // A refresh follows.
		}
		record.Counts = status.Counts{Ready: len(record.Objects)}
		// Its content is not trusted: nobody has seen who wrote the record.
		record.Known = release.Known{
			Release: there.Release, Namespace: there.Namespace, UID: uid, Instance: there.Mark.Instance, Digest: there.Mark.Digest, Terms: there.Mark.Terms,
		}
		if first, twice := i.records[key]; twice { // Only one of them is the deployment's.
			first.Left = append(first.Left, record.Known)
			i.records[key] = first
			continue
		}
		i.records[key], i.marks[key] = record, there.Mark
	}
}

// instance is the id under which the target goes on: the one that most of its releases
// carry.
func (i *imported) instance() string {
	releases := map[string]int{}
	for _, mark := range i.marks {
		releases[mark.Instance]++
	}
	ids := slices.SortedFunc(maps.Keys(releases), func(a, b string) int {
		return cmp.Or(cmp.Compare(releases[b], releases[a]), cmp.Compare(a, b))
	})
	if len(ids) == 0 {
		return ""
	}
	return ids[0]
}

// warn names what is imported, as it may still be in another state.
func (i *imported) warn(name, id string, diags *diag.Diagnostics) {
	var all, others []string
	for key, mark := range i.marks {
		all = append(all, key.String())
		if mark.Instance != id {
			others = append(others, key.String())
		}
	}
	slices.Sort(all)
	slices.Sort(others)
	detail := "They carry the owner and the name of this target: " + strings.Join(all, ", ") +
		".\n\nIf another state still has them, take the target out of it with a removed block or terraform state rm. Destroyed there, it would take these releases along." +
		"\n\nHooks in their records are not run, and no rollback uses them, until an apply has written the release."
	if len(others) > 0 {
		detail += "\n\nSeveral targets of this name made them. These are of another one than the rest: " + strings.Join(others, ", ") + "."
	}
	diags.AddWarning("Target "+name+": "+fmt.Sprint(len(all))+" releases are imported", detail)
}

// refuseImport says why something that exists in a state only cannot be imported.
func refuseImport(kind, id string, diags *diag.Diagnostics) {
	diags.AddError("There is nothing to import for "+kind+" "+id,
		"It makes bundles and exists nowhere but in the state. Leave the import out: creating it touches no cluster.")
}

// ImportState implements resource.ResourceWithImportState.
func (r *gitRepoResource) ImportState(_ context.Context, req resource.ImportStateRequest, resp *resource.ImportStateResponse) {
	refuseImport("fleet_gitrepo", req.ID, &resp.Diagnostics)
}

// ImportState implements resource.ResourceWithImportState.
func (r *bundleResource) ImportState(_ context.Context, req resource.ImportStateRequest, resp *resource.ImportStateResponse) {
	refuseImport("fleet_bundle", req.ID, &resp.Diagnostics)
}
