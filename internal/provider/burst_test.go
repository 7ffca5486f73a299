package provider_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/providertest"
)

func TestBurstWithoutQPS(t *testing.T) {
	t.Parallel()
	c := providertest.New(t)
	for name, test := range map[string]struct {
		limits map[string]any
		want   []string
	}{
		"without qps": {limits: map[string]any{"burst": 5}, want: []string{"burst has no effect"}},
		"with qps":    {limits: map[string]any{"burst": 5, "qps": 1}},
		"qps alone":   {limits: map[string]any{"qps": 1}},
		"neither":     {limits: map[string]any{}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test.limits["host"] = "https://127.0.0.1:1"
			config := providertest.Typed(t, c.Schemas.Provider.ValueType(), map[string]any{"owner": "acme", "clusters": map[string]any{"a": test.limits}})
			resp, err := c.Server.ValidateProviderConfig(t.Context(), &tfprotov6.ValidateProviderConfigRequest{Config: providertest.Packed(t, config)})
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, found := range resp.Diagnostics {
				got = append(got, found.Summary)
				if found.Severity != tfprotov6.DiagnosticSeverityWarning {
					t.Errorf("%s: %s is no warning", found.Summary, found.Detail)
				}
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("diagnostics (-want +got):\n%s", diff)
			}
		})
	}
}
