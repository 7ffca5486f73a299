package acceptance_test

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"text/tabwriter"
	"time"

	godiff "github.com/google/go-cmp/cmp"
	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/discovery"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/testenv"
)

// irreproducible names the charts of the corpus whose objects a plan cannot show; steps.yaml has
// the reason of each. A plan shows the objects of all other charts.
func irreproducible() []string {
	return []string{
		"api-versions", "genca", "keys-unsorted", "live-replicas", "lookup", "now", "password-hash", "password-or-failure",
		"random", "random-unless-given", "release-facts", "too-new", "tpl-now", "uuid",
	}
}

// Charts with all known causes of differences between plan and apply. Each chart is planned,
// applied as planned, planned again with nothing to do, changed in the same way, and removed with
// nothing left. No difference is hidden in unknown values.
//
//nolint:tparallel // the table is printed when all rows are through
func TestAccConsistency(t *testing.T) {
	t.Parallel()
	testenv.Require(t)
	rows := corpus(t, filepath.Join("testdata", "consistency"))
	var unknown []string
	for _, row := range rows {
		if slices.ContainsFunc(row.Steps, func(s consistencyStep) bool { return s.Unknown != "" }) {
			unknown = append(unknown, row.name)
		}
	}
	if diff := godiff.Diff(irreproducible(), unknown); diff != "" {
		t.Errorf("the charts whose objects a plan does not tell (-listed +described):\n%s", diff)
	}
	checkConsistency(t, slices.DeleteFunc(rows, func(row *consistencyRow) bool { return row.isTooNew(t) }))
}

// isTooNew reports whether the clusters lack a kind that the chart is about.
func (r *consistencyRow) isTooNew(t *testing.T) bool {
	t.Helper()
	version, kind, needs := strings.Cut(r.Needs, " ")
	if !needs {
		return false
	}
	client, err := discovery.NewDiscoveryClientForConfig(testenv.Shared(t).Cluster(0).RESTConfig())
	if err != nil {
		t.Fatal(err)
	}
	served, err := client.ServerResourcesForGroupVersion(version)
	if err != nil && !apierrors.IsNotFound(err) {
		t.Fatal(err)
	}
	if err == nil && slices.ContainsFunc(served.APIResources, func(of metav1.APIResource) bool { return of.Kind == kind }) {
		return false
	}
	t.Logf("%s: the clusters have no %s", r.name, r.Needs)
	return true
}

// The same for any folder of charts: make consistency CHARTS=folder.
//
//nolint:tparallel // as above
func TestAccConsistencyOfCharts(t *testing.T) {
	t.Parallel()
	folder, set := os.LookupEnv("FLEET_CHARTS")
	if !set {
		t.Skip("FLEET_CHARTS names no folder of charts")
	}
	testenv.Require(t)
	checkConsistency(t, corpus(t, folder))
}

func checkConsistency(t *testing.T, rows []*consistencyRow) {
	t.Helper()
	began := time.Now()
	groups := map[string][]*consistencyRow{}
	for _, row := range rows {
		groups[row.group()] = append(groups[row.group()], row)
	}
	t.Run("rows", func(t *testing.T) {
		for group, rows := range groups {
			t.Run(group, func(t *testing.T) {
				t.Parallel()
				newConsistencyBatch(t, rows).run(t)
			})
		}
	})
	var table strings.Builder
	columns := tabwriter.NewWriter(&table, 0, 0, 2, ' ', 0)
	fmt.Fprintln(columns, "CHART\tSTEPS\tOBJECTS\tRESULT")
	for _, row := range rows {
		fmt.Fprintf(columns, "%s\t%s\t%s\t%s\n", row.name, row.steps(), row.objects(), row.result())
	}
	if err := columns.Flush(); err != nil {
		t.Fatal(err)
	}
	t.Logf("%d charts in %s\n%s", len(rows), time.Since(began).Round(time.Second), table.String())
	judged := 0
	for _, row := range rows {
		if len(row.wrong) > 0 {
			t.Errorf("%s: %s", row.name, strings.Join(row.wrong, "\n\t"))
		}
		if row.refused == "" {
			judged++
			continue
		}
		t.Logf("%s is refused: %s", row.name, row.refused)
	}
	if judged == 0 {
		t.Error("none of the charts could be deployed")
	}
}

// consistencyBatch is a workspace with one bundle and one target for each row.
type consistencyBatch struct {
	*workspace
	site   *fixture
	ground *consistencyNamespace
	rows   []*consistencyRow
}

func newConsistencyBatch(t *testing.T, rows []*consistencyRow) *consistencyBatch {
	t.Helper()
	c := &consistencyBatch{workspace: newWorkspace(t), site: newFixture(t, testenv.Shared(t)), rows: rows}
	c.ground = newConsistencyNamespace(t, c.site, rows)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), time.Minute)
		defer cancel()
		if err := c.ground.clean(ctx); err != nil {
			t.Logf("cleaning up: %v", err)
		}
	})
	c.configure(t, fmt.Sprintf("provider \"fleet\" {\n  owner = %q\n  clusters = { a = { config_path = %q, config_context = %q, qps = 500, burst = 1000 } }\n}\n",
		c.site.namespace, c.site.env.Kubeconfig(), c.site.env.Contexts()[0]))
	return c
}

func (c *consistencyBatch) run(t *testing.T) {
	t.Helper()
	steps := 0
	for _, row := range c.rows {
		steps = max(steps, len(row.Steps))
	}
	for i := range steps {
		c.step(t, i)
	}
	removed := c.stream(t, "destroy", "-auto-approve", "-input=false", "-parallelism=20")
	c.blame(t, removed, "destroying")
	c.ground.expectLeft(t, c.rows)
	for _, row := range c.rows {
		for _, name := range row.Altered {
			if !row.altered[name] {
				row.failf("the cluster has not altered the data of ConfigMap %s", name)
			}
		}
	}
}

// goElsewhere makes the next commands run with another home and another folder for temporary
// files, as on another machine.
func (c *consistencyBatch) goElsewhere(t *testing.T) {
	t.Helper()
	for _, variable := range []string{"HOME", "TMPDIR"} {
		dir, err := os.MkdirTemp("", "e") //nolint:usetesting // plugins put their sockets there, whose paths must be short
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := os.RemoveAll(dir); err != nil {
				t.Error(err)
			}
		})
		c.env = append(c.env, variable+"="+dir)
	}
}

// step plans, applies the saved plan, and plans again.
func (c *consistencyBatch) step(t *testing.T, i int) {
	t.Helper()
	for _, row := range c.live() {
		if err := row.writeChart(i, filepath.Join(c.dir, "charts", row.name)); err != nil {
			t.Fatalf("%s: %v", row.name, err)
		}
		c.write(t, row.name+".tf.json", row.configuration(i, c.site.namespace))
	}
	if !c.plan(t, i) {
		return
	}
	c.goElsewhere(t)
	applied := c.stream(t, "apply", "-input=false", "-parallelism=20", "tfplan")
	failed := c.expectFailures(t, applied, i, "apply")
	c.expectWhatWasPlanned(t, failed)
	c.expectHelmsObjects(t, i, failed)
	c.goElsewhere(t)
	if i == 0 && len(failed) > 0 {
		c.ground.expectLeft(t, c.rows)
	}
	again := c.stream(t, "plan", "-input=false", "-parallelism=20")
	c.blame(t, again, "planning again")
	for _, row := range c.live() {
		if failed[row.name] {
			continue
		}
		if found := again.changes[row.name]; found != "" {
			row.failf("step %d: the second plan is not empty: %s", i+1, found)
		}
		if found := again.drift[row.name]; found != "" && !row.foreign {
			row.failf("step %d: the apply has not saved what is true: %s", i+1, found)
		}
	}
}

// live returns the rows that have not ended.
func (c *consistencyBatch) live() []*consistencyRow {
	return slices.DeleteFunc(slices.Clone(c.rows), func(row *consistencyRow) bool { return row.dead })
}

// plan plans step i. A row that fails unexpectedly is left out, so that the others can still be
// judged. It returns false if there is nothing to apply.
func (c *consistencyBatch) plan(t *testing.T, i int) bool {
	t.Helper()
	for {
		said := c.stream(t, "plan", "-out=tfplan", "-input=false", "-parallelism=20")
		alive := len(c.live())
		failed := c.expectFailures(t, said, i, "plan")
		if left := len(c.live()); left == 0 {
			return false
		} else if left < alive {
			continue
		}
		if len(failed) > 0 {
			return false
		}
		targets := c.planned(t, "tfplan")
		for _, row := range c.live() {
			row.judgePlan(i, targets[row.name], said.warnings[row.name])
		}
		return true
	}
}

// expectFailures judges the errors of a command in step i, and returns the rows that have to end
// there.
func (c *consistencyBatch) expectFailures(t *testing.T, said commandOutput, i int, at string) map[string]bool {
	t.Helper()
	failed := map[string]bool{}
	for _, row := range c.live() {
		if row.fails(i) != at {
			continue
		}
		failed[row.name] = true
		if text := strings.Join(said.errors[row.name], "\n"); !strings.Contains(text, row.Steps[i].Fails.Says) || text == "" {
			row.failf("step %d: the %s does not fail with %q: %q", i+1, at, row.Steps[i].Fails.Says, text)
		}
		row.seen = append(row.seen, "error")
		delete(said.errors, row.name)
	}
	c.blame(t, said, fmt.Sprintf("step %d, %s", i+1, at))
	return failed
}

// blame assigns errors to their rows, and ends these rows.
func (c *consistencyBatch) blame(t *testing.T, said commandOutput, doing string) {
	t.Helper()
	if strings.Contains(said.output, "inconsistent") {
		t.Errorf("%s: Terraform calls something inconsistent:\n%s", doing, said.output)
	}
	for _, row := range c.live() {
		if errors := strings.Join(said.errors[row.name], "; "); errors != "" {
			row.end(doing, errors)
			c.write(t, row.name+".tf.json", "{}")
		}
		delete(said.errors, row.name)
	}
	for name, errors := range said.errors {
		t.Errorf("%s: %s: %s", doing, cmp.Or(name, "no resource"), strings.Join(errors, "; "))
	}
	if said.failed && !strings.Contains(said.output, `"@level":"error"`) {
		t.Fatalf("%s: %s", doing, said.output)
	}
}

// end ends a row after an error. A foreign chart that cannot be planned without values is no fault.
// A chart that can be planned must also be applied.
func (r *consistencyRow) end(doing, errors string) {
	r.dead = true
	if r.foreign && len(r.seen) == 0 {
		r.refused = errors
		return
	}
	r.failf("%s: %s", doing, errors)
}

// judgePlan checks what a plan shows of a row. It must show all of its deployments that is known
// before the apply, and its objects or the reason why not.
func (r *consistencyRow) judgePlan(i int, planned plannedTarget, warnings []string) {
	r.planned = planned
	key := "a/" + r.name
	text, there := planned.Deployments[key]
	if words := strings.Split(text, " "); len(words) != 3 {
		r.failf("step %d: the plan shows the deployment as %q", i+1, text)
	}
	_, recordKnown := planned.Records[key]
	isChange := len(planned.actions) == 1 && planned.actions[0] != "no-op"
	if !there || i < len(r.Steps) && (!isChange || recordKnown || len(planned.NotReady) > 0) {
		r.failf("step %d: the plan is %q, with the record known: %t, not ready: %v", i+1, planned.actions, recordKnown, planned.NotReady)
	}
	if i >= len(r.Steps) {
		return
	}
	known := len(planned.unknown) == 0
	reason := ""
	for _, warning := range warnings {
		if _, detail, found := strings.Cut(warning, "objects are known only after the apply: "); found {
			_, detail, _ = strings.Cut(detail, "- a/"+r.name+": ")
			reason, _, _ = strings.Cut(detail, " The hashes of these objects")
		}
	}
	switch wanted := r.Steps[i].Unknown; {
	case known && wanted != "":
		r.failf("step %d: the plan tells the objects, and should not: %s", i+1, wanted)
	case !known && (reason == "" || !r.foreign && wanted == ""):
		r.failf("step %d: the plan does not tell the objects: %s", i+1, cmp.Or(reason, "it does not say why"))
	case !known && !strings.Contains(reason, wanted):
		r.failf("step %d: the plan does not tell the objects because of %q, want %q", i+1, reason, wanted)
	}
	if known {
		reason = "known"
	} else {
		reason = "unknown: " + reason
	}
	r.seen = append(r.seen, reason)
}

// expectWhatWasPlanned compares what was planned with the state, and the state with the
// cluster.
func (c *consistencyBatch) expectWhatWasPlanned(t *testing.T, failed map[string]bool) {
	t.Helper()
	state := c.inState(t)
	var looking errgroup.Group
	looking.SetLimit(4)
	for _, row := range c.live() {
		if failed[row.name] {
			continue
		}
		looking.Go(func() error {
			row.judgeState(t.Context(), c.ground, state[row.name])
			return nil
		})
	}
	if err := looking.Wait(); err != nil {
		t.Error(err)
	}
}

func (r *consistencyRow) judgeState(ctx context.Context, g *consistencyNamespace, state targetShown) {
	key := "a/" + r.name
	deployment, there := state.Deployments[key]
	if !there || len(state.NotReady) > 0 {
		r.failf("the state has the deployments %v and %v, want %s ready", slices.Collect(maps.Keys(state.Deployments)), state.NotReady, key)
		return
	}
	if diff := godiff.Diff(r.planned.Deployments[key], deployment); diff != "" {
		r.failf("the deployment is not as planned (-plan +state): %s", diff)
	}
	for object, hash := range r.planned.Objects {
		if state.Objects[object] != hash {
			r.failf("the object %s has the hash %q, planned was %q", object, state.Objects[object], hash)
		}
	}
	record, err := state.decodeRecord(key)
	if err != nil {
		r.failf("the state has no record: %v", err)
		return
	}
	held, err := g.held(ctx, record)
	if err != nil {
		r.failf("the cluster does not hold what the state says: %v", err)
		return
	}
	if diff := godiff.Diff(state.objectsHashes(key, record), held.hashes); diff != "" {
		r.failf("the cluster does not hold what the state says (-state +cluster): %s", diff)
	}
	for _, name := range held.altered {
		if r.altered[name] = true; !slices.Contains(r.Altered, name) && !r.foreign {
			r.failf("the data of ConfigMap %s are not those of the chart", name)
		}
	}
}
