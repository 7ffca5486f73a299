package templates_test

import (
	"strings"
	"testing"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/fleetyaml"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/target"
)

// Templates run without a network for any value of helm.disableDNS, so that a plan on another
// machine has the same result. Fleet resolves host names unless disableDNS is set.
func TestTemplatesLookUpNoHosts(t *testing.T) {
	t.Parallel()
	chart := map[string]string{
		"Chart.yaml":       chartYAML,
		"templates/a.yaml": configMap("a", `no{{ getHostByName "localhost" }}host`),
	}
	for _, disabled := range []bool{false, true} {
		d := deployment(chart, func(d *target.Deployment) { d.Options.Helm = &fleetyaml.Helm{DisableDNS: disabled} })
		manifest, _, err := newCharts().Template(t.Context(), d, "v1.36.0")
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(manifest, "key: nohost\n") {
			t.Errorf("disableDNS %t: a host was looked up:\n%s", disabled, manifest)
		}
	}
}
