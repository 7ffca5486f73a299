package run_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/deploy"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/deploy/run"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/release"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/status"
)

func TestRetries(t *testing.T) {
	t.Parallel()
	busy := &status.BusyError{Cluster: "c1", Err: errors.New("too many requests")}
	installed := deployed(deployment("c1", "web", "v1-a"))
	marked := func(status release.Status) *release.Observed {
		observed := installed
		observed.Status = status
		return &observed
	}
	foreign := installed
	foreign.Mark.Owner, foreign.Mark.Instance, foreign.Mark.Revision, foreign.Revision = "somebody", "else", 2, 2
	adopted := signed(by(installed, "gainer"), proofOn("c1"))
	byHand := installed
	byHand.Revision++
	tests := map[string]struct {
		err error
		// times is how often the first operation fails with it.
		times int
		// leaves is the release that the first operation leaves.
		leaves *release.Observed
		remove bool
		// drifted reports that the release exists and its objects are to be corrected, moved that
		// the deployment moves from another release.
		drifted, moved bool
		// take is the setting take_ownership.
		take  bool
		want  []string
		fails bool
	}{
		"a cluster that is busy":                   {err: busy, times: 2, want: []string{"install ns/web", "install ns/web", "install ns/web"}},
		"a connection that breaks":                 {err: unreachable("c1"), times: 1, want: []string{"install ns/web", "install ns/web"}},
		"an outage that is longer than its time":   {err: unreachable("c1"), times: 1000, want: nil, fails: true},
		"an error of the chart":                    {err: errors.New("broken"), times: 1, want: []string{"install ns/web"}, fails: true},
		"a refusal":                                {err: &status.DeniedError{Cluster: "c1", Err: errors.New("no")}, times: 1, want: []string{"install ns/web"}, fails: true},
		"cut off after the record":                 {err: unreachable("c1"), times: 1, leaves: marked(release.StatusPendingInstall), want: []string{"install ns/web", "recover ns/web"}},
		"cut off after a failure":                  {err: busy, times: 1, leaves: marked(release.StatusFailed), want: []string{"install ns/web", "upgrade ns/web"}},
		"cut off when it was done":                 {err: unreachable("c1"), times: 1, leaves: marked(release.StatusDeployed), want: []string{"install ns/web", "keep ns/web"}},
		"somebody else's by now":                   {err: busy, times: 1, leaves: &foreign, want: []string{"install ns/web"}, fails: true},
		"somebody else's by now, and moved to":     {err: busy, times: 1, moved: true, leaves: &foreign, want: []string{"install ns/web"}, fails: true},
		"a correction before it began":             {err: busy, times: 1, drifted: true, want: []string{"upgrade ns/web", "upgrade ns/web"}},
		"there, and not seen before":               {err: &release.ChangedError{}, times: 1, leaves: marked(release.StatusDeployed), want: []string{"install ns/web", "keep ns/web"}},
		"a removal that breaks":                    {remove: true, err: busy, times: 1, leaves: marked(release.StatusUninstalling), want: []string{"uninstall ns/web", "uninstall ns/web"}},
		"a removal of what changed since the look": {remove: true, times: 1, leaves: marked(release.StatusFailed), want: []string{"uninstall ns/web", "uninstall ns/web"}},
		"a removal of what was taken since then":   {remove: true, times: 1, leaves: &foreign, want: []string{"uninstall ns/web"}, fails: true},
		"a removal of what was adopted meantime":   {remove: true, err: busy, times: 1, leaves: &adopted, want: []string{"uninstall ns/web"}},
		"a removal of what was changed meantime":   {remove: true, err: busy, times: 1, leaves: &byHand, want: []string{"uninstall ns/web"}, fails: true},
		"a removal of that, with consent":          {remove: true, take: true, err: busy, times: 1, leaves: &byHand, want: []string{"uninstall ns/web", "uninstall ns/web"}},
		"a removal of what somebody took meantime": {remove: true, err: busy, times: 1, leaves: &foreign, want: []string{"uninstall ns/web"}, fails: true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				clusters := newFleet("c1")
				asked := request(map[deploy.Key]deploy.Record{})
				asked.Settings.Consent.All = test.take
				if test.remove {
					clusters["c1"].put(installed)
					asked.Prior[key("c1", "web")] = recordOfWrite(deployment("c1", "web", "v1-a"))
					asked.Remove = []deploy.Key{key("c1", "web")}
				} else {
					asked.Write = append(asked.Write, deployment("c1", "web", "v1-a"))
				}
				if test.drifted {
					clusters["c1"].put(installed)
					record := recordOfWrite(deployment("c1", "web", "v1-a"))
					record.State, record.Counts = status.Modified, status.Counts{Modified: 1}
					asked.Prior[key("c1", "web")] = record
				}
				if test.moved {
					record := recordOfWrite(deployment("c1", "web", "v1-a"))
					record.Release = "former"
					asked.Prior[key("c1", "web")] = record
				}
				failed := 0
				clusters["c1"].before = func(_ context.Context, operation string) error {
					if isLook(operation) || strings.HasPrefix(operation, "read ") || failed >= test.times {
						return nil
					}
					failed++
					if test.leaves != nil {
						clusters["c1"].mu.Lock()
						defer clusters["c1"].mu.Unlock()
						clusters["c1"].put(*test.leaves)
					}
					return test.err
				}
				began := time.Now()
				outcome := clusters.runner().Apply(t.Context(), asked)
				if got := clusters["c1"].did(); test.want != nil && !cmp.Equal(test.want, got) {
					t.Errorf("did %q, want %q", got, test.want)
				}
				if got := len(outcome.Failures) > 0; got != test.fails {
					t.Errorf("failures: %v, want some: %t", outcome.Failures, test.fails)
				}
				if took := time.Since(began); took > asked.Settings.Timeout {
					t.Errorf("took %v, more than the time of the deployment", took)
				}
			})
		})
	}
}

// The steps after the removal of a release, such as removing its namespace, are tried again when
// the release no longer exists. Kept objects are still reported.
func TestRemovalThatBreaksAfterItsRelease(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		clusters := newFleet("c1")
		web := deployment("c1", "web", "v1-a")
		clusters["c1"].put(deployed(web))
		left := 0
		clusters["c1"].leave = func() (release.Removed, error) {
			if left++; left == 1 {
				return release.Removed{Kept: []string{"ConfigMap/ns/kept"}}, &status.BusyError{Cluster: "c1", Err: errors.New("too many requests")}
			}
			return release.Removed{InNamespace: []string{"ConfigMap kept"}}, nil
		}
		asked := request(map[deploy.Key]deploy.Record{key("c1", "web"): recordOfWrite(web)})
		asked.Remove = []deploy.Key{key("c1", "web")}
		outcome := clusters.runner().Apply(t.Context(), asked)
		expectNoFailures(t, outcome.Failures)
		want := []deploy.Notice{{Cluster: "c1", Bundle: "web", Removed: release.Removed{Kept: []string{"ConfigMap/ns/kept"}, InNamespace: []string{"ConfigMap kept"}}}}
		if diff := cmp.Diff(want, outcome.Notices); diff != "" {
			t.Errorf("notices (-want +got):\n%s", diff)
		}
		if len(outcome.Records) > 0 {
			t.Errorf("records: %v", outcome.Records)
		}
	})
}

func TestBusyClusterIsReadAgain(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		err   error
		looks int
	}{
		"busy": {err: &status.BusyError{Cluster: "c1", Err: errors.New("too many requests")}, looks: 2},
		"down": {err: unreachable("c1"), looks: 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				clusters := newFleet("c1")
				looks := 0
				clusters["c1"].before = func(_ context.Context, operation string) error {
					if looks++; operation == "look" && looks == 1 {
						return test.err
					}
					return nil
				}
				web := deployment("c1", "web", "v1-a")
				clusters["c1"].put(deployed(web))
				clusters.runner().Observe(t.Context(), identity(), deploy.DriftRelease, map[deploy.Key]deploy.Record{key("c1", "web"): recordOfWrite(web)})
				if looks != test.looks {
					t.Errorf("looked %d times, want %d", looks, test.looks)
				}
			})
		})
	}
}

// A cluster whose operations pause before they are tried again uses no slot that others need.
func TestPausesHoldNobodyUp(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		clusters := newFleet("bad", "good")
		asked := request(nil)
		for i := range 10 {
			asked.Write = append(asked.Write, deployment("bad", fmt.Sprintf("web%d", i), "v1-a"), deployment("good", fmt.Sprintf("web%d", i), "v1-a"))
		}
		clusters["bad"].before = func(_ context.Context, operation string) error {
			if operation == "look" {
				return nil
			}
			return unreachable("bad")
		}
		began := time.Now()
		var (
			mu   sync.Mutex
			last time.Duration
			told = map[string]bool{}
		)
		clusters["good"].before = func(context.Context, string) error {
			mu.Lock()
			defer mu.Unlock()
			last = time.Since(began)
			return nil
		}
		engine := run.New(clusters.connect, 2, func(_ context.Context, attempt deploy.Event) {
			if attempt.Kind != deploy.OperationRetried {
				return
			}
			mu.Lock()
			defer mu.Unlock()
			told[attempt.Cluster+"/"+attempt.Bundle+" "+attempt.Doing] = attempt.Err != nil && attempt.Pause > 0
		})
		outcome := engine.Apply(t.Context(), asked)
		if len(outcome.Failures) != 10 || last > time.Second {
			t.Errorf("%d failures, and the good cluster was done after %v", len(outcome.Failures), last)
		}
		if !told["bad/web0 installing"] || len(told) != 10 {
			t.Errorf("told of %v", told)
		}
	})
}
