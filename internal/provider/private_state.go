package provider

import (
	"cmp"
	"context"

	"github.com/hashicorp/terraform-plugin-framework/diag"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/diagnostics"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/report"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/state"
)

// privateReader reads the private state in a request.
type privateReader interface {
	GetKey(ctx context.Context, key string) ([]byte, diag.Diagnostics)
}

// privateWriter writes the private state in a response.
type privateWriter interface {
	SetKey(ctx context.Context, key string, value []byte) diag.Diagnostics
}

// privateStore is the private state in a response. It can also be read, because a plan may have
// stored something there.
type privateStore interface {
	privateReader
	privateWriter
}

// loadPrivate reads the private state of a target.
func loadPrivate(ctx context.Context, from privateReader, diags *diag.Diagnostics) state.Private {
	entry, found := from.GetKey(ctx, state.Key)
	diags.Append(found...)
	private, err := state.Load(entry)
	diagnostics.Add(diags, report.UnreadablePrivateState(err))
	return private
}

// storePrivate stores the private state of a target if it changed.
func storePrivate(ctx context.Context, to privateWriter, before, after state.Private, diags *diag.Diagnostics) {
	entry, err := before.Changed(after)
	storeEntry(ctx, to, entry, err, diags)
}

// storePlanned does the same for a plan, which is limited in size.
func storePlanned(ctx context.Context, to privateWriter, before, after state.Private, diags *diag.Diagnostics) {
	entry, err := before.Changed(after)
	storeEntry(ctx, to, entry, cmp.Or(err, state.CheckSize(entry)), diags)
}

func storeEntry(ctx context.Context, to privateWriter, entry []byte, err error, diags *diag.Diagnostics) {
	if entry != nil || err != nil {
		storeFound(ctx, to, state.Key, entry, err, "the private state of the target", diags)
	}
}

// unpack reads the capabilities of clusters in private state.
func unpack(private state.Private, diags *diag.Diagnostics) state.ClusterCapabilities {
	known, err := private.Capabilities.Unpack()
	diagnostics.Add(diags, report.UnreadablePrivateState(err))
	return known
}

// repack stores the capabilities of clusters in private state, given those that were unpacked.
func repack(private *state.Private, known, now state.ClusterCapabilities, diags *diag.Diagnostics) {
	packed, err := private.Capabilities.Repack(known, now)
	if err != nil {
		diagnostics.Add(diags, report.Failed("Cannot store the capabilities of clusters", err))
		return
	}
	private.Capabilities = packed
}
