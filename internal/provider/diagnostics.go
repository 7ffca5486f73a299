package provider

import (
	"context"
	"errors"

	"github.com/hashicorp/terraform-plugin-log/tflog"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/deploy"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/panics"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/progress"
)

// logPanics writes the stack of a panic to the debug log, for the developer who fixes it. The error
// for the user names only the operation.
func (p *providerData) logPanics(ctx context.Context, failures []deploy.Failure) {
	for _, failure := range failures {
		if panicked, ok := errors.AsType[*panics.Error](failure.Err); ok {
			tflog.Debug(ctx, "panic in an operation on a cluster", map[string]any{
				"cluster": failure.Cluster, "bundle": failure.Bundle, "doing": panicked.Doing, "stack": p.masker.Shown(panicked.Stack),
			})
		}
	}
}

// showEvent writes an event of an apply to the log, and to the file of FLEET_PROGRESS.
func (p *providerData) showEvent(ctx context.Context, event deploy.Event) {
	event = event.Masked(p.masker.Shown)
	p.progress.Report(event)
	write := tflog.SubsystemInfo
	if event.Kind == deploy.OperationRetried {
		write = tflog.SubsystemWarn
	}
	// A subsystem leaves out the fields of the request, which would hide those of the event.
	const subsystem = "apply"
	write(tflog.NewSubsystem(ctx, subsystem), subsystem, progress.Line(event), progress.Fields(event))
}
