package helm

import (
	"testing"

	"helm.sh/helm/v3/pkg/chartutil"
)

func TestValidatesFields(t *testing.T) {
	t.Parallel()
	tests := map[string]bool{
		"v1.26.15":            false,
		"v1.27.0":             true,
		"v1.27.0-alpha.1":     true,
		"v1.31.4-eks-56e63d8": true,
		"v1.33.1+k3s1":        true,
		"v2.0.0":              true,
		"":                    false,
		"unknown":             false,
	}
	for server, want := range tests {
		t.Run(server, func(t *testing.T) {
			t.Parallel()
			if got := validatesFields(chartutil.KubeVersion{Version: server}); got != want {
				t.Errorf("got %t, want %t", got, want)
			}
		})
	}
}
