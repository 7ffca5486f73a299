package helm

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/manifest"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/mask"
)

// When an API server or one of its webhooks refuses an object, it can quote the object. So an
// operation adds the values of all Secrets to its masker before it sends them.

// collectSecretsOfLookup adds the values of the Secrets that templates look up.
func collectSecretsOfLookup(
	cluster Cluster, masker *mask.Masker,
) func(ctx context.Context, apiVersion, kind, namespace, name string) (map[string]any, error) {
	return func(ctx context.Context, apiVersion, kind, namespace, name string) (map[string]any, error) {
		found, err := lookup(ctx, cluster, apiVersion, kind, namespace, name)
		if err == nil {
			masker.AddSecret(found)
		}
		return found, err
	}
}

// collectSecretsOfLive adds the values of the live Secret of a refused request. Webhooks
// receive the live Secret too, with values that no manifest has.
func (r errorRecorder) collectSecretsOfLive(refused *http.Request) {
	const collection = "/secrets/"
	read := refused.Method == http.MethodGet || refused.Method == http.MethodPost
	if read || r.masker == nil || !strings.Contains(refused.URL.Path, collection) {
		return
	}
	request := refused.Clone(refused.Context())
	request.Method = http.MethodGet
	request.Body = nil
	request.ContentLength = 0
	request.URL.RawQuery = ""
	request.Header.Del("Content-Type")
	request.Header.Set("Accept", "application/json")
	response, err := r.next.RoundTrip(request)
	if err != nil {
		return
	}
	defer func() { _ = response.Body.Close() }()
	content, err := io.ReadAll(response.Body) // The connection limits the size.
	var live map[string]any
	if err == nil && json.Unmarshal(content, &live) == nil {
		r.masker.AddSecret(live)
	}
}

// MaskSecrets returns a manifest in which the values of Secrets and the given secret texts are
// masked.
func MaskSecrets(stream string, texts ...string) (string, error) {
	parsed, err := manifest.Parse([]byte(stream))
	if err != nil {
		return "", err
	}
	masker := &mask.Masker{}
	for _, object := range parsed {
		masker.Publish(object.GetName(), object.GetNamespace())
	}
	masker.AddTexts(texts...)
	for _, object := range parsed {
		masker.AddSecret(object.Object)
	}
	for _, object := range parsed {
		masker.Object(object.Object)
	}
	return manifest.Join(parsed)
}
