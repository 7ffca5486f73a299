package diff_test

import (
	"testing"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/diff"
)

func TestObjectKey(t *testing.T) {
	t.Parallel()
	tests := map[string]diff.Object{
		"Deployment.apps/web/nginx": {Group: "apps", Kind: "Deployment", Namespace: "web", Name: "nginx"},
		"Service/web/nginx":         {Kind: "Service", Namespace: "web", Name: "nginx"},
		"Namespace/web":             {Kind: "Namespace", Name: "web"},
	}
	for want, object := range tests {
		t.Run(want, func(t *testing.T) {
			t.Parallel()
			if got := object.Key(); got != want {
				t.Errorf("got %q, want %q", got, want)
			}
		})
	}
}
