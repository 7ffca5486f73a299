package rollout_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/rollout"
)

func TestRollout(t *testing.T) {
	t.Parallel()
	const canary = "  partitions:\n  - {name: canary, clusterName: a}\n  - {name: rest, clusterSelector: {}}\n"
	// Manual partitions, one cluster after the other.
	single := "  partitions:\n  - {clusterName: a}\n  - {clusterName: b}\n  - {clusterName: c}\n"
	failing := func(keys ...string) map[string]string {
		ends := map[string]string{}
		for _, key := range keys {
			ends[key] = "ErrApplied"
		}
		return ends
	}
	all := map[string]func(*rollout.Step){"*": at("Ready")}
	tests := map[string]struct {
		strategy string
		adjust   map[string]func(*rollout.Step)
		ends     map[string]string
		rounds   []string
		held     map[string]string
	}{
		"defaults": {strategy: "  {}\n", rounds: []string{"a/w b/w c/w d/w"}},
		"one at a time": {
			strategy: "  maxUnavailable: 1\n", adjust: all, rounds: []string{"a/w", "b/w", "c/w", "d/w"},
		},
		"half at a time": {
			strategy: "  maxUnavailable: 50%\n", adjust: all, rounds: []string{"a/w b/w", "c/w d/w"},
		},
		"installs are not limited": {strategy: "  maxUnavailable: 1\n", rounds: []string{"a/w b/w c/w d/w"}},
		"installs are limited by maxNew": {
			strategy: "  maxNew: 3\n", rounds: []string{"a/w b/w c/w", "d/w"},
		},
		"no installs": {
			strategy: "  maxNew: 0\n", adjust: map[string]func(*rollout.Step){"b": at("Ready")}, rounds: []string{"b/w"},
			held: map[string]string{
				"a/w": "the rollout strategy of bundle w has a maxNew of 0", "c/w": "the rollout strategy of bundle w has a maxNew of 0",
				"d/w": "the rollout strategy of bundle w has a maxNew of 0",
			},
		},
		"frozen, but what is broken is repaired": {
			strategy: "  maxUnavailable: 0\n", adjust: map[string]func(*rollout.Step){"a": at("Ready"), "b": at("ErrApplied"), "c": kept("Ready"), "d": at("Modified")},
			rounds: []string{"b/w d/w"},
			held:   map[string]string{"a/w": "the rollout strategy of bundle w has a maxUnavailable of 0, so ready deployments are not upgraded"},
		},
		"beyond the budget the rest is held": {
			strategy: "  maxUnavailable: 1\n", adjust: all, ends: failing("b/w"), rounds: []string{"a/w", "b/w"},
			held: map[string]string{
				"c/w": "in the rollout of bundle w, cluster b is not ready, so maxUnavailable (1) allows no upgrade of a ready cluster",
				"d/w": "in the rollout of bundle w, cluster b is not ready, so maxUnavailable (1) allows no upgrade of a ready cluster",
			},
		},
		"the next apply resumes": {
			strategy: "  maxUnavailable: 1\n", adjust: map[string]func(*rollout.Step){"a": kept("Ready"), "b": at("ErrApplied"), "c": at("Ready"), "d": at("Ready")},
			rounds: []string{"b/w", "c/w", "d/w"},
		},
		"what is not ready uses up the budget": {
			strategy: "  maxUnavailable: 1\n", adjust: map[string]func(*rollout.Step){"a": kept("NotReady"), "b": at("Ready"), "c": at("Ready"), "d": at("Ready")},
			held: map[string]string{
				"b/w": "in the rollout of bundle w, cluster a is not ready, so maxUnavailable (1) allows no upgrade of a ready cluster",
				"c/w": "in the rollout of bundle w, cluster a is not ready, so maxUnavailable (1) allows no upgrade of a ready cluster",
				"d/w": "in the rollout of bundle w, cluster a is not ready, so maxUnavailable (1) allows no upgrade of a ready cluster",
			},
		},
		"what stays modified serves all the same": {
			strategy: "  maxUnavailable: 1\n", adjust: map[string]func(*rollout.Step){"a": kept("Modified"), "b": at("Ready"), "c": at("Modified"), "d": at("Ready")},
			rounds: []string{"c/w", "b/w", "d/w"},
		},
		"canary first": {strategy: canary, adjust: all, rounds: []string{"a/w", "b/w c/w d/w"}},
		"canary first, installing": {
			strategy: canary, rounds: []string{"a/w", "b/w c/w d/w"},
		},
		"the canary fails": {
			strategy: "  maxUnavailable: 1\n" + canary, adjust: all, ends: failing("a/w"), rounds: []string{"a/w"},
			held: map[string]string{
				"b/w": "in the rollout of bundle w, cluster a is not ready, so maxUnavailable (1) allows no upgrade of a ready cluster",
				"c/w": "in the rollout of bundle w, cluster a is not ready, so maxUnavailable (1) allows no upgrade of a ready cluster",
				"d/w": "in the rollout of bundle w, cluster a is not ready, so maxUnavailable (1) allows no upgrade of a ready cluster",
			},
		},
		"the canary fails and all of it may": { // As in Fleet, 100 % is the default.
			strategy: canary, adjust: all, ends: failing("a/w"), rounds: []string{"a/w", "b/w c/w d/w"},
		},
		"the canary cannot be installed": {
			strategy: strings.Replace(canary, "clusterName: a", "clusterName: a, maxUnavailable: 0", 1), ends: failing("a/w"), rounds: []string{"a/w"},
			held: map[string]string{
				"b/w": "in partition canary of the rollout of bundle w, cluster a is not ready or not up to date, and at most 0 may be",
				"c/w": "in partition canary of the rollout of bundle w, cluster a is not ready or not up to date, and at most 0 may be",
				"d/w": "in partition canary of the rollout of bundle w, cluster a is not ready or not up to date, and at most 0 may be",
			},
		},
		"a partition may be bad": {
			strategy: "  maxUnavailablePartitions: 1\n" + strings.Replace(canary, "clusterName: a", "clusterName: a, maxUnavailable: 0", 1),
			ends:     failing("a/w"), rounds: []string{"a/w", "b/w c/w d/w"},
		},
		"the second bad partition is one too many": {
			strategy: "  maxUnavailable: 0\n  maxUnavailablePartitions: 1\n" + single, ends: failing("a/w", "b/w"), rounds: []string{"a/w", "b/w"},
			held: map[string]string{
				"c/w": "in partition 2 of the rollout of bundle w, cluster b is not ready or not up to date, and at most 0 may be",
				"d/w": "the cluster is in no partition of the bundle's rollout strategy",
			},
		},
		"in no partition": {
			strategy: single, rounds: []string{"a/w", "b/w", "c/w"}, held: map[string]string{"d/w": "the cluster is in no partition of the bundle's rollout strategy"},
		},
		"in no partition and as wanted": {
			strategy: single, adjust: map[string]func(*rollout.Step){"*": kept("Ready")},
		},
		"in several partitions": {
			strategy: "  partitions:\n  - {clusterName: b}\n  - {clusterSelector: {}}\n  - {clusterName: b}\n", rounds: []string{"b/w", "a/w c/w d/w"},
		},
		"partitions without clusters": {
			strategy: "  partitions:\n  - {clusterName: z}\n  - {clusterSelector: {}}\n", rounds: []string{"a/w b/w c/w d/w"},
		},
		"paused clusters make their partition bad": {
			strategy: strings.Replace(canary, "clusterName: a", "clusterName: a, maxUnavailable: 0", 1), adjust: map[string]func(*rollout.Step){"a": pausedStep},
			held: map[string]string{
				"a/w": "the bundle or the cluster is paused",
				"b/w": "in partition canary of the rollout of bundle w, cluster a is not ready or not up to date, and at most 0 may be",
				"c/w": "in partition canary of the rollout of bundle w, cluster a is not ready or not up to date, and at most 0 may be",
				"d/w": "in partition canary of the rollout of bundle w, cluster a is not ready or not up to date, and at most 0 may be",
			},
		},
		"a later repair frees an earlier partition": {
			strategy: "  maxUnavailable: 1\n" + single, adjust: map[string]func(*rollout.Step){"a": at("Ready"), "b": at("ErrApplied"), "c": at("Ready"), "d": kept("Ready")},
			rounds: []string{"b/w", "a/w", "c/w"},
		},
		"automatic partitions from the threshold on": {
			strategy: "  autoPartitionThreshold: 4\n  autoPartitionSize: 50%\n", rounds: []string{"a/w b/w", "c/w d/w"},
		},
		"automatic partitions of nothing are one": {
			strategy: "  autoPartitionThreshold: 1\n  autoPartitionSize: 0\n", rounds: []string{"a/w b/w c/w d/w"},
		},
		"no threshold": {
			strategy: "  autoPartitionThreshold: 0\n  autoPartitionSize: 1\n", rounds: []string{"a/w b/w c/w d/w"},
		},
		"below the threshold": {
			strategy: "  autoPartitionThreshold: 5\n  autoPartitionSize: 1\n", rounds: []string{"a/w b/w c/w d/w"},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			strategy := strings.Replace("rolloutStrategy:\n"+test.strategy, "\n  {}", " {}", 1)
			made := steps(t, map[string]string{"w": strategy}, []string{"d", "b", "a", "c"}, test.adjust)
			order := rollout.NewOrder(made)
			rounds, held := carryOut(order, made, test.ends)
			if len(order.Faults()) > 0 {
				t.Fatal(order.Faults())
			}
			if diff := cmp.Diff(test.rounds, rounds, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("rounds (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(test.held, held, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("held (-want +got):\n%s", diff)
			}
		})
	}
}

func TestAutomaticPartitions(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		clusters int
		strategy string
		want     []int
	}{
		"below the default threshold": {clusters: 199, strategy: "{maxNew: 999}", want: []int{199}},
		"a quarter and the rest":      {clusters: 230, strategy: "{maxNew: 999}", want: []int{57, 57, 57, 57, 2}},
		"at most 50 new ones at once": {clusters: 230, strategy: "{}", want: []int{50, 7, 50, 7, 50, 7, 50, 7, 2}},
		"by number":                   {clusters: 10, strategy: "{autoPartitionThreshold: 10, autoPartitionSize: 4}", want: []int{4, 4, 2}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			names := make([]string, test.clusters)
			for i := range names {
				names[i] = fmt.Sprintf("c%03d", i)
			}
			made := steps(t, map[string]string{"w": "rolloutStrategy: " + test.strategy + "\n"}, names, nil)
			rounds, held := carryOut(rollout.NewOrder(made), made, nil)
			var got []int
			for _, round := range rounds {
				got = append(got, len(strings.Fields(round)))
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("clusters in each round (-want +got):\n%s", diff)
			}
			if len(held) > 0 {
				t.Errorf("held: %v", held)
			}
		})
	}
}

// A bundle with partitions waits on each cluster for its dependencies there. Rollouts that require
// opposite orders of clusters are found during planning.
func TestRolloutAndDependencies(t *testing.T) {
	t.Parallel()
	const abc = "rolloutStrategy: {partitions: [{clusterName: a}, {clusterSelector: {}}]}\n"
	made := steps(t, map[string]string{"crds": "", "web": "dependsOn: [{name: crds}]\n" + abc}, []string{"a", "b"}, nil)
	forecast := rollout.Simulate(rollout.NewOrder(made))
	want := "1. crds on a, b\n2. web on a (partition 1)\n3. web on b (partition 2)"
	if diff := cmp.Diff(want, forecast.Text); diff != "" || len(forecast.Held) > 0 {
		t.Errorf("stages (-want +got):\n%s, held %v", diff, forecast.Held)
	}
	// On a, p waits for q; on b, q waits for r; on c, r waits for p. No cluster has a cycle, but
	// each rollout begins on the cluster where its bundle waits.
	first := func(cluster string) string {
		return "rolloutStrategy: {partitions: [{clusterName: " + cluster + "}, {clusterSelector: {}}]}\n"
	}
	all := steps(t, map[string]string{
		"p": "dependsOn: [{name: q}]\n" + first("a"), "q": "dependsOn: [{name: r}]\n" + first("b"), "r": "dependsOn: [{name: p}]\n" + first("c"),
	}, []string{"a", "b", "c"}, nil)
	var circle []rollout.Step
	for _, step := range all {
		if absent := map[string]string{"a": "r", "b": "p", "c": "q"}; absent[step.Deployment.Cluster] != step.Deployment.Bundle.Name {
			circle = append(circle, step)
		}
	}
	order := rollout.NewOrder(circle)
	rollout.Simulate(order)
	if len(order.Faults()) != len(circle) {
		t.Errorf("faults = %v, want one for each step", order.Faults())
	}
}

func TestForesee(t *testing.T) {
	t.Parallel()
	bundles := map[string]string{"crds": "", "web": "dependsOn: [{name: crds}]\n", "late": "paused: true\n"}
	made := steps(t, bundles, []string{"c1", "c2", "c3", "c4", "c5", "c6", "c7"}, map[string]func(*rollout.Step){"c1": kept("Ready")})
	forecast := rollout.Simulate(rollout.NewOrder(made))
	want := "1. crds on 6 clusters, c2 to c7\n2. web on 6 clusters, c2 to c7\nHeld: late on 6 clusters, c2 to c7"
	if diff := cmp.Diff(want, forecast.Text); diff != "" {
		t.Errorf("stages (-want +got):\n%s", diff)
	}
	if len(forecast.Held) != 6 {
		t.Errorf("%d are held, want 6", len(forecast.Held))
	}
}

func TestForeseeReportsOnlySomeOfManyStages(t *testing.T) {
	t.Parallel()
	names := make([]string, 40)
	for i := range names {
		names[i] = fmt.Sprintf("c%02d", i)
	}
	made := steps(t, map[string]string{"w": "rolloutStrategy: {maxUnavailable: 1}\n"}, names, map[string]func(*rollout.Step){"*": at("Ready")})
	lines := strings.Split(rollout.Simulate(rollout.NewOrder(made)).Text, "\n")
	want := []string{"28. w on c27", "29 to 39: the same, one after the other", "40. w on c39"}
	if diff := cmp.Diff(want, lines[27:]); diff != "" {
		t.Errorf("last lines (-want +got):\n%s", diff)
	}
}
