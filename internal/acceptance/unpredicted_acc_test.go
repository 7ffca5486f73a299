package acceptance_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/testenv"
)

// A plan compares some renderings of a chart, and none of them is revision 2. So it misjudges a chart
// that does something else in revision 2. The apply writes nothing of it, and the next plan leaves its
// objects open.
func TestAccApplyStopsBeforeUnplannedObjects(t *testing.T) {
	t.Parallel()
	s, w := newFixture(t, testenv.Shared(t)), newWorkspace(t)
	configure := func(value string) {
		w.configure(t, s.provider("", on), fmt.Sprintf(`
resource "fleet_bundle" "second" {
  name              = "second"
  default_namespace = %q
  files = {
    "Chart.yaml"        = yamlencode({ apiVersion = "v2", name = "second", version = "1.0.0" })
    "templates/cm.yaml" = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {{ if eq .Release.Revision 2 }}other{{ else }}usual{{ end }}\ndata:\n  key: {{ .Values.key }}\n"
  }
  helm = { values = yamlencode({ key = %q }) }
}
`, s.namespace, value), target("", "fleet_bundle.second.bundles"))
	}
	configure("a")
	w.apply(t)

	configure("b")
	w.fail(t, []string{"apply", "-auto-approve", "-input=false"}, "rendered other objects than the plan showed, so nothing was written")
	if got := s.releases(t, 0)["second"].revision; got != "1" {
		t.Errorf("the release has revision %s", got)
	}
	_, unknown := w.plannedObjects(t)
	if diff := cmp.Diff([]string{"a/second"}, unknown); diff != "" {
		t.Errorf("deployments whose objects are open (-want +got):\n%s", diff)
	}
	w.run(t, "apply", "-input=false", "tfplan")
	if got := s.releases(t, 0)["second"].revision; got != "2" {
		t.Errorf("the release has revision %s", got)
	}
	w.expectEmptyPlan(t)

	configure("c")
	w.apply(t)
	w.expectEmptyPlan(t)
}
