package run_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/deploy"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/target"
)

// A namespace can be empty between the removal of one release and the install of another. So a
// removal and a rollback get the releases that are to be deployed there.
func TestApplyReportsWhoDeploysToANamespace(t *testing.T) {
	t.Parallel()
	in := func(d target.Deployment, namespace string) target.Deployment {
		d.Namespace = namespace
		return d
	}
	old := deployment("c1", "web", "v1-old")
	tests := map[string]struct {
		write  []target.Deployment
		remove []deploy.Key
		// removal and written are the releases that a removal and a write get, by release.
		removal, written map[string][]string
	}{
		"a removal alone": {remove: []deploy.Key{key("c1", "web")}, removal: map[string][]string{"ns/web": nil}},
		"a removal beside installs": {
			write:   []target.Deployment{deployment("c1", "two", "v1-a"), deployment("c1", "one", "v1-a"), in(deployment("c1", "far", "v1-a"), "other")},
			remove:  []deploy.Key{key("c1", "web")},
			removal: map[string][]string{"ns/web": {"one", "two"}},
			written: map[string][]string{"ns/one": {"two"}, "ns/two": {"one"}, "other/far": nil},
		},
		"a release that moves out beside one that moves in": {
			write:   []target.Deployment{in(deployment("c1", "web", "v1-new"), "other"), deployment("c1", "one", "v1-a")},
			removal: map[string][]string{"ns/web": {"one"}},
			written: map[string][]string{"ns/one": nil, "other/web": nil},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			clusters := newFleet("c1")
			clusters["c1"].put(deployed(old))
			asked := request(map[deploy.Key]deploy.Record{key("c1", "web"): recordOfWrite(old)})
			asked.Write, asked.Remove = test.write, test.remove
			expectNoFailures(t, clusters.runner().Apply(t.Context(), asked).Failures)
			removal, written := map[string][]string{}, map[string][]string{}
			for of, told := range clusters["c1"].removals {
				removal[of] = told.NamespaceUsedBy
			}
			for of, told := range clusters["c1"].writes {
				written[of] = told.NamespaceUsedBy
			}
			if diff := cmp.Diff(test.removal, removal); diff != "" {
				t.Errorf("removals (-want +got):\n%s", diff)
			}
			if test.written == nil {
				test.written = map[string][]string{}
			}
			if diff := cmp.Diff(test.written, written); diff != "" {
				t.Errorf("writes (-want +got):\n%s", diff)
			}
		})
	}
}
