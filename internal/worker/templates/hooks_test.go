package templates_test

import (
	"fmt"
	"strings"
	"testing"

	"helm.sh/helm/v3/pkg/releaseutil"
)

// A rendering has the same objects as Helm creates: documents of hooks for events that Helm does
// not support are left out.
func TestHooksAreThoseOfHelm(t *testing.T) {
	t.Parallel()
	annotations := []string{
		"pre-install", "post-install", "pre-upgrade", "post-upgrade", "pre-rollback", "post-rollback", "pre-delete", "post-delete",
		"test", "test-success", "test-failure", "crd-install", "something-unknown", "", " Pre-Install , post-install", "pre-install,unknown", "pre-install,",
	}
	for _, annotation := range annotations {
		t.Run(annotation, func(t *testing.T) {
			t.Parallel()
			hook := fmt.Sprintf("apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n  annotations: {helm.sh/hook: %q}\n", annotation)
			hooks, _, err := releaseutil.SortManifests(map[string]string{"a.yaml": hook}, nil, releaseutil.InstallOrder)
			if err != nil {
				t.Fatal(err)
			}
			charts, d := newCharts(), deployment(map[string]string{"Chart.yaml": chartYAML, "templates/a.yaml": hook}, nil)
			ordinary, hooked, err := charts.Template(t.Context(), d, "v1.36.0")
			if err != nil {
				t.Fatal(err)
			}
			if ordinary != "" || strings.Count(hooked, "kind: ConfigMap") != len(hooks) {
				t.Errorf("Helm has %d hooks, the rendering is\n%s%s", len(hooks), ordinary, hooked)
			}
			planned, err := charts.Render(t.Context(), d)
			if err != nil {
				t.Fatal(err)
			}
			if len(planned.Documents) != len(hooks) || len(planned.Objects) != 0 {
				t.Errorf("Helm has %d hooks, the plan has documents %v and objects %v", len(hooks), planned.Documents, planned.Objects)
			}
		})
	}
}
