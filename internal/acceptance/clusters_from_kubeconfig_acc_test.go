package acceptance_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/testenv"
)

// The contexts of a kubeconfig become clusters that can be deployed to.
func TestAccClustersFromKubeconfig(t *testing.T) {
	t.Parallel()
	w, s := newWorkspace(t), newFixture(t, testenv.Shared(t))
	kubeconfig, err := os.ReadFile(s.env.Kubeconfig())
	if err != nil {
		t.Fatal(err)
	}
	w.configure(t, fmt.Sprintf(`
variable "kubeconfig" {
  type      = string
  sensitive = true
}
provider "fleet" {
  owner = %q
  clusters = {
    for context, entry in provider::fleet::clusters_from_kubeconfig(var.kubeconfig) :
    trim(replace(lower(context), "/[^a-z0-9]+/", "-"), "-") => merge(entry, { labels = { on = "yes" } }) if context == %q
  }
}
`, s.namespace, s.env.Contexts()[0]), s.bundle("web", "1"), target("", "fleet_bundle.web.bundles"))
	w.env = append(w.env, "TF_VAR_kubeconfig="+string(kubeconfig))
	w.apply(t)
	s.expectReleases(t, 0, "web")
	if output := w.expectEmptyPlan(t); strings.Contains(output, "certificate-authority-data") {
		t.Error("the plan shows the kubeconfig")
	}
	w.run(t, "destroy", "-auto-approve")
	s.expectNothing(t, 0)
}
