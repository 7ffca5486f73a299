package fleet

import (
	"io/fs"
	"maps"
	"slices"
	"testing"
	"testing/fstest"
	"time"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/bundle"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/deploy"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/deploy/plan"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/deploy/run"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/fleetyaml"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/kustomize"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/render"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/target"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/worker/templates"
)

// files makes a folder.
func files(contents map[string]string) fs.FS {
	folder := fstest.MapFS{}
	for name, content := range contents {
		folder[name] = &fstest.MapFile{Data: []byte(content)}
	}
	return folder
}

// newBundle makes a bundle of files and a fleet.yaml.
func newBundle(t *testing.T, name, fleetYAML string, contents map[string]string) *bundle.Bundle {
	t.Helper()
	definition, _, err := fleetyaml.Parse("fleet.yaml", []byte(fleetYAML), true)
	if err != nil {
		t.Fatal(err)
	}
	made, _, err := bundle.Reader{}.New(name, files(contents), definition)
	if err != nil {
		t.Fatal(err)
	}
	return &made
}

// deploymentsFor returns the deployments of bundles on clusters.
func deploymentsFor(t *testing.T, bundles []*bundle.Bundle, clusters []target.Cluster) []target.Deployment {
	t.Helper()
	result, err := target.Deployments(t.Context(), target.Input{
		Bundles: bundles, Clusters: clusters, Evaluator: templates.InProcess{},
		Rules: []target.Rule{{ClusterSelector: &fleetyaml.Selector{}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, failure := range result.Failures {
		t.Fatalf("%s/%s: %v", failure.Cluster, failure.Bundle, failure.Err)
	}
	return result.Deployments
}

func realCharts() *render.Charts {
	return &render.Charts{Sandbox: &templates.Renderer{Kustomize: kustomize.Build}}
}

// delivery is one target with its state.
type delivery struct {
	engine   *Engine
	identity deploy.TargetIdentity
	settings run.Settings
	create   bool
	records  map[deploy.Key]deploy.Record
	needs    map[string][]string
}

func newDelivery(engine *Engine, name, instance string) *delivery {
	return &delivery{
		engine: engine, identity: deploy.TargetIdentity{Owner: "owner", Target: name, Instance: instance}, create: true,
		settings: run.Settings{Wait: true, Timeout: 2 * time.Minute}, records: map[deploy.Key]deploy.Record{},
	}
}

// change returns the change that is left to apply.
func (d *delivery) change(wanted []target.Deployment) plan.Change {
	return plan.Compare(plan.Desired{Deployments: wanted}, d.records, false)
}

// apply applies the change that is left.
func (d *delivery) apply(t *testing.T, wanted []target.Deployment) deploy.Outcome {
	t.Helper()
	change := d.change(wanted)
	if len(change.Needs) > 0 {
		d.needs = change.Needs
	}
	outcome := d.engine.Apply(t.Context(), run.Request{
		TargetIdentity: d.identity, Create: d.create, Write: change.Write, Unchanged: change.Unchanged, Remove: change.Remove, Needs: d.needs,
		Prior: d.records, Keep: slices.Collect(maps.Keys(change.Keep)), Settings: d.settings,
	})
	if len(outcome.Existing) == 0 {
		d.create = false
		d.records, _ = change.RecordsAfter(outcome.Records, wanted, func(deploy.Key) bool { return false })
	}
	return outcome
}

// refresh reads the state of the deployments.
func (d *delivery) refresh(t *testing.T) deploy.Observation {
	t.Helper()
	seen := d.engine.Observe(t.Context(), d.identity, deploy.DriftLive, d.records)
	d.records = seen.Records
	return seen
}

// states returns the states of the records.
func (d *delivery) states() map[string]string {
	states := map[string]string{}
	for key, record := range d.records {
		states[key.String()] = record.State.Text(record.Message)
	}
	return states
}

func noFailures(t *testing.T, failures []deploy.Failure) {
	t.Helper()
	for _, failure := range failures {
		t.Errorf("%s/%s: %s: %v", failure.Cluster, failure.Bundle, failure.Doing, failure.Err)
	}
	if t.Failed() {
		t.FailNow()
	}
}
