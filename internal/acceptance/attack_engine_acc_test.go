package acceptance_test

import (
	"fmt"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/testenv"
)

// expectNoDocumentThatHides plans bundles that hide objects, for a Fleet to deliver. The agents of a
// Fleet read them as Helm does. The plan is an error that names each file, and no Bundle is written.
func expectNoDocumentThatHides(t *testing.T, fleet *testenv.Fleet) {
	t.Helper()
	s := engineStory{fleet: fleet, w: newWorkspace(t), namespace: "acc-engine-hides"}
	client, err := kubernetes.NewForConfig(fleet.Cluster("c1").RESTConfig())
	if err != nil {
		t.Fatal(err)
	}
	hidden := fmt.Sprintf(`{"apiVersion":"rbac.authorization.k8s.io/v1","kind":"ClusterRoleBinding","metadata":{"name":%q},"roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"ClusterRole","name":"view"}}`, s.namespace)
	definition := `{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"hides.acc-engine.example.com"},"spec":{"group":"acc-engine.example.com","scope":"Namespaced",` +
		`"names":{"kind":"Hide","plural":"hides"},"versions":[{"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object"}}}]}}`
	files := map[string]string{
		"crds/stream.json":       definition + "\n" + hidden + "\n",
		"templates/hook.yaml":    hookOf("hook", "", "pre-install", "", "items: ["+hidden+", null]\n"),
		"templates/listed.yaml":  "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: listed}\nitems: [" + hidden + ", null]\n",
		"templates/joined.yaml":  `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"joined","annotations":{"helm.sh/hook":"pre-install"}}}` + hidden,
		"templates/marked.yaml":  "\ufeff" + `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"marked"}}` + "\n" + hidden,
		"templates/ended.yaml":   "# first\u0085---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: ended}\n\u0085---\n" + hidden,
		"templates/empty.yaml":   "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: empty}\nitems: null\n",
		"templates/spelled.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: spelled, Annotations: {helm.sh/hook: pre-delete}}\n",
	}
	var config strings.Builder
	var bundles, wanted []string
	for file, text := range files {
		_, name, _ := strings.Cut(strings.Split(file, ".")[0], "/")
		wanted, bundles = append(wanted, file), append(bundles, "fleet_bundle."+name+".bundles")
		fmt.Fprintf(&config, "resource \"fleet_bundle\" %[1]q {\n  name = %[1]q\n  namespace = %[2]q\n  files = {\n    \"Chart.yaml\" = \"apiVersion: v2\\nname: app\\nversion: 1.0.0\\n\"\n    \"templates/cm.yaml\" = %[3]q\n    %[4]q = %[5]q\n  }\n}\n",
			name, s.namespace, configMap(name+"-beside", "x"), file, text)
	}
	s.w.configure(t, engineProvider(fleet, ""), config.String(),
		fmt.Sprintf("resource \"fleet_cluster_target\" \"hides\" {\n  name = \"hides\"\n  bundles = [%s]\n  targets = [{ cluster_name = \"c1\" }]\n}\n", strings.Join(bundles, ", ")))
	expectMention(t, errorsIn(s.w.refuse(t, []string{"plan", "-input=false"})), wanted...)
	s.w.attempt(t, applying...)
	written, err := s.objects(t, "bundles").List(t.Context(), metav1.ListOptions{LabelSelector: "agentless-fleet.github.io/target=hides"})
	if err != nil || len(written.Items) > 0 {
		t.Errorf("%d Bundles were written, error %v", len(written.Items), err)
	}
	s.w.destroyOutput(t)
	bindings := client.RbacV1().ClusterRoleBindings()
	if _, err := bindings.Get(t.Context(), s.namespace, metav1.GetOptions{}); err == nil {
		t.Error("a Fleet has made the ClusterRoleBinding that a file hides")
		if err := bindings.Delete(t.Context(), s.namespace, metav1.DeleteOptions{}); err != nil {
			t.Log(err)
		}
	}
}

// Bundles that a Fleet delivers hide no objects either.
func TestAttackDocumentsUnderEngine(t *testing.T) {
	t.Parallel()
	expectNoDocumentThatHides(t, testenv.SharedFleet(t))
}
