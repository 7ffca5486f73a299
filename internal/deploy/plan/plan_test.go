package plan_test

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/bundle"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/deploy"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/deploy/plan"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/diff"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/release"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/status"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/target"
)

func TestCompare(t *testing.T) {
	t.Parallel()
	one := func(change func(*target.Deployment)) []target.Deployment {
		d := target.Deployment{Cluster: "a", Bundle: &bundle.Bundle{Name: "one"}, Release: "one", Namespace: "ns", Digest: "d"}
		change(&d)
		return []target.Deployment{d}
	}
	before := func(change func(*deploy.Record)) map[deploy.Key]deploy.Record {
		record := deploy.Record{Release: "one", Namespace: "ns", Digest: "d", State: status.Ready}
		change(&record)
		return map[deploy.Key]deploy.Record{{Cluster: "a", Bundle: "one"}: record}
	}
	same, asIs := func(*target.Deployment) {}, func(*deploy.Record) {}
	tests := map[string]struct {
		wanted []target.Deployment
		prior  map[deploy.Key]deploy.Record
		remark bool
		broken bool
		want   string
	}{
		"broken and not there yet":  {wanted: one(same), broken: true, want: "+0 ~0 -0 =0, 1 held"},
		"broken and there":          {wanted: one(func(d *target.Deployment) { d.Digest = "x" }), prior: before(asIs), broken: true, want: "+0 ~0 -0 =1, 1 held"},
		"broken and as wanted":      {wanted: one(same), prior: before(asIs), broken: true, want: "+0 ~0 -0 =1, 1 held"},
		"nothing changes":           {wanted: one(same), prior: before(asIs), want: "+0 ~0 -0 =1"},
		"added":                     {wanted: one(same), want: "+1 ~0 -0 =0"},
		"removed":                   {prior: before(asIs), want: "+0 ~0 -1 =0"},
		"another digest":            {wanted: one(func(d *target.Deployment) { d.Digest = "x" }), prior: before(asIs), want: "+0 ~1 -0 =0"},
		"another namespace":         {wanted: one(func(d *target.Deployment) { d.Namespace = "x" }), prior: before(asIs), want: "+0 ~1 -0 =0"},
		"another release":           {wanted: one(func(d *target.Deployment) { d.Release = "x" }), prior: before(asIs), want: "+0 ~1 -0 =0"},
		"not ready yet":             {wanted: one(same), prior: before(func(r *deploy.Record) { r.State = status.NotReady }), want: "+0 ~0 -0 =1"},
		"failed before":             {wanted: one(same), prior: before(func(r *deploy.Record) { r.State = status.ErrApplied }), want: "+0 ~1 -0 =0"},
		"changed by somebody":       {wanted: one(same), prior: before(func(r *deploy.Record) { r.State, r.Digest = status.Modified, "" }), want: "+0 ~1 -0 =0"},
		"cut short before":          {wanted: one(same), prior: before(func(r *deploy.Record) { r.State = status.WaitApplied }), want: "+0 ~1 -0 =0"},
		"all to be labelled again":  {wanted: one(same), prior: before(asIs), remark: true, want: "+0 ~1 -0 =0"},
		"paused and changed":        {wanted: one(func(d *target.Deployment) { d.Paused, d.Digest = true, "x" }), prior: before(asIs), want: "+0 ~0 -0 =1, 1 held"},
		"paused and not there yet":  {wanted: one(func(d *target.Deployment) { d.Paused = true }), want: "+0 ~0 -0 =0, 1 held"},
		"paused and to be marked":   {wanted: one(func(d *target.Deployment) { d.Paused = true }), prior: before(asIs), remark: true, want: "+0 ~0 -0 =1, 1 held"},
		"paused and as wanted":      {wanted: one(func(d *target.Deployment) { d.Paused = true }), prior: before(asIs), want: "+0 ~0 -0 =1"},
		"another cluster, same key": {wanted: one(func(d *target.Deployment) { d.Cluster = "b" }), prior: before(asIs), want: "+1 ~0 -1 =0"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			wanted := plan.Desired{Deployments: test.wanted}
			if test.broken {
				wanted.Broken = map[deploy.Key]error{{Cluster: "a", Bundle: "one"}: errors.New("it is broken")}
			}
			if got := plan.Compare(wanted, test.prior, test.remark).Counts().String(); got != test.want {
				t.Errorf("got %s, want %s", got, test.want)
			}
		})
	}
}

// A held deployment is an error if the plan showed it as to be written. It is no error if the plan
// showed it as staying, or did not show it.
func TestUnexpectedlyHeld(t *testing.T) {
	t.Parallel()
	prior := map[deploy.Key]deploy.Record{
		key("a", "kept"): {Digest: "old", State: status.Ready}, key("a", "changed"): {Digest: "old", State: status.Ready},
	}
	shown := map[deploy.Key]string{key("a", "kept"): "old", key("a", "changed"): "new", key("a", "new"): "new"}
	var desired plan.Desired
	for _, name := range []string{"kept", "changed", "new", "absent"} {
		d := target.Deployment{Cluster: "a", Bundle: &bundle.Bundle{Name: name}, Release: name, Namespace: "ns", Digest: "wanted", Paused: true}
		desired.Deployments = append(desired.Deployments, d)
	}
	var got []string
	for _, failure := range plan.Compare(desired, prior, false).UnexpectedlyHeld(func(key deploy.Key, digest string) bool {
		is, ok := shown[key]
		return ok && is != digest
	}) {
		got = append(got, failure.Bundle)
	}
	slices.Sort(got)
	if diff := cmp.Diff([]string{"changed", "new"}, got); diff != "" {
		t.Errorf("unexpectedly held (-want +got):\n%s", diff)
	}
}

// charts return the renderings of a test, by bundle.
type charts struct {
	renderings map[string]release.Rendering
	errs       map[string]error
	dependent  map[string]bool
	brings     map[string]bool
}

func (c charts) Render(_ context.Context, d target.Deployment) (release.Rendering, error) {
	return c.renderings[d.Bundle.Name], c.errs[d.Bundle.Name]
}

func (c charts) DependsOnCluster(d target.Deployment) (bool, error) {
	return c.dependent[d.Bundle.Name], nil
}

func (c charts) BringsKinds(d target.Deployment) (bool, error) { return c.brings[d.Bundle.Name], nil }

func (charts) CRDDocuments(target.Deployment, release.Rendering) ([]diff.Document, error) {
	return nil, nil
}

func (charts) Locate(_ target.Deployment, place, _, _ string) (file string, line int) {
	return place, 3
}

// reach has every cluster except the one in gone. The connection of the cluster in broken has an
// error.
type reach struct{ gone, broken string }

func (r reach) Has(cluster string) bool { return cluster != r.gone }
func (r reach) Check(cluster string) error {
	if cluster == r.broken {
		return errors.New("no such context")
	}
	return nil
}

// A plan is a plain value: what is written, kept, removed and held, and the objects.
func TestNew(t *testing.T) {
	t.Parallel()
	config := diff.Object{Kind: "ConfigMap", Namespace: "ns", Name: "one", Hash: "h"}
	rendering := release.Rendering{Objects: []diff.Object{config}, Documents: []diff.Document{{Object: config, Content: "{}"}}}
	random := rendering
	random.Irreproducible, random.NamesVary = "it uses randAlpha", true
	secret := diff.Object{Kind: "Secret", Namespace: "ns", Name: "one", Hash: "s"}
	partly := release.Rendering{Objects: []diff.Object{config, secret}, Irreproducible: "it uses randAlpha", Varying: map[string]bool{secret.Key(): true}}
	as := func(cluster, name string, more ...func(*target.Deployment)) target.Deployment {
		d := target.Deployment{Cluster: cluster, Bundle: &bundle.Bundle{Name: name}, Release: name, Namespace: "ns", Digest: "d"}
		for _, change := range more {
			change(&d)
		}
		return d
	}
	capable := func(d *target.Deployment) { d.Capabilities = &target.Capabilities{Version: "v1.30.0"} }
	before := deploy.Record{Release: "one", Namespace: "ns", Digest: "d", State: status.Ready, Objects: map[string]string{config.Key(): "old"}}
	tests := map[string]struct {
		wanted []target.Deployment
		prior  map[deploy.Key]deploy.Record
		charts charts
		reach  reach
		facts  plan.Facts
		check  func(t *testing.T, planned plan.Plan)
	}{
		"objects are known": {
			wanted: []target.Deployment{as("a", "one")}, charts: charts{renderings: map[string]release.Rendering{"one": rendering}},
			check: func(t *testing.T, planned plan.Plan) {
				t.Helper()
				if diff := cmp.Diff(map[deploy.Key]map[string]string{key("a", "one"): rendering.Hashes()}, planned.Objects); diff != "" {
					t.Errorf("objects (-want +got):\n%s", diff)
				}
				if planned.Renderings[key("a", "one")].Documents != nil {
					t.Error("documents are kept although nobody wants them")
				}
			},
		},
		"documents are kept": {
			wanted: []target.Deployment{as("a", "one")}, charts: charts{renderings: map[string]release.Rendering{"one": rendering}}, facts: plan.Facts{Diff: plan.DiffRendered},
			check: func(t *testing.T, planned plan.Plan) {
				t.Helper()
				if len(planned.Renderings[key("a", "one")].Documents) != 1 {
					t.Error("documents are not kept")
				}
			},
		},
		"objects that can differ": {
			wanted: []target.Deployment{as("a", "one"), as("b", "one")}, charts: charts{renderings: map[string]release.Rendering{"one": random}},
			check: func(t *testing.T, planned plan.Plan) {
				t.Helper()
				if len(planned.Objects) != 0 || planned.Unknown.String() != "a/one, b/one:it uses randAlpha" {
					t.Errorf("objects %v, unknown %s", planned.Objects, planned.Unknown.String())
				}
			},
		},
		"one object that can differ": {
			wanted: []target.Deployment{as("a", "one")}, charts: charts{renderings: map[string]release.Rendering{"one": partly}},
			check: func(t *testing.T, planned plan.Plan) {
				t.Helper()
				want := map[deploy.Key]map[string]string{key("a", "one"): {config.Key(): "h", secret.Key(): ""}}
				if diff := cmp.Diff(want, planned.Objects); diff != "" || planned.Unknown.String() != "a/one:it uses randAlpha" {
					t.Errorf("unknown %s, objects (-want +got):\n%s", planned.Unknown.String(), diff)
				}
			},
		},
		"only looked at again": {
			wanted: []target.Deployment{as("a", "one")}, prior: map[deploy.Key]deploy.Record{key("a", "one"): before},
			charts: charts{renderings: map[string]release.Rendering{"one": random}}, facts: plan.Facts{Relabel: true},
			check: func(t *testing.T, planned plan.Plan) {
				t.Helper()
				if diff := cmp.Diff(map[deploy.Key]map[string]string{key("a", "one"): before.Objects}, planned.Objects); diff != "" {
					t.Errorf("objects (-want +got):\n%s", diff)
				}
			},
		},
		"a chart that cannot be rendered": {
			wanted: []target.Deployment{as("a", "one")}, charts: charts{errs: map[string]error{"one": errors.New("no such template")}},
			check: func(t *testing.T, planned plan.Plan) {
				t.Helper()
				if len(planned.Failures) != 1 || len(planned.Held) != 0 {
					t.Errorf("failures %v, held %v", planned.Failures, planned.Held)
				}
			},
		},
		"all charts that cannot be rendered": {
			wanted: []target.Deployment{as("a", "one"), as("a", "two")},
			charts: charts{errs: map[string]error{"one": errors.New("no such template"), "two": errors.New("no such template")}},
			check: func(t *testing.T, planned plan.Plan) {
				t.Helper()
				if len(planned.Failures) != 2 || len(planned.NotRendered) != 0 {
					t.Errorf("failures %v, not rendered %v", planned.Failures, planned.NotRendered)
				}
			},
		},
		"what comes after a chart that exceeds a limit": {
			wanted: []target.Deployment{as("a", "one"), as("a", "two"), as("b", "one"), as("b", "two")},
			charts: charts{renderings: map[string]release.Rendering{"one": rendering}, errs: map[string]error{"two": limitError{}}},
			check: func(t *testing.T, planned plan.Plan) {
				t.Helper()
				if len(planned.Failures) != 1 || planned.Failures[0].Cluster != "a" || len(planned.Renderings) != 1 {
					t.Errorf("failures %v, %d renderings", planned.Failures, len(planned.Renderings))
				}
				if diff := cmp.Diff([]deploy.Key{key("b", "one"), key("b", "two")}, planned.NotRendered); diff != "" {
					t.Errorf("not rendered (-want +got):\n%s", diff)
				}
			},
		},
		"a chart that cannot be rendered is held": {
			wanted: []target.Deployment{as("a", "one")}, charts: charts{errs: map[string]error{"one": errors.New("no such template")}}, facts: plan.Facts{HoldBroken: true},
			check: func(t *testing.T, planned plan.Plan) {
				t.Helper()
				if len(planned.Failures) != 0 || len(planned.Held) != 1 || len(planned.Write) != 0 {
					t.Errorf("failures %v, held %v", planned.Failures, planned.Held)
				}
			},
		},
		"a cluster that is gone": {
			prior: map[deploy.Key]deploy.Record{key("a", "one"): before, key("b", "one"): before}, reach: reach{gone: "a"}, facts: plan.Facts{Limit: plan.RemovalLimit{AllowEmpty: true}},
			check: func(t *testing.T, planned plan.Plan) {
				t.Helper()
				if diff := cmp.Diff([]string{"a"}, planned.Unreachable); diff != "" || len(planned.Remove) != 1 || planned.Counts.Removed != 2 {
					t.Errorf("unreachable (-want +got):\n%s%v", diff, planned.Remove)
				}
			},
		},
		"more removals than allowed": {
			wanted: []target.Deployment{as("c", "one")}, prior: map[deploy.Key]deploy.Record{key("a", "one"): before, key("b", "one"): before}, facts: plan.Facts{Limit: plan.RemovalLimit{Max: "50%"}},
			check: func(t *testing.T, planned plan.Plan) {
				t.Helper()
				if _, ok := errors.AsType[*plan.TooManyRemovalsError](planned.Exceeded); !ok || len(planned.Renderings) != 0 {
					t.Errorf("exceeded: %v, renderings %v", planned.Exceeded, planned.Renderings)
				}
			},
		},
		"a connection that cannot be read": {
			wanted: []target.Deployment{as("a", "one")}, reach: reach{broken: "a"},
			check: func(t *testing.T, planned plan.Plan) {
				t.Helper()
				if diff := cmp.Diff([]string{"a"}, slices.Collect(maps.Keys(planned.Unconnected))); diff != "" || len(planned.Renderings) != 0 {
					t.Errorf("unconnected (-want +got):\n%s", diff)
				}
			},
		},
		"capabilities without a dependency": {
			wanted: []target.Deployment{as("a", "one", capable)}, charts: charts{renderings: map[string]release.Rendering{"one": rendering}, brings: map[string]bool{"one": true}},
			check: func(t *testing.T, planned plan.Plan) {
				t.Helper()
				if planned.Write[0].Capabilities == nil {
					t.Error("the deployment does not have its capabilities any more")
				}
			},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			facts := test.facts
			facts.Charts, facts.Reach = test.charts, test.reach
			test.check(t, plan.New(t.Context(), plan.Desired{Deployments: test.wanted}, test.prior, facts))
		})
	}
}

func TestRemovalLimit(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		limit                    plan.RemovalLimit
		removals, before, wanted int
		want                     string
	}{
		"no limit":                     {removals: 3, before: 3, wanted: 1},
		"nothing before":               {},
		"nothing would be left":        {removals: 3, before: 3, want: "no cluster matches or there are no bundles, so all 3 deployments would be removed"},
		"nothing would be left, meant": {limit: plan.RemovalLimit{AllowEmpty: true}, removals: 3, before: 3},
		"a number":                     {limit: plan.RemovalLimit{Max: "2"}, removals: 2, before: 3, wanted: 1},
		"more than a number":           {limit: plan.RemovalLimit{Max: "1"}, removals: 2, before: 3, wanted: 1, want: `2 deployments would be removed, and "1" allows 1 of 3`},
		"none":                         {limit: plan.RemovalLimit{Max: "0"}, removals: 1, before: 3, wanted: 1, want: `1 deployments would be removed, and "0" allows 0 of 3`},
		"a percentage, rounded down":   {limit: plan.RemovalLimit{Max: "50%"}, removals: 2, before: 3, wanted: 1, want: `2 deployments would be removed, and "50%" allows 1 of 3`},
		"no number":                    {limit: plan.RemovalLimit{Max: "few"}, removals: 2, before: 3, wanted: 1, want: `"few" is neither a number of deployments nor a percentage from 0% to 100%`},
		"too large a percentage":       {limit: plan.RemovalLimit{Max: "101%"}, wanted: 1, want: `"101%" is neither a number of deployments nor a percentage from 0% to 100%`},
		"less than none":               {limit: plan.RemovalLimit{Max: "-1"}, wanted: 1, want: `"-1" is neither a number of deployments nor a percentage from 0% to 100%`},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := ""
			if err := test.limit.Check(test.removals, test.before, test.wanted); err != nil {
				got = err.Error()
			}
			if got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

// limitError is the error of a rendering that exceeds a limit.
type limitError struct{}

func (limitError) Error() string { return "it took more than 1m0s" }

func (limitError) ExceedsLimit() bool { return true }

// Terraform plans targets at once, and plans of equal deployments get one rendering. The race detector
// finds a plan that changes it.
func TestPlansShareARendering(t *testing.T) {
	t.Parallel()
	config := diff.Object{Kind: "ConfigMap", Namespace: "ns", Name: "cm"}
	shared := charts{renderings: map[string]release.Rendering{"one": {Objects: []diff.Object{config}, Documents: []diff.Document{{Object: config, Content: "{}"}}}}}
	wanted := []target.Deployment{{Cluster: "a", Bundle: &bundle.Bundle{Name: "one"}, Release: "one", Namespace: "ns", Digest: "d"}}
	var planning sync.WaitGroup
	for range 16 {
		planning.Go(func() {
			planned := plan.New(t.Context(), plan.Desired{Deployments: wanted}, nil, plan.Facts{Diff: plan.DiffRendered, Charts: shared, Reach: reach{}})
			if len(planned.Renderings[key("a", "one")].Documents) != 1 {
				t.Error("documents are not kept")
			}
		})
	}
	planning.Wait()
}
