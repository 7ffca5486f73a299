package deploy

import (
	"fmt"
	"strings"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/target"
)

// Provenance stands in the history of a release: what it was made from, at which
// commit if it came from git and, in HCP Terraform, by which run of which workspace
// for which commit of the configuration.
func Provenance(name string, d target.Deployment, commit string, env func(string) string) string {
	parts := []string{fmt.Sprintf("Terraform target %s, bundle %s, %s", name, d.Bundle.Name, d.Digest)}
	for _, known := range []struct{ what, value string }{
		{"commit ", commit},
		{"", env("TFC_RUN_ID")}, // It says itself what it is: run-….
		{"workspace ", env("TFC_WORKSPACE_NAME")},
		{"configuration ", env("TFC_CONFIGURATION_VERSION_GIT_COMMIT_SHA")},
	} {
		if known.value != "" {
			parts = append(parts, known.what+known.value)
		}
	}
	return strings.Join(parts, ", ")
}
