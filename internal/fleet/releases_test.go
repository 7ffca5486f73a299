package fleet

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A BundleDeployment takes the release that its agent has made, and the one that it is going to make.
func TestReleasesOfADeployment(t *testing.T) {
	t.Parallel()
	const (
		web = `{"defaultNamespace": "shop", "helm": {"releaseName": "web"}}`
		api = `{"defaultNamespace": "shop", "namespace": "api", "helm": {"releaseName": "api"}}`
	)
	tests := map[string]struct {
		spec string
		want []string
	}{
		"deployed":             {spec: `{"deploymentID": "1", "stagedDeploymentID": "1", "options": ` + web + `, "stagedOptions": ` + web + `}`, want: []string{"shop/web"}},
		"held, new":            {spec: `{"stagedDeploymentID": "1", "stagedOptions": ` + web + `}`, want: []string{"shop/web"}},
		"held, with a release": {spec: `{"deploymentID": "1", "stagedDeploymentID": "2", "options": ` + web + `, "stagedOptions": ` + api + `}`, want: []string{"shop/web", "api/api"}},
		"no names":             {spec: `{"deploymentID": "1", "stagedDeploymentID": "1"}`, want: []string{"default/apps-web"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var d deployedRelease
			if err := json.Unmarshal([]byte(`{"metadata": {"name": "apps-web"}, "spec": `+test.spec+`}`), &d); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, d.releases()); diff != "" {
				t.Errorf("releases (-want +got):\n%s", diff)
			}
		})
	}
}
