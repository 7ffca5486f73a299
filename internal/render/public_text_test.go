package render_test

import (
	"fmt"
	"testing"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/render"
)

// The size of objects can be made of a secret. Their limit is no secret.
func TestPublicTextOfTooManyObjects(t *testing.T) {
	t.Parallel()
	got := render.PublicText(fmt.Errorf("installing web: %w", &render.TooManyObjectsError{Bundle: "web", Size: 99 << 20}))
	if want := "bundle web: its objects exceed the limit for a release, 16 MiB; split the bundle"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
