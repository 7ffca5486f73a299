package render_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/bundle"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/panics"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/release"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/render"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/target"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/worker/templates"
)

// panicking is a sandbox that panics with its input.
type panicking struct{ *templates.Renderer }

func (panicking) Plan(context.Context, target.Deployment) (release.Rendering, error) {
	panic("password=hunter2")
}

// If a rendering panics, its deployment fails, whether equal deployments share it or not.
func TestPanicOfARendering(t *testing.T) {
	t.Parallel()
	for name, digest := range map[string]string{"remembered": "v1-fedcba9876543210", "not remembered": ""} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			charts := &render.Charts{Sandbox: panicking{}}
			_, err := charts.Render(t.Context(), target.Deployment{Release: "web", Namespace: "ns", Bundle: &bundle.Bundle{Name: "b"}, Digest: digest})
			panicked, ok := errors.AsType[*panics.Error](err)
			if !ok {
				t.Fatalf("error = %v, want a *panics.Error", err)
			}
			if strings.Contains(panicked.Error()+panicked.Stack, "hunter2") {
				t.Errorf("what the panic was given shows: %v", panicked)
			}
		})
	}
}
