package storage

import (
	"context"
	"strings"

	helmrelease "helm.sh/helm/v3/pkg/release"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"

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

// secretCollectingStore adds the content of a release record to the masker before it is sent.
// The record contains the values of all Secrets of the release.
type secretCollectingStore struct {
	corev1client.SecretInterface

	masker *mask.Masker
}

func (s secretCollectingStore) collect(record *corev1.Secret) {
	for _, content := range record.Data {
		s.masker.Add(string(content))
	}
}

func (s secretCollectingStore) Create(ctx context.Context, record *corev1.Secret, options metav1.CreateOptions) (*corev1.Secret, error) {
	s.collect(record)
	return s.SecretInterface.Create(ctx, record, options)
}

func (s secretCollectingStore) Update(ctx context.Context, record *corev1.Secret, options metav1.UpdateOptions) (*corev1.Secret, error) {
	s.collect(record)
	return s.SecretInterface.Update(ctx, record, options)
}
