package storage

import (
	"strings"

	helmrelease "helm.sh/helm/v3/pkg/release"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/manifest"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/mask"
)

// collectSecretsOfManifest adds the values of all Secrets in a manifest. A manifest that
// cannot be read has no Secret that could be sent.
func collectSecretsOfManifest(masker *mask.Masker, stream string) {
	if !strings.Contains(stream, "Secret") {
		return
	}
	parsed, err := manifest.Parse([]byte(stream))
	if err != nil {
		return
	}
	for _, object := range manifest.Flatten(parsed) {
		masker.AddSecret(object.Object)
	}
}

// collectSecretsOfRecord adds the values of all Secrets in a record.
func collectSecretsOfRecord(masker *mask.Masker, record *helmrelease.Release) {
	collectSecretsOfManifest(masker, record.Manifest)
	for _, hook := range record.Hooks {
		collectSecretsOfManifest(masker, hook.Manifest)
	}
}
