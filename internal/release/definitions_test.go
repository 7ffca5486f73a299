package release_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/fleetyaml"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/release"
)

func TestDefinitionsText(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		found   []release.Definition
		want    string
		ignored bool
	}{
		"nothing": {},
		"as they are": {found: []release.Definition{
			{Cluster: "a", Bundle: "app", Name: "x.example.com", Policy: fleetyaml.CRDsCreate, Installed: true},
			{Cluster: "a", Bundle: "app", Name: "y.example.com", Policy: fleetyaml.CRDsCreateReplace, Installed: true},
		}},
		"created by an install": {found: []release.Definition{
			{Cluster: "a", Bundle: "app", Name: "x.example.com", Policy: fleetyaml.CRDsCreate, State: release.DefinitionMissing},
		}},
		"left as they are": {
			found: []release.Definition{
				{Cluster: "b", Bundle: "app", Name: "x.example.com", Policy: fleetyaml.CRDsCreate, State: release.DefinitionDiffers},
				{Cluster: "a", Bundle: "app", Name: "x.example.com", Policy: fleetyaml.CRDsCreate, State: release.DefinitionDiffers, Installed: true},
				{Cluster: "a", Bundle: "app", Name: "y.example.com", Policy: fleetyaml.CRDsCreate, State: release.DefinitionMissing, Installed: true},
				{Cluster: "a", Bundle: "app", Name: "z.example.com", Policy: fleetyaml.CRDsCreate, State: release.DefinitionForeign, Owner: "ns/other", Installed: true},
			},
			want: "Not created, because Helm creates definitions only when it installs a release:\n  - y.example.com: a/app\n\n" +
				"Not replaced, although the cluster has another version:\n  - x.example.com: a/app, b/app\n  - z.example.com: a/app",
			ignored: true,
		},
		"replaced": {
			found: []release.Definition{
				{Cluster: "a", Bundle: "app", Name: "x.example.com", Policy: fleetyaml.CRDsCreateReplace, State: release.DefinitionDiffers, Installed: true},
				{Cluster: "a", Bundle: "app", Name: "y.example.com", Policy: fleetyaml.CRDsCreateReplace, State: release.DefinitionMissing, Installed: true},
				{Cluster: "a", Bundle: "app", Name: "z.example.com", Policy: fleetyaml.CRDsCreateReplace, State: release.DefinitionForeign, Owner: "ns/other", Installed: true},
			},
			want: "Created:\n  - y.example.com: a/app\n\n" +
				"Not replaced, because another release owns them; these deployments will fail:\n  - z.example.com, of release ns/other: a/app\n\n" +
				"Replaced, because the cluster has another version:\n  - x.example.com: a/app",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, ignored := release.DefinitionsText(test.found)
			if diff := cmp.Diff(test.want, got); diff != "" || ignored != test.ignored {
				t.Errorf("DefinitionsText() ignored = %t (-want +got):\n%s", ignored, diff)
			}
		})
	}
}
