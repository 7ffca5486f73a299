package run

import (
	"context"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/deploy"
)

// notifiers receive the events of a runner.
type notifiers []deploy.Notify

func (n notifiers) send(ctx context.Context, event deploy.Event) {
	for _, notify := range n {
		notify(ctx, event)
	}
}
