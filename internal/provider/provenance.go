package provider

import (
	"fmt"
	"os"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/source"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/target"
)

// provenance stands in the history of a release: what it was made from, at which
// commit if it came from git and, in HCP Terraform, by which run of which workspace
// for which commit of the configuration.
func provenance(name string, d target.Deployment, commit string, env func(string) string) string {
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

// describer writes the provenance of deployments of bundles. A bundle whose content
// has not changed keeps the commit that it came with.
func describer(name string, bundles types.List) func(target.Deployment) string {
	commits := map[string]string{}
	for _, value := range bundles.Elements() {
		of, ok := value.(types.Map)
		if !ok {
			continue
		}
		for bundle, element := range elementsOf(of) {
			described, err := source.Decode(element.Descriptor.ValueString())
			if err == nil && described.Git != nil { // What is wrong with one shows where it is read.
				commits[bundle] = described.Git.Commit
			}
		}
	}
	return func(d target.Deployment) string { return provenance(name, d, commits[d.Bundle.Name], os.Getenv) }
}
