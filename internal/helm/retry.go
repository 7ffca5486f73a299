package helm

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/retry"
)

// onConflict tries a change again if another client changed the object at the same time. All
// tries together take less than a tenth of a second, so they are made even if ctx ends in the
// meantime.
func onConflict(ctx context.Context, change func() error) error {
	return retry.While(context.WithoutCancel(ctx), retry.Conflict(), apierrors.IsConflict, change)
}
