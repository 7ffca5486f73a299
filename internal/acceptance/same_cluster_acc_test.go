package acceptance_test

import (
	"fmt"
	"testing"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/testenv"
)

// Two entries for one cluster with one release are an error before the first write of the first apply.
func TestAccSameClusterTwice(t *testing.T) {
	t.Parallel()
	env := testenv.Shared(t)
	s, w := newFixture(t, env), newWorkspace(t)
	configure := func(value string) {
		entry := fmt.Sprintf("{ config_path = %q, config_context = %q, labels = { on = \"yes\" } }", env.Kubeconfig(), env.Contexts()[0])
		w.configure(t, fmt.Sprintf("provider \"fleet\" {\n  owner = %q\n  clusters = {\n    a = %s\n    b = %s\n  }\n}\n", s.namespace, entry, entry),
			s.bundle("app", value), target("", "fleet_bundle.app.bundles"))
	}
	configure("1")
	w.fail(t, []string{"apply", "-input=false", "-auto-approve"}, "several entries of clusters connect to one cluster", "a, b", "would overwrite each other")
	s.expectNothing(t, 0)
}
