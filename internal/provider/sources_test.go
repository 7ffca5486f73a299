package provider

import (
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/framework"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/source"
)

// The descriptor of a bundle contains sources. After a change of sources, another process must not make
// the bundle with the former ones, so no descriptor is kept. Charts stay pinned.
func TestNewSourcesRenewDescriptors(t *testing.T) {
	t.Parallel()
	bundles := bundlesOf(map[string]source.Element{"web": {Digest: "digest", Descriptor: "descriptor"}})
	of := func(sources ...string) types.List {
		if sources == nil {
			return types.ListNull(types.StringType)
		}
		return framework.StringListValue(sources)
	}
	for name, test := range map[string]struct {
		before, after types.List
		kept          bool
	}{
		"the same": {of("https://a/**"), of("https://a/**"), true},
		"none":     {of(), of(), true},
		"new":      {of(), of("https://a/**"), false},
		"others":   {of("https://a/**"), of("https://b/**"), false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var diags diag.Diagnostics
			repository := gitRepoModel{Repo: types.StringValue("https://git.example.com/fleet"), Sources: test.after}
			priorRepository := gitRepoModel{Repo: repository.Repo, Sources: test.before, Bundles: bundles}
			files := bundleModel{Sources: test.after}
			priorFiles := bundleModel{Sources: test.before, Bundles: bundles}
			for _, r := range []*request{new(repository.requestOf(t.Context(), priorRepository, &diags)), files.request(t.Context(), &priorFiles, &diags)} {
				if kept := len(r.Prior) == 1; kept != test.kept || len(r.Known) != 1 {
					t.Errorf("descriptors are kept: %t, pins: %d", kept, len(r.Known))
				}
			}
			if diags.HasError() {
				t.Error(diags)
			}
		})
	}
}
