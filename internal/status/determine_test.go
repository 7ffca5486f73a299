package status_test

import (
	"testing"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/release"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/status"
)

// Each row adds one fact to a deployment that is as wanted, or two facts. Of two facts, the
// one that is first in the order of DetermineState decides.
func TestDetermineState(t *testing.T) {
	t.Parallel()
	var (
		unready  = &release.Finding{NotReady: []release.Unready{{Object: "it", Reason: "slow"}}}
		modified = &release.Finding{Ready: 1, Missing: []string{"that"}}
		both     = &release.Finding{NotReady: unready.NotReady, Missing: modified.Missing}
		refused  = &release.Finding{Refused: map[string]int{"Secret": 1}}
	)
	const (
		slow, missing = "not ready: it is slow", "that is missing"
		failed        = "the last operation failed"
		byAnother     = "the newest revision was created by another tool"
		notOurs       = "the release has another owner"
		forged        = "the release record was changed, so its hooks will not run"
		outdated      = "the deployed version is not the wanted one"
	)
	of := func(state release.Status) func(*status.Observation) {
		return func(o *status.Observation) { o.Release.Status = state }
	}
	by := func(ownership release.Ownership) func(*status.Observation) {
		return func(o *status.Observation) { o.Ownership = ownership }
	}
	finds := func(f *release.Finding) func(*status.Observation) {
		return func(o *status.Observation) { o.Objects = f }
	}
	absent := func(o *status.Observation) { o.Release = nil }
	another := func(o *status.Observation) { o.Wanted = "v1-b" }
	forges := func(o *status.Observation) { o.RecordChanged = true }
	known := func(o *status.Observation) { o.Failed = true }
	was := func(o *status.Observation) { o.NotReady = slow }
	with := func(facts ...func(*status.Observation)) []func(*status.Observation) { return facts }

	tests := map[string]struct {
		facts   []func(*status.Observation)
		want    status.State
		message string
	}{
		"as wanted":                                  {want: status.Ready},
		"objects as wanted":                          {facts: with(finds(&release.Finding{Ready: 2})), want: status.Ready},
		"any digest is as wanted":                    {facts: with(func(o *status.Observation) { o.Wanted = "" }), want: status.Ready},
		"absent":                                     {facts: with(absent), want: status.Pending, message: "it is not deployed"},
		"only a history":                             {facts: with(of(release.StatusUninstalled)), want: status.Pending, message: "it is not deployed"},
		"a history of another tool":                  {facts: with(of(release.StatusUninstalled), by(release.OtherTool)), want: status.Pending, message: "it is not deployed"},
		"absent after a failure":                     {facts: with(absent, known), want: status.Pending, message: "it is not deployed"},
		"changed by another tool":                    {facts: with(by(release.OtherTool)), want: status.Modified, message: byAnother},
		"changed by Helm":                            {facts: with(by(release.OtherTool), func(o *status.Observation) { o.Creator.Name = "Helm" }), want: status.Modified, message: "the newest revision was created by Helm"},
		"of plain Helm":                              {facts: with(by(release.Unmarked)), want: status.Modified, message: notOurs},
		"of another owner":                           {facts: with(by(release.OtherOwner)), want: status.Modified, message: notOurs},
		"of another target":                          {facts: with(by(release.OtherTarget)), want: status.Modified, message: notOurs},
		"of another target of this name":             {facts: with(by(release.SameName)), want: status.Modified, message: notOurs},
		"of another target with this key":            {facts: with(by(release.SameKey)), want: status.Modified, message: notOurs},
		"the record was changed":                     {facts: with(forges), want: status.Modified, message: forged},
		"failed":                                     {facts: with(of(release.StatusFailed)), want: status.ErrApplied, message: failed},
		"failed, as only state knows":                {facts: with(known), want: status.ErrApplied, message: failed},
		"install cut short":                          {facts: with(of(release.StatusPendingInstall)), want: status.WaitApplied, message: "the last operation was interrupted: pending-install"},
		"upgrade cut short":                          {facts: with(of(release.StatusPendingUpgrade)), want: status.WaitApplied, message: "the last operation was interrupted: pending-upgrade"},
		"rollback cut short":                         {facts: with(of(release.StatusPendingRollback)), want: status.WaitApplied, message: "the last operation was interrupted: pending-rollback"},
		"removal cut short":                          {facts: with(of(release.StatusUninstalling)), want: status.WaitApplied, message: "the last operation was interrupted: uninstalling"},
		"superseded":                                 {facts: with(of(release.StatusSuperseded)), want: status.WaitApplied, message: "the last operation was interrupted: superseded"},
		"unknown":                                    {facts: with(of(release.StatusUnknown)), want: status.WaitApplied, message: "the last operation was interrupted: unknown"},
		"not ready":                                  {facts: with(finds(unready)), want: status.NotReady, message: slow},
		"another digest":                             {facts: with(another), want: status.OutOfSync, message: outdated},
		"objects modified":                           {facts: with(finds(modified)), want: status.Modified, message: missing},
		"a kind is refused":                          {facts: with(finds(refused)), want: status.Ready},
		"a kind is refused of what was not ready":    {facts: with(finds(refused), was), want: status.NotReady, message: slow},
		"ready by now":                               {facts: with(finds(&release.Finding{Ready: 1}), was), want: status.Ready},
		"failed and changed by hand":                 {facts: with(of(release.StatusFailed), by(release.OtherTool)), want: status.Modified, message: byAnother},
		"cut short and changed by hand":              {facts: with(of(release.StatusPendingUpgrade), by(release.OtherTool)), want: status.Modified, message: byAnother},
		"failed before it was changed by hand":       {facts: with(known, by(release.OtherTool)), want: status.Modified, message: byAnother},
		"of somebody else, not ready":                {facts: with(by(release.OtherOwner), finds(unready)), want: status.Modified, message: notOurs},
		"changed by another tool, and the record":    {facts: with(by(release.OtherTool), forges), want: status.Modified, message: byAnother},
		"the record was changed after a failure":     {facts: with(forges, of(release.StatusFailed)), want: status.Modified, message: forged},
		"the record was changed, objects not ready":  {facts: with(forges, finds(unready)), want: status.Modified, message: forged},
		"failed, and cut short after that":           {facts: with(known, of(release.StatusPendingUpgrade)), want: status.ErrApplied, message: failed},
		"failed, objects not ready":                  {facts: with(of(release.StatusFailed), finds(unready)), want: status.ErrApplied, message: failed},
		"failed, objects modified":                   {facts: with(of(release.StatusFailed), finds(modified)), want: status.ErrApplied, message: failed},
		"failed, another digest":                     {facts: with(of(release.StatusFailed), another), want: status.ErrApplied, message: failed},
		"cut short, objects modified":                {facts: with(of(release.StatusPendingUpgrade), finds(modified)), want: status.WaitApplied, message: "the last operation was interrupted: pending-upgrade"},
		"cut short, another digest":                  {facts: with(of(release.StatusPendingUpgrade), another), want: status.WaitApplied, message: "the last operation was interrupted: pending-upgrade"},
		"not ready, another digest":                  {facts: with(finds(unready), another), want: status.NotReady, message: slow},
		"not ready, modified":                        {facts: with(finds(both)), want: status.NotReady, message: slow},
		"another digest, objects modified":           {facts: with(another, finds(modified)), want: status.OutOfSync, message: outdated},
		"another digest, a kind refused, once ready": {facts: with(another, finds(refused)), want: status.OutOfSync, message: outdated},
		"another digest, a kind refused, not ready":  {facts: with(another, finds(refused), was), want: status.NotReady, message: slow},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			observation := status.Observation{
				Release:   &release.Observed{Release: "web", Namespace: "ns", Revision: 2, Status: release.StatusDeployed, Mark: release.Mark{Digest: "v1-a", Revision: 2}},
				Ownership: release.Self, Wanted: "v1-a",
			}
			for _, fact := range test.facts {
				fact(&observation)
			}
			state, message := status.DetermineState(observation)
			if state != test.want || message != test.message {
				t.Errorf("got %s %q, want %s %q", state, message, test.want, test.message)
			}
		})
	}
}

// Without any observation the deployment does not exist.
func TestDetermineStateOfNothing(t *testing.T) {
	t.Parallel()
	if state, _ := status.DetermineState(status.Observation{}); state != status.Pending {
		t.Errorf("got %s, want Pending", state)
	}
}

// The first reason in the order decides. A refresh, an apply, a removal and the reader of a Fleet share
// this order.
func TestStateOfFacts(t *testing.T) {
	t.Parallel()
	order := []struct {
		facts status.Facts
		want  status.State
	}{
		{status.Facts{Absent: "absent"}, status.Pending},
		{status.Facts{Foreign: "foreign"}, status.Modified},
		{status.Facts{Failed: "failed"}, status.ErrApplied},
		{status.Facts{Unfinished: "unfinished"}, status.WaitApplied},
		{status.Facts{NotReady: "not ready"}, status.NotReady},
		{status.Facts{Outdated: "outdated"}, status.OutOfSync},
		{status.Facts{Drift: "drift"}, status.Modified},
	}
	both := func(a, b status.Facts) status.Facts {
		return status.Facts{
			Absent: a.Absent + b.Absent, Foreign: a.Foreign + b.Foreign, Failed: a.Failed + b.Failed, Unfinished: a.Unfinished + b.Unfinished,
			NotReady: a.NotReady + b.NotReady, Outdated: a.Outdated + b.Outdated, Drift: a.Drift + b.Drift,
		}
	}
	for i, first := range order {
		_, why := first.facts.State()
		for _, second := range append(order[i+1:], struct {
			facts status.Facts
			want  status.State
		}{}) {
			state, message := both(first.facts, second.facts).State()
			if state != first.want || message != why || why == "" {
				t.Errorf("%+v and %+v: got %s %q, want %s %q", first.facts, second.facts, state, message, first.want, why)
			}
		}
	}
	if state, message := (status.Facts{}).State(); state != status.Ready || message != "" {
		t.Errorf("without a reason: got %s %q, want Ready", state, message)
	}
}
