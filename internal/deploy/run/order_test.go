package run_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/deploy"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/deploy/plan"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/fleetyaml"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/release"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/rollout"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/status"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/target"
)

// after returns a deployment that depends on bundles.
func after(d target.Deployment, bundles ...string) target.Deployment {
	made := *d.Bundle
	for _, name := range bundles {
		made.Definition.DependsOn = append(made.Definition.DependsOn, fleetyaml.Dependency{Name: name})
	}
	d.Bundle = &made
	return d
}

// rolled returns a deployment whose bundle has a rollout strategy.
func rolled(d target.Deployment, strategy fleetyaml.RolloutStrategy, partitions ...int) target.Deployment {
	made := *d.Bundle
	made.Definition.RolloutStrategy = &strategy
	d.Bundle, d.Partitions = &made, partitions
	return d
}

func kept(d target.Deployment, state status.State) rollout.Step {
	return rollout.Step{Deployment: d, State: string(state)}
}

// because returns why deployments failed or were held.
func because(failures []deploy.Failure) map[string]string {
	reasons := map[string]string{}
	for _, failure := range failures {
		reasons[failure.Cluster+"/"+failure.Bundle] = failure.Err.Error()
	}
	return reasons
}

func TestDependantsAreWrittenAfterwards(t *testing.T) {
	t.Parallel()
	chain := func(cluster string) []target.Deployment {
		return []target.Deployment{
			after(deployment(cluster, "web", "v1-a"), "operator"), after(deployment(cluster, "operator", "v1-a"), "crds"),
			deployment(cluster, "crds", "v1-a"), deployment(cluster, "other", "v1-a"),
		}
	}
	broken := errors.New("quota exceeded")
	tests := map[string]struct {
		arrange func(*memoryCluster)
		did     []string
		reasons map[string]string
		states  map[string]status.State
	}{
		"all goes well": {
			did:    []string{"install ns/crds", "install ns/operator", "install ns/other", "install ns/web"},
			states: map[string]status.State{"crds": status.Ready, "operator": status.Ready, "other": status.Ready, "web": status.Ready},
		},
		"one fails": {
			arrange: func(m *memoryCluster) { m.broken["ns/operator"] = broken },
			did:     []string{"install ns/crds", "install ns/operator", "install ns/other"},
			reasons: map[string]string{"a/operator": "quota exceeded", "a/web": "it is held: it depends on bundle operator, which is ErrApplied"},
			states:  map[string]status.State{"crds": status.Ready, "operator": status.ErrApplied, "other": status.Ready},
		},
		"the cluster does not respond": {
			arrange: failAt(unreachable("a"), "look"),
			reasons: map[string]string{
				"a/crds": "cluster a does not respond: connection refused", "a/operator": "cluster a does not respond: connection refused",
				"a/other": "cluster a does not respond: connection refused", "a/web": "cluster a does not respond: connection refused",
			},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			clusters := newFleet("a", "b")
			if test.arrange != nil {
				test.arrange(clusters["a"])
			}
			asked := request(nil)
			asked.Write = slices.Concat(chain("a"), chain("b"))
			outcome := clusters.runner().Apply(t.Context(), asked)

			if diff := cmp.Diff(test.reasons, because(outcome.Failures), cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("failures (-want +got):\n%s", diff)
			}
			for name, cluster := range clusters {
				did := cluster.did()
				for _, pair := range [][2]string{{"install ns/crds", "install ns/operator"}, {"install ns/operator", "install ns/web"}} {
					if second := slices.Index(did, pair[1]); second >= 0 && slices.Index(did, pair[0]) > second {
						t.Errorf("%s: %s came before %s", name, pair[1], pair[0])
					}
				}
				if slices.Sort(did); name == "a" {
					if diff := cmp.Diff(test.did, did, cmpopts.EquateEmpty()); diff != "" {
						t.Errorf("operations (-want +got):\n%s", diff)
					}
				} else if len(did) != 4 {
					t.Errorf("the other cluster was held up: %v", did)
				}
			}
			states := map[string]status.State{}
			for key, record := range outcome.Records {
				if key.Cluster == "a" {
					states[key.Bundle] = record.State
				}
			}
			if diff := cmp.Diff(test.states, states, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("states (-want +got):\n%s", diff)
			}
		})
	}
}

// Without dependencies and rollouts, no additional requests are sent to the clusters.
func TestOrderSendsNoRequestWithoutOrder(t *testing.T) {
	t.Parallel()
	clusters := newFleet("a")
	asked := request(nil)
	asked.Settings.Wait = false
	asked.Write = []target.Deployment{deployment("a", "web", "v1-a")}
	asked.Unchanged = []rollout.Step{kept(deployment("a", "db", "v1-a"), status.NotReady)}
	clusters["a"].notReady["ns/web"] = errors.New("0 of 1 replicas")
	expectNoFailures(t, clusters.runner().Apply(t.Context(), asked).Failures)
	if diff := cmp.Diff([]string{capabilities, "install ns/web", "look"}, slices.Sorted(slices.Values(clusters["a"].calls))); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
}

// An apply that does not wait still waits for deployments that others depend on. One of them is
// written without waiting. The other one exists and is not ready yet.
func TestDependenciesGetReady(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		ready   time.Duration // after which the dependency is ready
		reasons map[string]string
		state   status.State // of the dependency when it is written
		took    time.Duration
	}{
		"in time":  {ready: 20 * time.Second, state: status.Ready, took: 25 * time.Second},
		"too late": {ready: 2 * time.Minute, state: status.NotReady, took: time.Minute, reasons: map[string]string{"a/web": "it is held: it depends on bundle db, which is NotReady"}},
	}
	for name, test := range tests {
		for _, there := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, there: %t", name, there), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					clusters := newFleet("a")
					db := deployment("a", "db", "v1-a")
					clusters["a"].notReady["ns/db"] = errors.New("0 of 1 replicas")
					began := time.Now()
					clusters["a"].before = func(_ context.Context, operation string) error {
						if operation == "inspect ns/db" && time.Since(began) >= test.ready {
							clusters["a"].mu.Lock()
							defer clusters["a"].mu.Unlock()
							delete(clusters["a"].notReady, "ns/db")
						}
						return nil
					}
					asked := request(nil)
					asked.Settings.Wait = false
					asked.Write = []target.Deployment{after(deployment("a", "web", "v1-a"), "db")}
					if there {
						clusters["a"].put(deployed(db))
						asked.Unchanged = []rollout.Step{kept(db, status.NotReady)}
					} else {
						asked.Write = append(asked.Write, db)
					}
					outcome := clusters.runner().Apply(t.Context(), asked)
					if diff := cmp.Diff(test.reasons, because(outcome.Failures), cmpopts.EquateEmpty()); diff != "" {
						t.Errorf("failures (-want +got):\n%s", diff)
					}
					if record, written := outcome.Records[key("a", "db")]; written == there || (written && record.State != test.state) {
						t.Errorf("the dependency is %+v, want %s", record, test.state)
					}
					if took := time.Since(began); took > test.took {
						t.Errorf("took %s, want at most %s", took, test.took)
					}
				})
			})
		}
	}
}

func TestDependenciesOfAnotherTarget(t *testing.T) {
	t.Parallel()
	of := func(change func(*release.Observed)) *release.Observed {
		observed := deployed(deployment("a", "db", "v1-a"))
		observed.Mark.Target, observed.Mark.Instance = "another", "j"
		change(&observed)
		return &observed
	}
	const missing = "it depends on bundle db: this target does not deploy it to the cluster, and no release of the same owner exists there"
	tests := map[string]struct {
		there    *release.Observed
		notReady bool
		accepts  []string
		leaves   bool
		want     string
	}{
		"ready":                   {there: of(func(*release.Observed) {})},
		"absent":                  {want: missing},
		"of another owner":        {there: of(func(o *release.Observed) { o.Mark.Owner = "somebody" }), want: missing},
		"a kept history":          {there: of(func(o *release.Observed) { o.Status = release.StatusUninstalled }), want: missing},
		"leaves with this apply":  {there: of(func(*release.Observed) {}), leaves: true, want: missing},
		"not ready":               {there: of(func(*release.Observed) {}), notReady: true, want: "it is held: it depends on bundle db of another target, which is NotReady"},
		"not ready, and accepted": {there: of(func(*release.Observed) {}), notReady: true, accepts: []string{"NotReady"}},
		"ready, and not accepted": {there: of(func(*release.Observed) {}), accepts: []string{"NotReady"}, want: "it is held: it depends on bundle db of another target, which is Ready"},
		"failed":                  {there: of(func(o *release.Observed) { o.Status = release.StatusFailed }), want: "it is held: it depends on bundle db of another target, which is ErrApplied"},
		"cut short":               {there: of(func(o *release.Observed) { o.Status = release.StatusPendingUpgrade }), want: "it is held: it depends on bundle db of another target, which is WaitApplied"},
		"changed by somebody":     {there: of(func(o *release.Observed) { o.Revision = 2 }), accepts: []string{"Modified"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				clusters := newFleet("a")
				if test.there != nil {
					clusters["a"].put(*test.there)
				}
				if test.notReady {
					clusters["a"].notReady["ns/db"] = errors.New("0 of 1 replicas")
				}
				web := after(deployment("a", "web", "v1-a"), "db")
				web.Bundle.Definition.DependsOn[0].AcceptedStates = test.accepts
				asked := request(map[deploy.Key]deploy.Record{key("a", "db"): recordOfWrite(deployment("a", "db", "v1-a"))})
				asked.Write = []target.Deployment{web}
				if test.leaves {
					asked.Remove = []deploy.Key{key("a", "db")}
				}
				outcome := clusters.runner().Apply(t.Context(), asked)
				if got := because(outcome.Failures)["a/web"]; got != test.want {
					t.Errorf("got %q, want %q", got, test.want)
				}
				if wrote := slices.Contains(clusters["a"].did(), "install ns/web"); wrote != (test.want == "") {
					t.Errorf("operations: %v", clusters["a"].did())
				}
			})
		})
	}
}

func TestRemovalInReverse(t *testing.T) {
	t.Parallel()
	bundles := []string{"crds", "operator", "other", "web"}
	needs := map[string][]string{"operator": {"crds"}, "web": {"operator", "crds"}}
	tests := map[string]struct {
		arrange func(*memoryCluster)
		did     []string // in order, "other" left out
		reasons map[string]string
		left    []string
	}{
		"all goes well": {did: []string{"uninstall ns/web", "uninstall ns/operator", "uninstall ns/crds"}},
		"one cannot be removed": {
			arrange: failAt(errors.New("finalizer"), "uninstall ns/operator"), did: []string{"uninstall ns/web", "uninstall ns/operator"},
			reasons: map[string]string{"a/operator": "finalizer", "a/crds": "it is held: bundle operator, which depends on it, could not be removed"},
			left:    []string{"crds", "operator"},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			clusters := newFleet("a")
			asked := request(map[deploy.Key]deploy.Record{})
			for _, bundle := range bundles {
				d := deployment("a", bundle, "v1-a")
				clusters["a"].put(deployed(d))
				asked.Prior[key("a", bundle)] = recordOfWrite(d)
				asked.Remove = append(asked.Remove, key("a", bundle))
			}
			asked.Needs = needs
			if test.arrange != nil {
				test.arrange(clusters["a"])
			}
			outcome := clusters.runner().Apply(t.Context(), asked)
			did := slices.DeleteFunc(clusters["a"].did(), func(call string) bool { return strings.HasSuffix(call, "other") })
			if diff := cmp.Diff(test.did, did); diff != "" {
				t.Errorf("operations (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(test.reasons, because(outcome.Failures), cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("failures (-want +got):\n%s", diff)
			}
			var left []string
			for key := range outcome.Records {
				left = append(left, key.Bundle)
			}
			if slices.Sort(left); !slices.Equal(left, test.left) {
				t.Errorf("left: %v, want %v", left, test.left)
			}
		})
	}
}

// A removal follows the dependencies of this plan as well: an imported record knows none.
func TestRemovalNeeds(t *testing.T) {
	t.Parallel()
	tests := map[string]struct{ before, want map[string][]string }{
		"an import":        {want: map[string][]string{"web": {"db"}}},
		"an apply before":  {before: map[string][]string{"web": {"cache"}, "old": {"db"}}, want: map[string][]string{"web": {"cache", "db"}, "old": {"db"}}},
		"the apply before": {before: map[string][]string{"web": {"db"}}, want: map[string][]string{"web": {"db"}}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			web, db := deployment("b", "web", "v1-a"), deployment("b", "db", "v1-a")
			web.Bundle.Definition.DependsOn = []fleetyaml.Dependency{{Name: "db"}}
			prior := map[deploy.Key]deploy.Record{key("a", "web"): recordOfWrite(deployment("a", "web", "v1-a")), key("a", "db"): recordOfWrite(deployment("a", "db", "v1-a"))}
			change := plan.Compare(plan.Desired{Deployments: []target.Deployment{web, db}, Needs: test.before}, prior, false)
			if diff := cmp.Diff(test.want, change.RemovalNeeds); diff != "" {
				t.Errorf("needs (-want +got):\n%s", diff)
			}
			if len(change.Remove) != 2 {
				t.Errorf("removed: %v", change.Remove)
			}
		})
	}
}

// A failed canary holds the rest of the rollout. The rest keeps its records, and the next apply
// continues. A cluster that does not respond has the same effect as a failed one.
func TestRolloutHoldsTheRestAndResumes(t *testing.T) {
	t.Parallel()
	names := []string{"a", "b", "c", "d"}
	one := &fleetyaml.Count{Number: 1}
	strategy := fleetyaml.RolloutStrategy{MaxUnavailable: one, Partitions: []fleetyaml.Partition{{Name: "canary"}, {Name: "rest"}}}
	tests := map[string]func(*memoryCluster){
		"fails":            func(m *memoryCluster) { m.broken["ns/web"] = errors.New("quota exceeded") },
		"does not respond": failAt(unreachable("c"), "look"),
	}
	for name, arrange := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			clusters := newFleet(names...)
			prior := map[deploy.Key]deploy.Record{}
			var wanted []target.Deployment
			for _, name := range names {
				old := deployment(name, "web", "v1-old")
				clusters[name].put(deployed(old))
				prior[key(name, "web")] = recordOfWrite(old)
				partition := 1
				if name == "c" {
					partition = 0
				}
				wanted = append(wanted, rolled(deployment(name, "web", "v1-new"), strategy, partition))
			}
			arrange(clusters["c"])
			asked := request(prior)
			asked.Write = wanted
			outcome := clusters.runner().Apply(t.Context(), asked)

			const held = "it is held: in the rollout of bundle web, cluster c is not ready, so maxUnavailable (1) allows no upgrade of a ready cluster"
			reasons := because(outcome.Failures)
			delete(reasons, "c/web")
			if diff := cmp.Diff(map[string]string{"a/web": held, "b/web": held, "d/web": held}, reasons); diff != "" {
				t.Errorf("held (-want +got):\n%s", diff)
			}
			for _, name := range []string{"a", "b", "d"} {
				if diff := cmp.Diff(prior[key(name, "web")], outcome.Records[key(name, "web")]); diff != "" {
					t.Errorf("record of what was held on %s (-want +got):\n%s", name, diff)
				}
				if did := clusters[name].did(); len(did) > 0 {
					t.Errorf("on %s this was done: %v", name, did)
				}
			}

			delete(clusters["c"].broken, "ns/web")
			clusters["c"].before = nil
			asked.Prior = outcome.Records
			outcome = clusters.runner().Apply(t.Context(), asked)
			expectNoFailures(t, outcome.Failures)
			for _, name := range names {
				want := recordOfWrite(deployment(name, "web", "v1-new"))
				want.Known.Revision = clusters[name].releases["ns/web"].Revision
				if diff := cmp.Diff(want, outcome.Records[key(name, "web")]); diff != "" {
					t.Errorf("record on %s (-want +got):\n%s", name, diff)
				}
			}
		})
	}
}

// Of ten clusters no more than two are in flight, and slots do not stay empty.
func TestRolloutBoundsWhatIsUnavailable(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		air := &flight{}
		clusters, prior := fleet{}, map[deploy.Key]deploy.Record{}
		asked := request(prior)
		for i := range 10 {
			name := fmt.Sprintf("c%d", i)
			clusters[name] = newMemoryCluster(name)
			clusters[name].before = func(ctx context.Context, operation string) error {
				if strings.HasPrefix(operation, "upgrade") {
					return air.take(ctx, operation)
				}
				return nil
			}
			old := deployment(name, "web", "v1-old")
			clusters[name].put(deployed(old))
			prior[key(name, "web")] = recordOfWrite(old)
			asked.Write = append(asked.Write, rolled(deployment(name, "web", "v1-new"), fleetyaml.RolloutStrategy{MaxUnavailable: &fleetyaml.Count{Text: "20%"}}))
		}
		began := time.Now()
		expectNoFailures(t, clusters.runner().Apply(t.Context(), asked).Failures)
		if air.most != 2 {
			t.Errorf("%d were unavailable at once, want 2", air.most)
		}
		if took := time.Since(began); took != 5*time.Second {
			t.Errorf("10 upgrades of a second, two at a time, took %s", took)
		}
	})
}

// A rollout waits for deployments that were written without waiting, as long as other deployments
// are left.
func TestRolloutWaitsForReadiness(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		clusters := newFleet("a", "b")
		asked := request(nil)
		asked.Settings.Wait = false
		strategy := fleetyaml.RolloutStrategy{Partitions: []fleetyaml.Partition{{MaxUnavailable: &fleetyaml.Count{}}, {}}}
		for i, name := range []string{"a", "b"} {
			asked.Write = append(asked.Write, rolled(deployment(name, "web", "v1-a"), strategy, i))
			clusters[name].notReady["ns/web"] = errors.New("0 of 1 replicas")
		}
		outcome := clusters.runner().Apply(t.Context(), asked)
		want := map[string]string{
			"b/web": "it is held: in partition 1 of the rollout of bundle web, cluster a is not ready or not up to date, and at most 0 may be",
		}
		if diff := cmp.Diff(want, because(outcome.Failures)); diff != "" {
			t.Errorf("held (-want +got):\n%s", diff)
		}
		if got := outcome.Records[key("a", "web")]; got.State != status.NotReady || !strings.HasSuffix(got.Message, "0 of 1 replicas") {
			t.Errorf("the first cluster is %s: %s", got.State, got.Message)
		}
	})
}

func TestCancelHoldsNothing(t *testing.T) {
	t.Parallel()
	clusters := newFleet("a")
	ctx, cancel := context.WithCancel(t.Context())
	clusters["a"].before = func(_ context.Context, operation string) error {
		if operation == "install ns/db" {
			cancel()
		}
		return nil
	}
	asked := request(nil)
	asked.Write = []target.Deployment{after(deployment("a", "web", "v1-a"), "db"), deployment("a", "db", "v1-a")}
	outcome := clusters.runner().Apply(ctx, asked)
	if got := because(outcome.Failures); len(got) != 1 || !errors.Is(outcome.Failures[0].Err, context.Canceled) {
		t.Errorf("failures = %v, want web not started", got)
	}
	if got := outcome.Records[key("a", "db")].State; got != status.Ready {
		t.Errorf("what was begun is %s", got)
	}
}

// A deployment that must not be written fails before any part of it is written. Deployments that
// depend on it are held.
func TestBlockedDeploymentsAreNotWritten(t *testing.T) {
	t.Parallel()
	clusters := newFleet("a", "b")
	prior := map[deploy.Key]deploy.Record{}
	asked := request(prior)
	for _, name := range []string{"a", "b"} {
		before := deployment(name, "web", "v1-old")
		clusters[name].put(deployed(before))
		prior[key(name, "web")] = recordOfWrite(before)
		asked.Write = append(asked.Write, deployment(name, "web", "v1-new"), after(deployment(name, "site", "v1-new"), "web"))
	}
	asked.Blocked = map[deploy.Key]error{key("a", "web"): errors.New("the agent has it")}

	outcome := clusters.runner().Apply(t.Context(), asked)

	want := map[string]string{"a/web": "the agent has it", "a/site": "it is held: it depends on bundle web, which is ErrApplied"}
	if diff := cmp.Diff(want, because(outcome.Failures)); diff != "" {
		t.Errorf("failures (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string(nil), clusters["a"].did(), cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("what was done on cluster a (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(prior[key("a", "web")], outcome.Records[key("a", "web")]); diff != "" {
		t.Errorf("record of what is blocked (-want +got):\n%s", diff)
	}
	if got := outcome.Records[key("b", "site")].State; got != status.Ready {
		t.Errorf("cluster b: site is %q, want %q", got, status.Ready)
	}
}
