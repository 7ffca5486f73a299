package acceptance_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/testenv"
)

// Labels and annotations of the namespace are templated for each cluster. Those of others stay, and
// those that are no longer wanted go.
func TestAccNamespaceLabels(t *testing.T) {
	t.Parallel()
	s, w := newFixture(t, testenv.Shared(t)), newWorkspace(t)
	type words = map[string]string
	configure := func(env, metadata string) {
		w.configure(t, s.provider("", on+`, env = "dev"`, on+`, env = "`+env+`"`),
			strings.Replace(s.bundle("one", "x"), "files = ", metadata+"\n  files = ", 1), target("", "fleet_bundle.one.bundles"))
	}
	expect := func(step string, i int, labels, annotations words) {
		t.Helper()
		found, err := s.client(t, i).CoreV1().Namespaces().Get(t.Context(), s.namespace, metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		for _, key := range []string{"kubernetes.io/metadata.name", "name", "agentless-fleet.github.io/owner"} { // Of the creation.
			delete(found.Labels, key)
		}
		if difference := cmp.Diff(labels, found.Labels); difference != "" {
			t.Errorf("%s: labels on cluster %d (-want +got):\n%s", step, i, difference)
		}
		if difference := cmp.Diff(annotations, found.Annotations); difference != "" {
			t.Errorf("%s: annotations on cluster %d (-want +got):\n%s", step, i, difference)
		}
	}

	configure("prod", `namespace_labels = { env = "$${ .ClusterLabels.env }", mine = "x" }
  namespace_annotations = { note = "cluster $${ .ClusterName | upper }" }`)
	w.apply(t)
	expect("created", 0, words{"env": "dev", "mine": "x"}, words{"note": "cluster A"})
	expect("created", 1, words{"env": "prod", "mine": "x"}, words{"note": "cluster B"})
	w.expectEmptyPlan(t)

	for i := range 2 {
		const theirs = `{"metadata":{"labels":{"theirs":"stays"},"annotations":{"field.cattle.io/projectId":"c:p"}}}`
		if _, err := s.client(t, i).CoreV1().Namespaces().Patch(t.Context(), s.namespace, types.MergePatchType, []byte(theirs), metav1.PatchOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	w.expectEmptyPlan(t)
	configure("stage", `namespace_labels = { env = "$${ .ClusterLabels.env }" }`)
	w.apply(t)
	expect("changed", 0, words{"env": "dev", "theirs": "stays"}, words{"field.cattle.io/projectId": "c:p"})
	expect("changed", 1, words{"env": "stage", "theirs": "stays"}, words{"field.cattle.io/projectId": "c:p"})
	w.expectEmptyPlan(t)

	configure("not a label", `namespace_labels = { env = "$${ .ClusterLabels.env }" }`)
	output := w.fail(t, []string{"plan", "-input=false"}, "b/one", "namespace_labels: what env is set to is not a valid value of a label")
	if strings.Contains(output, "a/one") {
		t.Errorf("the other cluster is reported:\n%s", output)
	}
	configure("stage", `namespace_labels = { env = "$${ .ClusterLabels.env }" }`)
	w.run(t, "destroy", "-auto-approve", "-input=false")
	expect("destroyed", 1, words{"theirs": "stays"}, words{"field.cattle.io/projectId": "c:p"})
}
