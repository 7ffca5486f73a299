package provider

import (
	"cmp"
	"context"
	"encoding/json"
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
	"github.com/agentless-fleet/terraform-provider-fleet/internal/release"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/status"
)

// formersKey is where a target keeps the ids of further targets whose releases were
// imported as its own.
const formersKey = "formers"

func readFormers(ctx context.Context, private privateReader, diags *diag.Diagnostics) []string {
	raw, found := private.GetKey(ctx, formersKey)
	diags.Append(found...)
	var formers []string
	if len(raw) == 0 {
		return nil
	}
	if err := json.Unmarshal(raw, &formers); err != nil {
		diags.AddError("Cannot read whose releases were imported", sentence(err))
	}
	return formers
}

// ImportState takes up what carries the provider's owner and the name of the target on
// the provider's clusters. It changes nothing there: the target goes on as the instance
// that its releases know already.
func (r *targetResource) ImportState(ctx context.Context, req resource.ImportStateRequest, resp *resource.ImportStateResponse) {
	name := req.ID
	r.fleet.checkImport(name, &resp.Diagnostics)
	if resp.Diagnostics.HasError() {
		return
	}
	imported := r.fleet.lookFor(ctx, name, &resp.Diagnostics)
	if resp.Diagnostics.HasError() {
		return
	}
	id, formers := imported.instances(r.fleet.workspace)
	if id == "" {
		resp.Diagnostics.AddError("There is no target "+name+" to import",
			fmt.Sprintf("No release on any of the clusters %s carries the owner %q and the target name %q. Create the target instead.",
				strings.Join(slices.Sorted(maps.Keys(r.fleet.clusters)), ", "), r.fleet.owner, name))
		return
	}
	imported.warn(name, id, r.fleet.workspace, &resp.Diagnostics)
	var state targetModel
	// Only an object that is not null can be read, with null for everything else.
	resp.Diagnostics.Append(resp.State.SetAttribute(ctx, path.Root("name"), name)...)
	resp.Diagnostics.Append(resp.State.Get(ctx, &state)...)
	state.ID = types.StringValue(id)
	state.setDefaults()
	state.setRecords(imported.records)
	if len(formers) > 0 {
		raw, err := json.Marshal(formers)
		if err != nil {
			resp.Diagnostics.AddError("Cannot store whose releases are imported", sentence(err))
			return
		}
		resp.Diagnostics.Append(resp.Private.SetKey(ctx, formersKey, raw)...)
	}
	resp.Diagnostics.Append(resp.State.Set(ctx, &state)...)
}

// setDefaults is for a target of which nothing but its deployments is known.
func (m *targetModel) setDefaults() {
	m.Wait, m.DeploymentTimeout, m.MaxHistory = types.BoolValue(true), types.StringValue(defaultTimeout), types.Int64Value(defaultMaxHistory)
	m.TakeOwnership, m.AllowEmpty, m.DeletionProtection = types.BoolValue(false), types.BoolValue(false), types.BoolValue(false)
	m.PlanObjects, m.Drift = types.BoolValue(true), types.StringValue(string(deploy.DriftLive))
	m.Summary, m.Stages = types.StringValue(""), types.StringValue("")
}

// checkImport wants everything to be known that decides about what is found. What is
// looked for and not looked at would be lost.
func (f *fleet) checkImport(name string, diags *diag.Diagnostics) {
	var unknown []string
	if f.ownerUnknown {
		unknown = append(unknown, "the provider's owner")
	}
	if f.clustersUnknown {
		unknown = append(unknown, "the provider's clusters")
	}
	for _, cluster := range slices.Sorted(maps.Keys(f.clusters)) {
		if f.clusters[cluster].connectionUnknown {
			unknown = append(unknown, "the connection of cluster "+cluster)
		}
	}
	if len(unknown) > 0 {
		diags.AddError("Cannot import target "+name+" yet",
			"Not known yet: "+strings.Join(unknown, ", ")+". What is there would be missed. Import it when everything is known.")
	}
}

// imported is what carries the names of a target.
type imported struct {
	mu       sync.Mutex
	uids     map[string]string // a cluster by its identity
	records  map[deploy.Key]deploy.Record
	marks    map[deploy.Key]release.Mark
	failures []deploy.Failure
}

// lookFor looks at all clusters. If one cannot be asked, nothing is imported: its
// deployments would be in no state.
func (f *fleet) lookFor(ctx context.Context, name string, diags *diag.Diagnostics) *imported {
	found := &imported{uids: map[string]string{}, records: map[deploy.Key]deploy.Record{}, marks: map[deploy.Key]release.Mark{}}
	var looking errgroup.Group
	looking.SetLimit(max(1, f.parallelism))
	for _, cluster := range slices.Sorted(maps.Keys(f.clusters)) {
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
			"Clusters: "+listOf(unseen)+"\n\nCause: "+cause.text+"\n\nNothing was imported: what the target has there would be in no state. "+advice(cause.failures[0].Err))
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
func (i *imported) add(cluster, uid string, observed []release.Observed, renderings []release.Rendering) {
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
		i.records[key], i.marks[key] = record, there.Mark
	}
}

// instances are the id under which the target goes on - the one that most of its
// releases know, and rather one of this workspace - and the others.
func (i *imported) instances(workspace string) (id string, formers []string) {
	releases, here := map[string]int{}, map[string]bool{}
	for _, mark := range i.marks {
		releases[mark.Instance]++
		here[mark.Instance] = here[mark.Instance] || (workspace != "" && mark.Workspace == workspace)
	}
	ids := slices.SortedFunc(maps.Keys(releases), func(a, b string) int {
		if here[a] != here[b] {
			if here[a] {
				return -1
			}
			return 1
		}
		return cmp.Or(cmp.Compare(releases[b], releases[a]), cmp.Compare(a, b))
	})
	if len(ids) == 0 {
		return "", nil
	}
	return ids[0], ids[1:]
}

// warn says whose releases are imported, if it is not certain that nobody else has
// them.
func (i *imported) warn(name, id, workspace string, diags *diag.Diagnostics) {
	var elsewhere, others []string
	for key, mark := range i.marks {
		switch {
		case workspace == "" || mark.Workspace != workspace:
			elsewhere = append(elsewhere, key.String())
		case mark.Instance != id:
			others = append(others, key.String())
		}
	}
	slices.Sort(elsewhere)
	slices.Sort(others)
	if len(elsewhere) > 0 {
		diags.AddWarning("Target "+name+": releases of another workspace are imported",
			"They were made where another state is kept, by a target of this owner and name: "+strings.Join(elsewhere, ", ")+
				".\n\nTake the target out of that state, if it is still there, with a removed block or terraform state rm. Destroyed there, it would take these releases along.")
	}
	if len(others) > 0 {
		diags.AddWarning("Target "+name+": releases of several targets are imported",
			"Targets of this name that are in no state any more have left them: "+strings.Join(others, ", ")+". They are this target's from now on, and the plan shows what becomes of them.")
	}
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
