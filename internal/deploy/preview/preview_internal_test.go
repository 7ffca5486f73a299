package preview

import (
	"errors"
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

// A cluster is read for objects that its deployment did not have. If the state does not show
// objects (plan_objects = false), a change alone does not cause a request.
func TestNewObjects(t *testing.T) {
	t.Parallel()
	d := target.Deployment{Cluster: "a", Bundle: &bundle.Bundle{Name: "web"}, Release: "web", Namespace: "ns", Digest: "v1-b"}
	rendering := release.Rendering{Objects: []diff.Object{{Kind: "ConfigMap", Namespace: "ns", Name: "one"}, {Kind: "ConfigMap", Namespace: "ns", Name: "two"}}}
	record := func(objects map[string]string) deploy.Record {
		return deploy.Record{Release: "web", Namespace: "ns", Digest: "v1-a", Objects: objects}
	}
	tests := map[string]struct {
		prior deploy.Record
		want  []string
	}{
		"a new release":            {want: []string{"one", "two"}},
		"an object more":           {prior: record(map[string]string{rendering.Objects[0].Key(): "x"}), want: []string{"two"}},
		"the first objects":        {prior: record(map[string]string{}), want: []string{"one", "two"}},
		"objects that nobody sees": {prior: record(nil)},
		"a release that moves":     {prior: deploy.Record{Release: "former", Namespace: "ns", Digest: "v1-a"}, want: []string{"one", "two"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got []string
			for _, object := range newObjects(d, test.prior, rendering) {
				got = append(got, object.Name)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("new objects (-want +got):\n%s", diff)
			}
		})
	}
}

// A plan says on which clusters it knows no releases. The refresh has reported clusters of the state.
func TestOwnershipIsDenied(t *testing.T) {
	t.Parallel()
	denied := func(cluster string) error {
		return &status.DeniedError{Cluster: cluster, Err: errors.New("forbidden")}
	}
	tests := map[string]struct {
		prior map[deploy.Key]deploy.Record
		fails func(cluster string) error
		want  []deploy.Failure
	}{
		"clusters that no refresh has read": {fails: denied, want: []deploy.Failure{
			{Cluster: "a", Doing: "listing the releases", Err: denied("a")}, {Cluster: "b", Doing: "listing the releases", Err: denied("b")},
		}},
		"a cluster of the state": {fails: denied, prior: map[deploy.Key]deploy.Record{{Cluster: "a", Bundle: "db"}: {}}, want: []deploy.Failure{
			{Cluster: "b", Doing: "listing the releases", Err: denied("b")},
		}},
		"clusters that do not respond": {fails: func(cluster string) error {
			return &status.UnreachableError{Cluster: cluster, Err: errors.New("no route")}
		}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := &Preview{
				Connect:     func(cluster string) (Cluster, error) { return nil, test.fails(cluster) },
				Connectable: func(string) bool { return true }, Snapshots: &SnapshotCache{}, Parallelism: 2,
			}
			planned := &plan.Plan{Change: plan.Change{Prior: test.prior}, Renderings: map[deploy.Key]release.Rendering{}}
			for _, cluster := range []string{"b", "a"} {
				d := target.Deployment{Cluster: cluster, Bundle: &bundle.Bundle{Name: "web"}, Release: "web", Namespace: "ns"}
				planned.Write = append(planned.Write, d)
				planned.Renderings[deploy.KeyOf(d)] = release.Rendering{Objects: []diff.Object{{Kind: "ConfigMap", Namespace: "ns", Name: "one"}}}
			}
			got := p.Ownership(t.Context(), deploy.TargetIdentity{}, deploy.Consent{}, planned)
			text := cmp.Transformer("text", func(err error) string { return err.Error() })
			if diff := cmp.Diff(test.want, got.Denied, text); diff != "" {
				t.Errorf("denied (-want +got):\n%s", diff)
			}
		})
	}
}

// A plan distinguishes its own releases from those of another target with the same owner and name.
// The id of that target was in no state of this process.
func TestOwnershipOfAReplacement(t *testing.T) {
	t.Parallel()
	const owner, name = "o", "all"
	const former = "key of the former target"
	marked := func(owner, name, instance string, keys ...string) release.Observed {
		mark := release.NewMark(owner, name, instance, "web", "v1-a")
		mark.Revision = 1
		observed := release.Observed{Release: "web", Namespace: "ns", Revision: 1, Status: release.StatusDeployed, Mark: mark}
		for _, key := range keys {
			observed.MAC = release.Proof{Key: key, UID: "uid"}.OfLabels(observed)
		}
		return observed
	}
	tests := map[string]struct {
		instance string // of the plan, "" while the target is created
		observed release.Observed
		want     release.Ownership
	}{
		"of the target that is replaced":             {observed: marked(owner, name, "former", former), want: release.Self},
		"of another target that the process has had": {observed: marked(owner, "other", "former", former), want: release.OtherTarget},
		"newer, forged": {observed: func() release.Observed {
			observed := marked(owner, name, "former")
			observed.Revision, observed.Mark.Revision = 2, 2
			return observed
		}(), want: release.SameName},
		"of another owner":                             {observed: marked("else", name, "former"), want: release.OtherOwner},
		"of a target that no state has had":            {observed: marked(owner, name, "stranger"), want: release.SameName},
		"of a target that no state has had, no create": {instance: "own", observed: marked(owner, name, "former"), want: release.SameName},
		"its own":                          {instance: "own", observed: marked(owner, name, "own", "key"), want: release.Self},
		"with an id that stands for no id": {observed: marked(owner, name, "sha256-e3b0c44298fc1c149afbf4c8996fb924"), want: release.SameName},
		"of plain Helm":                    {observed: release.Observed{Revision: 1}, want: release.Unmarked},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var registry plan.Registry
			registry.RecordInstance("former", "all", map[deploy.Key]deploy.Record{{Cluster: "c", Bundle: "web"}: {
				Release: "web", Namespace: "ns", Known: release.Known{UID: "uid", Instance: "former", Key: former, Revision: 1},
			}})
			p := &Preview{Former: registry.Former}
			identity := deploy.TargetIdentity{Owner: owner, Target: "all", Instance: test.instance, Key: "key"}
			own := p.claimant(identity, deploy.Key{Cluster: "c", Bundle: "web"}, "v1-a", "uid", deploy.Record{}, &test.observed)
			if got := own.Ownership(test.observed); got != test.want {
				t.Errorf("ownership = %d, want %d", got, test.want)
			}
		})
	}
}
