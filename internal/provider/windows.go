package provider

import (
	"time"

	"github.com/hashicorp/terraform-plugin-framework/diag"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/deploy"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/deploy/plan"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/diagnostics"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/report"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/state"
)

// windowsAt returns the decisions of the windows at a time, nil without windows.
func windowsAt(f *providerData, at time.Time, diags *diag.Diagnostics) deploy.Windows {
	clusters, _ := f.clusters.Facts()
	decided, err := f.Windows.At(at, clusters, f.Groups)
	diagnostics.Add(diags, report.UnusableWindow(err))
	if decided == nil {
		return nil
	}
	return decided
}

// holdByWindows adds the decisions of the windows to desired. With an override, windows hold
// nothing.
func holdByWindows(f *providerData, desired plan.Desired, m *targetModel, diags *diag.Diagnostics) plan.Desired {
	if decided := windowsAt(f, m.decided, diags); f.Windows.Override == "" {
		desired.Windows = decided
	}
	return desired
}

// reportOverridden reports the deployments that windows would hold without the override.
func reportOverridden(f *providerData, model *targetModel, before *targetState, desired plan.Desired, diags *diag.Diagnostics) {
	windows := windowsAt(f, model.decided, diags)
	if f.Windows.Override == "" || windows == nil {
		return
	}
	held := plan.HeldByWindows(desired, windows, before.known.Records, model.releaseLabels().Changes(before.releaseLabels()))
	diagnostics.Add(diags, report.WindowsOverridden(model.Name.ValueString(), f.Windows.Override, held))
}

// windowsNow returns the decisions of the windows at the present time, nil if nothing is held.
func windowsNow(f *providerData, diags *diag.Diagnostics) deploy.Windows {
	windows := windowsAt(f, f.Windows.Clock(), diags)
	if f.Windows.Override != "" {
		return nil
	}
	return windows
}

// reportDestroy reports that windows hold the removal of a target. It reports nothing if windows or
// clusters are not known yet: the apply checks again.
func reportDestroy(f *providerData, gone *targetState, private state.Private, diags *diag.Diagnostics) {
	_, unknown := f.clusters.Facts()
	if f.Windows.Unknown || f.ClustersUnknown || f.GroupsUnknown || len(unknown) > 0 {
		return
	}
	windows := windowsAt(f, f.Windows.TimeFor(private.Decided), diags)
	if windows == nil {
		return
	}
	name, held := gone.Name.ValueString(), plan.HeldByWindows(plan.Desired{Needs: private.Needs}, windows, gone.known.Records, false)
	if f.Windows.Override != "" {
		diagnostics.Add(diags, report.WindowsOverridden(name, f.Windows.Override, held))
		return
	}
	diagnostics.Add(diags, report.DestroyHeld(name, held))
}
