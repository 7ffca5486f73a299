package run_test

import (
	"testing"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/bundle"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/deploy/run"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/target"
)

func TestProvenance(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		commit string
		env    map[string]string
		want   string
	}{
		"by hand, from files": {want: "Terraform target all, bundle web, v1-0123"},
		"by hand, from git":   {commit: "4f2a", want: "Terraform target all, bundle web, v1-0123, commit 4f2a"},
		"HCP Terraform": {
			commit: "4f2a",
			env:    map[string]string{"TFC_RUN_ID": "run-1", "TFC_WORKSPACE_NAME": "prod", "TFC_CONFIGURATION_VERSION_GIT_COMMIT_SHA": "77aa"},
			want:   "Terraform target all, bundle web, v1-0123, commit 4f2a, run-1, workspace prod, configuration 77aa",
		},
		"HCP Terraform, uploaded by the CLI": {
			env:  map[string]string{"TFC_RUN_ID": "run-1", "TFC_WORKSPACE_NAME": "prod"},
			want: "Terraform target all, bundle web, v1-0123, run-1, workspace prod",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := target.Deployment{Bundle: &bundle.Bundle{Name: "web"}, Digest: "v1-0123"}
			if got := run.Provenance("all", d, test.commit, func(key string) string { return test.env[key] }); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}
