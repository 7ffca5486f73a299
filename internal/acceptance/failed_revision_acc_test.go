package acceptance_test

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/testenv"
)

// A commit is reverted after its upgrade has failed. The plan shows what it removes, and nothing of
// the commit is left.
func TestAccRevertOfAFailedUpgrade(t *testing.T) {
	t.Parallel()
	s, w := newFixture(t, testenv.Shared(t)), newWorkspace(t)
	workload := func(pod string) string {
		return "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec:\n  selector: {matchLabels: {app: web}}\n" +
			"  template:\n    metadata: {labels: {app: web}}\n    spec: {" + pod + "containers: [{name: c, image: registry.k8s.io/pause:3.10, readinessProbe: {exec: {command: [/pause, -v]}}}]}\n"
	}
	deploy := func(manifest string) {
		w.configure(t, s.provider("", on), s.bundleOf("app", manifest), target("wait = false", "fleet_bundle.app.bundles"))
	}
	deploy(workload(""))
	w.apply(t)
	deploy(workload("hostNetwork: true, nodeSelector: {disk: ssd}, ") + "---\n" + configMap("extra", "x") + "---\n" +
		"apiVersion: v1\nkind: Service\nmetadata: {name: bad}\nspec: {ports: [{port: 99999999}]}\n")
	w.fail(t, []string{"apply", "-auto-approve", "-input=false"}, "99999999")
	if got := s.value(t, 0, "extra"); got != "x" {
		t.Fatalf("the failed upgrade wrote %q", got)
	}

	deploy(workload(""))
	plan := unwrapped(w.run(t, "plan", "-input=false"))
	expectMention(t, plan, "compared with revision 2 (failed) and the revision before it",
		"~ Deployment.apps/"+s.namespace+"/web: spec.template.spec - hostNetwork: true - nodeSelector:", "- ConfigMap/"+s.namespace+"/extra")
	w.apply(t)
	w.expectEmptyPlan(t)
	web, err := s.client(t, 0).AppsV1().Deployments(s.namespace).Get(t.Context(), "web", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if pod := web.Spec.Template.Spec; pod.HostNetwork || len(pod.NodeSelector) > 0 {
		t.Errorf("the pod has %+v", pod)
	}
	if s.isThere(t, "extra") {
		t.Error("the config map of the failed upgrade is left")
	}
	w.run(t, "destroy", "-auto-approve", "-input=false")
	s.expectNothing(t, 0)
}
