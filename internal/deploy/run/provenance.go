package run

import (
	"fmt"
	"strings"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/target"
)

// Provenance returns the text for the history of a release. It names the target, the bundle, the
// digest and the commit if the bundle is from git. In HCP Terraform it also names the run, the
// workspace and the commit of the configuration.
func Provenance(name string, d target.Deployment, commit string, env func(string) string) string {
	parts := []string{fmt.Sprintf("Terraform target %s, bundle %s, %s", name, d.Bundle.Name, d.Digest)}
	for _, known := range []struct{ what, value string }{
		{"commit ", commit},
		{"", env("TFC_RUN_ID")}, // Its form shows that it is a run: run-….
		{"workspace ", env("TFC_WORKSPACE_NAME")},
		{"configuration ", env("TFC_CONFIGURATION_VERSION_GIT_COMMIT_SHA")},
	} {
		if known.value != "" {
			parts = append(parts, known.what+known.value)
		}
	}
	return strings.Join(parts, ", ")
}
