package kube

import (
	"testing"
	"time"

	"github.com/fluxcd/cli-utils/pkg/kstatus/status"
)

func TestWaitingEndsOnFailures(t *testing.T) {
	t.Parallel()
	var (
		failed   = Condition{Status: status.FailedStatus.String()}
		ended    = Condition{Status: status.FailedStatus.String(), ended: true}
		progress = Condition{Status: status.InProgressStatus.String()}
	)
	tests := map[string]struct {
		seen  []Condition   // one each
		every time.Duration // between looks
		want  []bool
	}{
		"going on":           {seen: []Condition{progress, progress}, every: time.Hour, want: []bool{false, false}},
		"a job failed":       {seen: []Condition{ended}, want: []bool{true}},
		"failed for a while": {seen: []Condition{failed, failed, failed}, every: 5 * time.Second, want: []bool{false, false, true}},
		"recovers":           {seen: []Condition{failed, progress, failed, failed, failed}, every: 5 * time.Second, want: []bool{false, false, false, false, true}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var failing failure
			now := time.Now()
			for i, seen := range test.seen {
				if got := failing.isFinal([]Condition{progress, seen}, now); got != test.want[i] {
					t.Errorf("look %d: final: %t, want %t", i, got, test.want[i])
				}
				now = now.Add(test.every)
			}
		})
	}
}

func TestMessagesNameObjects(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		err  error
		want string
	}{
		"not ready": {
			err:  &NotReadyError{Objects: []Condition{{Object: "Deployment web/nginx", Status: "InProgress", Message: "1/2"}, {Object: "Namespace web", Status: "NotFound", Message: "it does not exist"}}},
			want: "not ready: Deployment web/nginx is InProgress: 1/2; Namespace web is NotFound: it does not exist",
		},
		"not gone": {
			err: &NotGoneError{Objects: []Leftover{
				{Object: "A a", Finalizers: []string{"x/y", "z"}, Deleting: true}, {Object: "B b", Deleting: true}, {Object: "C c"},
			}},
			want: "still there: A a (held by the finalizers x/y, z); B b; C c (not being deleted: somebody made it again)",
		},
		"not gone, with finalizers and not being deleted": {
			err:  &NotGoneError{Objects: []Leftover{{Object: "A a", Finalizers: []string{"x/y"}}}},
			want: "still there: A a (not being deleted: somebody made it again)",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := test.err.Error(); got != test.want {
				t.Errorf("got  %q\nwant %q", got, test.want)
			}
		})
	}
}
