package rollout_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/bundle"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/fleetyaml"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/rollout"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/target"
)

// steps makes the steps of bundles, given by their fleet.yaml, on clusters. Each step is new there
// unless adjusted.
func steps(t *testing.T, bundles map[string]string, clusters []string, adjust map[string]func(*rollout.Step)) []rollout.Step {
	t.Helper()
	read := make([]*bundle.Bundle, 0, len(bundles))
	for name, text := range bundles {
		def, _, err := fleetyaml.Parse("fleet.yaml", []byte(text), true)
		if err != nil {
			t.Fatal(err)
		}
		read = append(read, &bundle.Bundle{Name: name, Path: "apps/" + name, Definition: def})
	}
	known := make([]target.Cluster, len(clusters))
	for i, name := range clusters {
		known[i] = target.NewCluster(name)
		known[i].Labels = map[string]string{"name": name}
	}
	result, err := target.Deployments(t.Context(), target.Input{
		Bundles: read, Clusters: known, Rules: []target.Rule{{ClusterSelector: &fleetyaml.Selector{}}},
	})
	if err != nil || len(result.Failures) > 0 {
		t.Fatal(err, result.Failures)
	}
	made := make([]rollout.Step, len(result.Deployments))
	for i, d := range result.Deployments {
		made[i] = rollout.Step{Deployment: d, Change: true}
		for _, key := range []string{"*", d.Bundle.Name, d.Cluster, d.Key()} {
			if change := adjust[key]; change != nil {
				change(&made[i])
			}
		}
	}
	return made
}

// carryOut runs the steps that can begin, round by round. It returns the keys of the steps in each
// round, joined by spaces, and why the others were held. ends contains the final states of the
// steps that do not get ready.
func carryOut(order *rollout.Order, all []rollout.Step, ends map[string]string) (rounds []string, held map[string]string) {
	held = map[string]string{}
	for {
		begin, _ := order.Next()
		if len(begin) == 0 {
			break
		}
		var keys []string
		for _, i := range begin {
			keys = append(keys, all[i].Deployment.Key())
		}
		slices.Sort(keys)
		rounds = append(rounds, strings.Join(keys, " "))
		for _, i := range begin {
			state := ends[all[i].Deployment.Key()]
			if state == "" {
				state = "Ready"
			}
			order.Finish(i, state)
		}
	}
	for i, step := range all {
		if err := order.Held(i); err != nil {
			held[step.Deployment.Key()] = strings.TrimPrefix(err.Error(), "it is held: ")
		}
	}
	return rounds, held
}

func at(state string) func(*rollout.Step) { return func(s *rollout.Step) { s.State = state } }

func kept(state string) func(*rollout.Step) {
	return func(s *rollout.Step) { s.State, s.Change = state, false }
}

func pausedStep(s *rollout.Step) { s.Deployment.Paused = true }

func TestDependenciesComeFirst(t *testing.T) {
	t.Parallel()
	chain := map[string]string{"crds": "", "operator": "dependsOn: [{name: crds}]\n", "web": "dependsOn: [{name: operator}]\n", "other": ""}
	selected := map[string]string{
		"db": "labels: {app: db}\n", "cache": "labels: {app: db, tier: memory}\n", "web": "dependsOn: [{selector: {matchLabels: {app: db}}}]\n",
		"api": "dependsOn: [{name: cache, selector: {matchExpressions: [{key: tier, operator: Exists}]}}]\n",
	}
	accepting := func(states string) map[string]string {
		return map[string]string{"db": "", "web": "dependsOn: [{name: db, acceptedStates: [" + states + "]}]\n"}
	}
	tests := map[string]struct {
		bundles map[string]string
		on      []string
		adjust  map[string]func(*rollout.Step)
		ends    map[string]string
		rounds  []string
		held    map[string]string
	}{
		"nothing to wait for": {bundles: map[string]string{"a": "", "b": ""}, on: []string{"x", "y"}, rounds: []string{"x/a x/b y/a y/b"}},
		"levels":              {bundles: chain, rounds: []string{"c/crds c/other", "c/operator", "c/web"}},
		"each cluster by itself": {
			bundles: chain, on: []string{"x", "y"}, ends: map[string]string{"y/crds": "ErrApplied"},
			rounds: []string{"x/crds x/other y/crds y/other", "x/operator", "x/web"},
			held:   map[string]string{"y/operator": "it depends on bundle crds, which is ErrApplied", "y/web": "it depends on bundle operator, which is also held"},
		},
		"selectors mean all that match": {bundles: selected, rounds: []string{"c/cache c/db", "c/api c/web"}},
		"selectors know the name": {
			bundles: map[string]string{"db": "", "web": "dependsOn: [{selector: {matchExpressions: [{key: fleet.cattle.io/bundle-name, operator: In, values: [db]}]}}]\n"},
			rounds:  []string{"c/db", "c/web"},
		},
		"one of several fails": {
			bundles: selected, ends: map[string]string{"c/db": "ErrApplied"}, rounds: []string{"c/cache c/db", "c/api"},
			held: map[string]string{"c/web": "it depends on bundle db, which is ErrApplied"},
		},
		"what is there already": {
			bundles: chain, adjust: map[string]func(*rollout.Step){"crds": kept("Ready"), "operator": kept("Ready")},
			rounds: []string{"c/other c/web"},
		},
		"what is there gets ready": {
			bundles: chain, adjust: map[string]func(*rollout.Step){"crds": kept("Ready"), "operator": kept("NotReady")},
			rounds: []string{"c/operator c/other", "c/web"},
		},
		"what is there stays not ready": {
			bundles: chain, adjust: map[string]func(*rollout.Step){"crds": kept("Ready"), "operator": kept("NotReady")},
			ends: map[string]string{"c/operator": "NotReady"}, rounds: []string{"c/operator c/other"},
			held: map[string]string{"c/web": "it depends on bundle operator, which is NotReady"},
		},
		"nobody waits for what is there": {
			bundles: chain, adjust: map[string]func(*rollout.Step){"*": kept("NotReady")},
		},
		"not ready is accepted": {
			bundles: accepting("Ready, NotReady"), ends: map[string]string{"c/db": "NotReady"}, rounds: []string{"c/db", "c/web"},
		},
		"failed is accepted": {
			bundles: accepting("ErrApplied"), ends: map[string]string{"c/db": "ErrApplied"}, rounds: []string{"c/db", "c/web"},
		},
		"ready is not accepted": {
			bundles: accepting("NotReady"), rounds: []string{"c/db"}, held: map[string]string{"c/web": "it depends on bundle db, which is Ready"},
		},
		"paused and not there": {
			bundles: chain, adjust: map[string]func(*rollout.Step){"operator": pausedStep}, rounds: []string{"c/crds c/other"},
			held: map[string]string{"c/operator": "the bundle or the cluster is paused", "c/web": "it depends on bundle operator, which is also held"},
		},
		"paused with nothing to do": {
			bundles: chain, adjust: map[string]func(*rollout.Step){"operator": func(s *rollout.Step) { kept("Ready")(s); pausedStep(s) }},
			rounds: []string{"c/crds c/other c/web"},
		},
		"paused and accepted as out of sync": {
			bundles: accepting("OutOfSync"), adjust: map[string]func(*rollout.Step){"db": func(s *rollout.Step) { at("Ready")(s); pausedStep(s) }},
			rounds: []string{"c/web"}, held: map[string]string{"c/db": "the bundle or the cluster is paused"},
		},
		"outside of the target": {
			bundles: map[string]string{"web": "dependsOn: [{name: elsewhere}]\n"}, rounds: []string{"c/web"},
		},
		"circle": {
			bundles: map[string]string{"a": "dependsOn: [{name: c}]\n", "b": "dependsOn: [{name: a}]\n", "c": "dependsOn: [{name: b}]\n", "d": "dependsOn: [{name: a}]\n"},
			held: map[string]string{
				"c/a": "bundles depend on each other in a cycle: a, which depends on c, which depends on b, which depends on a",
				"c/b": "bundles depend on each other in a cycle: a, which depends on c, which depends on b, which depends on a",
				"c/c": "bundles depend on each other in a cycle: a, which depends on c, which depends on b, which depends on a",
				"c/d": "it depends on bundle a, which is also held",
			},
		},
		"itself": {
			bundles: map[string]string{"a": "labels: {x: z}\ndependsOn: [{selector: {matchLabels: {x: z}}}]\n"},
			held:    map[string]string{"c/a": "bundle a depends on itself"},
		},
		"selector without a match": {
			bundles: map[string]string{"a": "dependsOn: [{name: b, selector: {matchLabels: {x: z}}}]\n", "b": ""}, rounds: []string{"c/b"},
			held: map[string]string{"c/a": "dependsOn matches no bundle b: no bundle that this target deploys to the cluster has labels that match x=z"},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			on := test.on
			if on == nil {
				on = []string{"c"}
			}
			all := steps(t, test.bundles, on, test.adjust)
			rounds, held := carryOut(rollout.NewOrder(all), all, test.ends)
			if diff := cmp.Diff(test.rounds, rounds, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("rounds (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(test.held, held, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("held (-want +got):\n%s", diff)
			}
		})
	}
}

func TestFaultsSayWhy(t *testing.T) {
	t.Parallel()
	circle := steps(t, map[string]string{"a": "dependsOn: [{name: b}]\n", "b": "dependsOn: [{name: a}]\n"}, []string{"c"}, nil)
	for _, err := range rollout.NewOrder(circle).Faults() {
		const want = "bundles depend on each other in a cycle: a, which depends on b, which depends on a"
		if err.Error() != want {
			t.Errorf("got %q, want %q", err, want)
		}
	}
	unmet := steps(t, map[string]string{"a": "dependsOn: [{selector: {matchLabels: {x: z}}}]\n"}, []string{"c"}, nil)
	wantUnmet := "dependsOn matches no bundle: no bundle that this target deploys to the cluster has labels that match x=z"
	if err := rollout.NewOrder(unmet).Faults()[0]; err == nil || err.Error() != wantUnmet {
		t.Errorf("got %v, want %q", err, wantUnmet)
	}
	odd := steps(t, map[string]string{"a": "rolloutStrategy: {maxUnavailable: 1}\n"}, []string{"c"}, nil)
	odd[0].Deployment.Bundle.Definition.RolloutStrategy.MaxUnavailable.Text = "some"
	if err := rollout.NewOrder(odd).Faults()[0]; err == nil || !strings.HasPrefix(err.Error(), "rolloutStrategy.maxUnavailable: ") {
		t.Errorf("got %v, want an error about maxUnavailable", err)
	}
}

func TestOutside(t *testing.T) {
	t.Parallel()
	all := steps(t, map[string]string{"a": "dependsOn: [{name: b}, {name: far}, {name: near, acceptedStates: [NotReady]}]\n", "b": ""}, []string{"c"}, nil)
	want := []rollout.ExternalDependency{{Bundle: "far", AcceptedStates: []string{"Ready"}}, {Bundle: "near", AcceptedStates: []string{"NotReady"}}}
	order := rollout.NewOrder(all)
	if diff := cmp.Diff(want, order.ExternalDependencies(0)); diff != "" {
		t.Errorf("outside (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[string][]string{"a": {"b"}}, order.Needs()); diff != "" {
		t.Errorf("needs (-want +got):\n%s", diff)
	}
}

func TestBeforeRemoval(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		bundles []string
		needs   map[string][]string
		want    map[string][]string
	}{
		"nothing known": {bundles: []string{"a", "b"}},
		"chain": {
			bundles: []string{"crds", "operator", "web"}, needs: map[string][]string{"operator": {"crds"}, "web": {"crds", "operator"}},
			want: map[string][]string{"crds": {"operator", "web"}, "operator": {"web"}},
		},
		"what stays holds nothing up": {bundles: []string{"crds"}, needs: map[string][]string{"web": {"crds"}}},
		"circle of two applies":       {bundles: []string{"a", "b"}, needs: map[string][]string{"a": {"b"}, "b": {"a"}}, want: map[string][]string{"b": {"a"}}},
		"itself":                      {bundles: []string{"a"}, needs: map[string][]string{"a": {"a"}}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(test.want, rollout.RemovalDependencies(test.bundles, test.needs), cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("BeforeRemoval (-want +got):\n%s", diff)
			}
		})
	}
}

func TestNearest(t *testing.T) {
	t.Parallel()
	known := []*bundle.Bundle{
		{Name: "fleet-apps-web", Path: "apps/web"}, {Name: "fleet-apps-cert-manager", Path: "apps/cert-manager"}, {Name: "root", Path: "."},
	}
	tests := map[string]string{
		"apps/web": "fleet-apps-web", "/apps/web/": "fleet-apps-web", "cert-manager": "fleet-apps-cert-manager",
		"flet-apps-web": "fleet-apps-web", "roots": "root", "something-else": "", ".": "", "": "", strings.Repeat("x", 300): "",
	}
	for name, want := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := rollout.Nearest(name, known); got != want {
				t.Errorf("Nearest(%q) = %q, want %q", name, got, want)
			}
		})
	}
}
