package retry_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/retry"
)

var errBusy = errors.New("busy")

const brief = time.Microsecond

func TestDo(t *testing.T) {
	t.Parallel()
	gaveUp := errors.New("gave up")
	quick := retry.Policy{First: brief, Longest: brief, Factor: 1}
	four := quick
	four.Tries = 4
	slow := retry.Policy{First: time.Hour, Longest: time.Hour, Factor: 1}
	tests := map[string]struct {
		policy retry.Policy
		// fails is how many tries fail with err.
		fails   int
		err     error
		cancel  int // The try during which ctx ends, 0 for none.
		tries   int
		notices int
		want    error
	}{
		"success":                       {policy: quick, tries: 1},
		"passes":                        {policy: quick, fails: 3, err: errBusy, tries: 4, notices: 3},
		"passes with the last try":      {policy: four, fails: 3, err: errBusy, tries: 4, notices: 3},
		"more tries than allowed":       {policy: four, fails: 9, err: errBusy, tries: 4, notices: 3, want: errBusy},
		"permanent":                     {policy: quick, fails: 9, err: retry.Permanent(errBusy), tries: 1, want: errBusy},
		"permanent, the only try":       {policy: retry.Policy{First: brief, Longest: brief, Factor: 1, Tries: 1}, fails: 9, err: retry.Permanent(errBusy), tries: 1, want: errBusy},
		"pause longer than the limit":   {policy: slow.Within(time.Minute), fails: 9, err: errBusy, tries: 1, want: errBusy},
		"given up before the pause":     {policy: slow, fails: 9, err: errBusy, cancel: 1, tries: 1, want: gaveUp},
		"given up in a later try":       {policy: quick, fails: 9, err: errBusy, cancel: 3, tries: 3, notices: 2, want: gaveUp},
		"given up and done":             {policy: quick, cancel: 1, tries: 1},
		"given up, which is permanent":  {policy: quick, fails: 9, err: retry.Permanent(errBusy), cancel: 1, tries: 1, want: errBusy},
		"no permanent error of nothing": {policy: quick, err: retry.Permanent(nil), fails: 1, tries: 1},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithCancelCause(t.Context())
			defer cancel(nil)
			tries, notices := 0, 0
			got, err := retry.DoNotify(ctx, tt.policy, func() (int, error) {
				tries++
				if tries == tt.cancel {
					cancel(gaveUp)
				}
				if tries <= tt.fails {
					return tries, tt.err
				}
				return tries, nil
			}, func(err error, pause time.Duration) {
				notices++
				if !errors.Is(err, errBusy) || pause <= 0 {
					t.Errorf("notified of %v and a pause of %s", err, pause)
				}
			})
			if diff := cmp.Diff(tt.want, err, cmpopts.EquateErrors()); diff != "" {
				t.Errorf("error (-want +got):\n%s", diff)
			}
			if retry.IsPermanent(err) {
				t.Errorf("the error is marked: %#v", err)
			}
			if diff := cmp.Diff([]int{tt.tries, tt.tries, tt.notices}, []int{got, tries, notices}); diff != "" {
				t.Errorf("result, tries and notices (-want +got):\n%s", diff)
			}
		})
	}
}

func TestUntil(t *testing.T) {
	t.Parallel()
	quick := retry.Policy{First: brief, Longest: brief, Factor: 1}
	tests := map[string]struct {
		policy retry.Policy
		after  int // The call that returns true, 0 for none.
		cancel int // The call during which ctx ends, 0 for none.
		want   bool
		calls  int
	}{
		"at once":               {policy: quick, after: 1, want: true, calls: 1},
		"after a while":         {policy: quick, after: 4, want: true, calls: 4},
		"never":                 {policy: quick, cancel: 3, calls: 3},
		"when it is given up":   {policy: quick, after: 2, cancel: 2, want: true, calls: 2},
		"later than its limit":  {policy: retry.Policy{First: time.Hour, Longest: time.Hour, Factor: 1, Limit: time.Minute}, after: 2, calls: 1},
		"given up by the pause": {policy: retry.Policy{First: time.Hour, Longest: time.Hour, Factor: 1}, after: 2, cancel: 1, calls: 1},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			calls := 0
			got := retry.Until(ctx, tt.policy, func() bool {
				calls++
				if calls == tt.cancel {
					cancel()
				}
				return calls == tt.after
			})
			if got != tt.want || calls != tt.calls {
				t.Errorf("Until = %t after %d calls, want %t after %d", got, calls, tt.want, tt.calls)
			}
		})
	}
}

// The pauses of each policy, without their random part.
func TestPauses(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		policy retry.Policy
		want   []string
	}{
		"request":   {retry.Request(), []string{"100ms", "150ms", "225ms"}},
		"conflict":  {retry.Conflict(), []string{"10ms", "10ms", "10ms", "10ms"}},
		"record":    {retry.Record(), []string{"500ms", "750ms", "1.125s", "1.6875s"}},
		"operation": {retry.Operation(), []string{"200ms", "300ms", "450ms", "675ms", "1.0125s", "1.51875s", "2.278125s", "3.4171875s", "5s", "5s"}},
		"removal":   {retry.Removal(), []string{"250ms", "375ms", "562.5ms", "843.75ms", "1.265625s", "1.8984375s", "2s", "2s"}},
		"readiness": {retry.Readiness(), []string{"500ms", "750ms", "1.125s", "1.6875s", "2s", "2s"}},
		"discovery": {retry.Discovery(), []string{"50ms", "75ms", "112.5ms", "168.75ms", "253.125ms", "379.6875ms", "569.53125ms", "854.296875ms", "1s", "1s"}},
		"unwatched": {retry.Unwatched(), []string{"100ms", "150ms", "225ms", "337.5ms", "506.25ms", "759.375ms", "1.1390625s", "1.70859375s", "2s", "2s"}},
		"watched":   {retry.Watched(), []string{"2s", "3s", "4.5s", "6.75s", "10s", "10s"}},
		"download":  {retry.Download(), []string{"250ms", "500ms", "1s"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if tries := tt.policy.Tries; tries > 0 && int(tries) != len(tt.want)+1 {
				t.Errorf("%d tries, want %d", tries, len(tt.want)+1)
			}
			exact := tt.policy
			exact.Jitter = 0
			next, random := exact.Pauses(), tt.policy.Pauses()
			var got []string
			for range tt.want {
				pause, near := next(), random()
				got = append(got, pause.String())
				if off := (near - pause).Abs(); float64(off) > tt.policy.Jitter*float64(pause)+1 {
					t.Errorf("a pause of %s instead of %s, which is off by more than %v", near, pause, tt.policy.Jitter)
				}
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("pauses (-want +got):\n%s", diff)
			}
		})
	}
}
