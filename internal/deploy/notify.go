package deploy

import (
	"context"
)

// notifiers receive the events of an engine.
type notifiers []Notify

func (n notifiers) send(ctx context.Context, event Event) {
	for _, notify := range n {
		notify(ctx, event)
	}
}
