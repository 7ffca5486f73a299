package plan_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/deploy"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/deploy/plan"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/target"
)

// config is the configuration of a target.
type config string

func (c config) Equal(other plan.Config) bool { return c == other }

func wants(name, instance, of string, wanted ...target.Deployment) plan.Claim {
	return plan.Claim{Target: name, Instance: instance, Config: config(of), Wanted: wanted}
}

func TestClaims(t *testing.T) {
	t.Parallel()
	web, db, elsewhere := deployment("a", "web", "d"), deployment("a", "db", "d"), deployment("b", "web", "d")
	tests := map[string]struct {
		before    []plan.Claim
		then      plan.Claim
		conflicts []plan.Conflict
		sameName  bool
	}{
		"the first":                  {then: wants("left", "", "1", web)},
		"another release":            {before: []plan.Claim{wants("left", "", "1", web)}, then: wants("right", "", "2", db)},
		"another cluster":            {before: []plan.Claim{wants("left", "", "1", web)}, then: wants("right", "", "2", elsewhere)},
		"the same release":           {before: []plan.Claim{wants("left", "x", "1", web)}, then: wants("right", "", "2", web, db), conflicts: []plan.Conflict{{Release: "ns/web", Target: "left", Theirs: "a/web", Ours: "a/web"}}},
		"the second leg of replace":  {before: []plan.Claim{wants("left", "x", "1", web)}, then: wants("left", "", "1", web)},
		"planned again":              {before: []plan.Claim{wants("left", "x", "1", web)}, then: wants("left", "x", "1", web)},
		"lost by the other":          {before: []plan.Claim{wants("left", "x", "1", web), wants("left", "x", "1", db)}, then: wants("right", "", "2", web)},
		"two of one name, by id":     {before: []plan.Claim{wants("left", "x", "1", web)}, then: wants("left", "y", "1", db), sameName: true},
		"two creates of one config":  {before: []plan.Claim{wants("left", "", "1", web)}, then: wants("left", "", "1", web), sameName: true},
		"two of one name, by config": {before: []plan.Claim{wants("left", "", "1", web)}, then: wants("left", "", "2", db), sameName: true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var known plan.Registry
			for _, before := range test.before {
				known.Claim(before)
			}
			conflicts, sameName := known.Claim(test.then)
			if diff := cmp.Diff(test.conflicts, conflicts); diff != "" {
				t.Errorf("conflicts (-want +got):\n%s", diff)
			}
			if sameName != test.sameName {
				t.Errorf("same name = %t", sameName)
			}
		})
	}
}

// Two entries of one cluster share one set of releases, if their identities are known.
func TestRegistryKnowsClusters(t *testing.T) {
	t.Parallel()
	var known plan.Registry
	known.Claim(wants("left", "x", "1", deployment("a", "web", "d")))
	if conflicts, _ := known.Claim(wants("right", "y", "2", deployment("b", "web", "d"))); len(conflicts) != 0 {
		t.Errorf("conflicts on clusters that nobody has seen: %v", conflicts)
	}
	known.Identify(map[string]string{"a": "uid", "b": "uid", "c": ""})
	conflicts, _ := known.Claim(wants("right", "y", "2", deployment("b", "web", "d"), deployment("c", "web", "d")))
	if diff := cmp.Diff([]plan.Conflict{{Release: "ns/web", Target: "left", Theirs: "a/web", Ours: "b/web"}}, conflicts); diff != "" {
		t.Errorf("conflicts (-want +got):\n%s", diff)
	}
}

// A release that a target no longer wants is no conflict. A removed target does not drop the claim
// of another target of its name.
func TestRegistryDrops(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		instance string
		want     int
	}{"the target": {instance: "x"}, "not known which": {}, "another of its name": {instance: "y", want: 1}}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var known plan.Registry
			known.Claim(wants("left", "x", "1", deployment("a", "web", "d")))
			known.Drop("left", test.instance)
			conflicts, _ := known.Claim(wants("right", "z", "2", deployment("a", "web", "d")))
			if len(conflicts) != test.want {
				t.Errorf("%d conflicts, want %d", len(conflicts), test.want)
			}
		})
	}
}

// A create finds what a state has under its name, unless that target is destroyed at its own
// address.
func TestRegistryKnowsWhatIsReplaced(t *testing.T) {
	t.Parallel()
	records := map[deploy.Key]deploy.Record{key("a", "web"): {Release: "web", Namespace: "ns"}}
	tests := map[string]struct {
		do   func(known *plan.Registry)
		want map[deploy.Key]deploy.Record
	}{
		"no state":          {do: func(*plan.Registry) {}},
		"a state":           {do: func(known *plan.Registry) { known.RecordInstance("x", "all", records) }, want: records},
		"of another name":   {do: func(known *plan.Registry) { known.RecordInstance("x", "other", records) }},
		"that is destroyed": {do: func(known *plan.Registry) { known.RecordInstance("x", "all", records); known.Drop("all", "x") }},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var known plan.Registry
			test.do(&known)
			if diff := cmp.Diff(test.want, known.Replaced("all")); diff != "" {
				t.Errorf("records of the replaced target (-want +got):\n%s", diff)
			}
		})
	}
}

// A create takes, once, what the delete of the target of the same name left.
func TestRegistryHandsOver(t *testing.T) {
	t.Parallel()
	var known plan.Registry
	known.LeavePredecessor("all", plan.Predecessor{Instance: "x"})
	for i, want := range []string{"x", ""} {
		if got := known.TakePredecessor("all").Instance; got != want {
			t.Errorf("take %d: %q, want %q", i+1, got, want)
		}
	}
	if got := known.TakePredecessor("other").Instance; got != "" {
		t.Errorf("another target takes %q", got)
	}
}

func TestRegistryKnowsWhoDeploys(t *testing.T) {
	t.Parallel()
	var planned plan.Registry
	key := deploy.Key{Cluster: "a", Bundle: "db"}
	expect := func(want bool, why string) {
		t.Helper()
		if got := planned.MayDeploy("web", key); got != want {
			t.Errorf("%s: MayDeploy = %t, want %t", why, got, want)
		}
	}
	expect(false, "nothing was planned")
	planned.Deploys("web", map[deploy.Key]bool{key: true}, nil)
	expect(false, "the target itself")
	planned.Deploys("base", map[deploy.Key]bool{{Cluster: "b", Bundle: "db"}: true}, nil)
	expect(false, "on another cluster")
	planned.Deploys("base", map[deploy.Key]bool{key: true}, nil)
	expect(true, "another target")
	planned.Deploys("base", map[deploy.Key]bool{}, nil)
	expect(false, "not any more")
	planned.Deploys("base", nil, nil)
	expect(true, "not known yet")
}

func TestRegistryMayGainKinds(t *testing.T) {
	t.Parallel()
	var planned plan.Registry
	expect := func(name, cluster string, want bool) {
		t.Helper()
		if got := planned.MayGainKinds(name, cluster); got != want {
			t.Errorf("beside target %s, cluster %s may gain kinds: %t, want %t", name, cluster, got, want)
		}
	}
	expect("web", "a", false)
	planned.Deploys("base", map[deploy.Key]bool{}, map[string]bool{"a": true, "b": false})
	expect("web", "a", true)
	expect("web", "b", false)
	expect("base", "a", false)
	planned.Deploys("base", nil, nil) // Not known yet.
	expect("web", "b", true)
}
