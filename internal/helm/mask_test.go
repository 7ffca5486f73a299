package helm_test

import (
	"strings"
	"testing"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/helm"
)

func TestMaskSecrets(t *testing.T) {
	t.Parallel()
	const manifest = "apiVersion: v1\nkind: Secret\nmetadata: {name: s, annotations: {kubectl.kubernetes.io/last-applied-configuration: 'data: {a: c2VjcmV0}'}}\ndata: {a: c2VjcmV0}\nstringData: {b: secret}\n---\n" +
		"apiVersion: v1\nkind: List\nitems:\n- apiVersion: v1\n  kind: Secret\n  metadata: {name: below}\n  stringData: {c: secret}\n---\n" +
		"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\ndata: {d: public}\n"
	masked, err := helm.MaskSecrets(manifest)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"a: (sensitive value)", "b: (sensitive value)", "c: (sensitive value)", "d: public", "name: below"} {
		if !strings.Contains(masked, want) {
			t.Errorf("%q is not in\n%s", want, masked)
		}
	}
	if strings.Contains(masked, "c2VjcmV0") || strings.Contains(masked, ": secret") {
		t.Errorf("a secret can be read:\n%s", masked)
	}
}
