package fleetyaml_test

import (
	"testing"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/fleetyaml"
)

// Fleet has no helm.crds, so a fleet.yaml cannot set it; HCL can.
func TestCRDsAreHCL(t *testing.T) {
	t.Parallel()
	text := []byte("helm: {crds: skip}\n")
	if _, _, err := fleetyaml.Parse("fleet.yaml", text, true); err == nil || err.Error() != `fleet.yaml:1:8: unknown key "crds" in helm` {
		t.Errorf("Parse() error = %v", err)
	}
	got, notes, err := fleetyaml.Parse("fleet.yaml", text, false)
	if err != nil || len(notes) != 1 || got.Helm.CRDs != "" {
		t.Errorf("Parse() = %+v, %v, %v", got.Helm, notes, err)
	}
	got, notes, err = fleetyaml.ParseHCL(text)
	if err != nil || len(notes) != 0 || got.Helm.CRDs != fleetyaml.CRDsSkip {
		t.Errorf("ParseHCL() = %+v, %v, %v", got.Helm, notes, err)
	}
}
