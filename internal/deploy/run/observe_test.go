package run_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/deploy"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/release"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/status"
)

func TestObserveReleases(t *testing.T) {
	t.Parallel()
	const digest = "v1-a"
	web := deployment("c1", "web", digest)
	as := func(state status.State, message string) deploy.Record {
		record := recordOfWrite(web)
		record.State, record.Message = state, message
		if state == status.NotReady {
			record.Counts = status.Counts{Ready: 1, NotReady: 1}
		}
		return record
	}
	undigested := func(message string) *deploy.Record {
		record := as(status.Modified, message)
		record.Digest, record.Counts = "", status.Counts{Unknown: 2}
		return &record
	}
	denied := &status.DeniedError{Cluster: "c1", Err: errors.New("forbidden")}
	tests := map[string]struct {
		prior   deploy.Record
		change  func(*release.Observed)
		gone    bool
		arrange func(*memoryCluster)
		want    *deploy.Record // nil when the release does not exist
		fails   []string
		did     []string
	}{
		"as it was":              {prior: as(status.Ready, ""), want: new(as(status.Ready, ""))},
		"gone":                   {prior: as(status.Ready, ""), gone: true},
		"gone after a failure":   {prior: as(status.ErrApplied, "quota exceeded"), gone: true},
		"only a history is left": {prior: as(status.Ready, ""), change: with(release.StatusUninstalled)},
		"failed stays failed":    {prior: as(status.ErrApplied, "quota exceeded"), want: new(as(status.ErrApplied, "quota exceeded"))},
		"failed, and was cut short": {
			prior: as(status.ErrApplied, "quota exceeded"), change: with(release.StatusPendingUpgrade), want: new(as(status.ErrApplied, "quota exceeded")),
		},
		"failed on the cluster": {prior: as(status.Ready, ""), change: with(release.StatusFailed), want: new(as(status.ErrApplied, "the last operation failed"))},
		"an operation was cut short": {
			prior: as(status.Ready, ""), change: with(release.StatusPendingUpgrade),
			want: new(as(status.WaitApplied, "the last operation was interrupted: pending-upgrade")),
		},
		"upgraded by plain Helm": {
			prior: as(status.Ready, ""), change: func(o *release.Observed) { o.Revision++ },
			want: undigested("the newest revision was created by another tool"),
		},
		"taken by another instance": {
			prior: as(status.Ready, ""), change: func(o *release.Observed) { *o = signed(by(*o, "successor"), proofOn("c1")) },
			want: undigested("the release has another owner"),
		},
		"written by this instance with another digest": {
			prior: as(status.Ready, ""), change: func(o *release.Observed) { o.Mark.Digest = "v1-b"; *o = signed(*o, proofOn("c1")) },
			want: func() *deploy.Record { r := as(status.Ready, ""); r.Digest = "v1-b"; return &r }(),
		},
		"ready by now": {prior: as(status.NotReady, "0 of 1"), want: new(as(status.Ready, "")), did: []string{"inspect ns/web"}},
		"not ready for another reason": {
			prior: as(status.NotReady, "0 of 1"), arrange: func(m *memoryCluster) { m.notReady["ns/web"] = errors.New("image not found") },
			want: new(as(status.NotReady, "not ready: it is image not found")), did: []string{"inspect ns/web"},
		},
		"modified no longer": {
			prior: *undigested("the newest revision was created by another tool"), want: new(as(status.Ready, "")), did: []string{"inspect ns/web"},
		},
		"the operation came to its end": {
			prior: as(status.WaitApplied, "the last operation was interrupted: pending-upgrade"), want: new(as(status.Ready, "")),
			did: []string{"inspect ns/web"},
		},
		"objects cannot be asked: no answer": {
			prior: as(status.NotReady, "0 of 1"), arrange: failAt(unreachable("c1"), "inspect ns/web"),
			want: new(as(status.NotReady, "0 of 1")), fails: []string{"c1/web reading the objects"}, did: []string{"inspect ns/web"},
		},
		"objects cannot be asked: refused": {
			prior: as(status.NotReady, "0 of 1"), arrange: failAt(denied, "inspect ns/web"),
			want: new(as(status.NotReady, "0 of 1")), did: []string{"inspect ns/web"},
		},
		"objects cannot be asked: out of time": {
			prior: as(status.NotReady, "0 of 1"), arrange: failAt(context.DeadlineExceeded, "inspect ns/web"),
			want: new(as(status.NotReady, "0 of 1")), fails: []string{"c1/web reading the objects"}, did: []string{"inspect ns/web"},
		},
		"objects cannot be asked: cancelled": {
			prior: as(status.NotReady, "0 of 1"), arrange: failAt(context.Canceled, "inspect ns/web"),
			want: new(as(status.NotReady, "0 of 1")), fails: []string{"c1/web reading the objects"}, did: []string{"inspect ns/web"},
		},
		"objects cannot be asked: panic": {
			prior: as(status.NotReady, "0 of 1"),
			arrange: func(m *memoryCluster) {
				m.before = func(_ context.Context, operation string) error {
					if strings.HasPrefix(operation, "inspect") {
						dereference(nil)
					}
					return nil
				}
			},
			want: new(as(status.NotReady, "0 of 1")), fails: []string{"c1/web reading the objects"}, did: []string{"inspect ns/web"},
		},
		"the cluster does not respond": {
			prior: as(status.Ready, ""), gone: true, arrange: failAt(unreachable("c1"), "look"),
			want: new(as(status.Ready, "")), fails: []string{"c1 reading the cluster"},
		},
		"the cluster refuses": {
			prior: as(status.Ready, ""), gone: true, arrange: failAt(denied, "look"),
			want: new(as(status.Ready, "")), fails: []string{"c1 reading the cluster"},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			clusters := newFleet("c1", "c2")
			there := deployed(web)
			if test.change != nil {
				test.change(&there)
			}
			if !test.gone {
				clusters["c1"].put(there)
			}
			if test.arrange != nil {
				test.arrange(clusters["c1"])
			}
			other := deployment("c2", "web", digest)
			clusters["c2"].put(deployed(other))

			got := clusters.runner().Observe(t.Context(), identity(), deploy.DriftRelease, map[deploy.Key]deploy.Record{
				key("c1", "web"): test.prior, key("c2", "web"): recordOfWrite(other),
			})

			want := map[deploy.Key]deploy.Record{key("c2", "web"): recordOfWrite(other)}
			if test.want != nil {
				want[key("c1", "web")] = *test.want
			}
			if diff := cmp.Diff(want, got.Records); diff != "" {
				t.Errorf("records (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(test.fails, failed(got.Failures), cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("failures (-want +got):\n%s\n%v", diff, got.Failures)
			}
			if diff := cmp.Diff(test.did, clusters["c1"].did(), cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("operations (-want +got):\n%s", diff)
			}
			uids := map[string]string{"c1": "uid-c1", "c2": "uid-c2"}
			if len(test.fails) > 0 && test.fails[0] == "c1 reading the cluster" {
				delete(uids, "c1")
			}
			if diff := cmp.Diff(uids, got.UIDs); diff != "" {
				t.Errorf("identities (-want +got):\n%s", diff)
			}
		})
	}
}

func with(state release.Status) func(*release.Observed) {
	return func(observed *release.Observed) { observed.Status = state }
}

func TestObserveListsEachClusterOnce(t *testing.T) {
	t.Parallel()
	clusters := newFleet("c1")
	records := map[deploy.Key]deploy.Record{}
	for _, name := range []string{"a", "b", "c"} {
		d := deployment("c1", name, "v1-a")
		clusters["c1"].put(deployed(d))
		records[key("c1", name)] = recordOfWrite(d)
	}
	expectNoFailures(t, clusters.runner().Observe(t.Context(), identity(), deploy.DriftLive, records).Failures)
	if diff := cmp.Diff([]string{"look", "inspect ns/a ns/b ns/c"}, clusters["c1"].calls); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
}
