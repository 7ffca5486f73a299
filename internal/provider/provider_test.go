package provider

import (
	"testing"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
)

// The framework checks schemas when a server returns them.
func TestSchemasAreValid(t *testing.T) {
	t.Parallel()
	resp, err := Unmasked("test", &Cleanup{}).GetProviderSchema(t.Context(), &tfprotov6.GetProviderSchemaRequest{})
	if err != nil {
		t.Fatal(err)
	}
	for _, found := range resp.Diagnostics {
		t.Errorf("%s: %s", found.Summary, found.Detail)
	}
	if got := len(resp.ResourceSchemas); got != 3 {
		t.Errorf("%d resources, want 3", got)
	}
}
