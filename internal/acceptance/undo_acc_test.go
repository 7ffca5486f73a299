package acceptance_test

import (
	"fmt"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/metadata"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/testenv"
)

// A failed install returns when the definitions that it has made no longer exist, with the objects
// of their kinds.
func TestAccFailedInstallLeavesNoDefinition(t *testing.T) {
	t.Parallel()
	tests := map[string]string{
		"an object is refused":    `"templates/bad.yaml" = "apiVersion: v1\nkind: Service\nmetadata: {name: bad}\nspec: {ports: [{port: 99999999}]}\n"`,
		"a definition is refused": `"crds/z.yaml" = "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: other}\nspec: {}\n"`,
	}
	for name, bad := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, s := newWorkspace(t), newFixture(t, testenv.Shared(t))
			group := s.namespace + ".example.com"
			var files strings.Builder
			for i := range 4 {
				fmt.Fprintf(&files, "    \"crds/%d.yaml\" = %q\n", i, fmt.Sprintf("apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: things%d.%s}\nspec:\n"+
					"  group: %s\n  scope: Namespaced\n  names: {kind: Thing%d, plural: things%d, singular: thing%d}\n"+
					"  versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}]\n", i, group, group, i, i, i))
				fmt.Fprintf(&files, "    \"templates/%d.yaml\" = %q\n", i, fmt.Sprintf("apiVersion: %s/v1\nkind: Thing%d\nmetadata: {name: a}\n", group, i))
			}
			w.configure(t, s.provider("", `on = "yes"`), `
resource "fleet_bundle" "app" {
  name              = "app"
  default_namespace = "`+s.namespace+`"
  files = {
    "Chart.yaml" = yamlencode({ apiVersion = "v2", name = "app", version = "1.0.0" })
`+files.String()+bad+`
  }
}
`, target("", "fleet_bundle.app.bundles"))
			output := w.fail(t, []string{"apply", "-auto-approve", "-input=false"}, "is invalid")
			client, err := metadata.NewForConfig(s.env.Cluster(0).RESTConfig())
			if err != nil {
				t.Fatal(err)
			}
			listed, err := client.Resource(definitionResource()).List(t.Context(), metav1.ListOptions{})
			if err != nil {
				t.Fatal(err)
			}
			for _, definition := range listed.Items {
				if strings.HasSuffix(definition.Name, group) {
					t.Errorf("%s is left, with finalizers %v; the apply says\n%s", definition.Name, definition.Finalizers, output)
				}
			}
		})
	}
}
