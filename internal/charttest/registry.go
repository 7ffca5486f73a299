package charttest

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
)

// RegistryURL is the address of a chart in the registry: oci://host/acme/web for
// "acme/web".
func (s *Server) RegistryURL(repository string) string {
	_, host, _ := strings.Cut(s.http.URL, "://")
	return "oci://" + host + "/" + repository
}

// Media types of Helm charts in registries (https://helm.sh/docs/topics/registries).
const (
	manifestType = "application/vnd.oci.image.manifest.v1+json"
	configType   = "application/vnd.cncf.helm.config.v1+json"
	chartType    = "application/vnd.cncf.helm.chart.content.v1.tar+gzip"
)

type descriptor struct {
	MediaType string `json:"mediaType"`
	Digest    string `json:"digest"`
	Size      int    `json:"size"`
}

type manifest struct {
	SchemaVersion int          `json:"schemaVersion"`
	MediaType     string       `json:"mediaType"`
	Config        descriptor   `json:"config"`
	Layers        []descriptor `json:"layers"`
}

// PushChart pushes a chart to the registry, under the tag of its version, and returns the path of
// its archive there, for Break and Requests.
func (s *Server) PushChart(repository string, chart Chart) (path string) {
	return s.registry.push(repository, chart.Version, configType, chartType, chart.Package())
}

// PushImage pushes an artifact to the registry that is not a chart.
func (s *Server) PushImage(repository, tag string) {
	s.registry.push(repository, tag, "application/vnd.oci.image.config.v1+json", "application/vnd.oci.image.layer.v1.tar+gzip", []byte("the layer of "+tag))
}

// Reference returns the digest that the registry has for a tag.
func (s *Server) Reference(repository, tag string) string {
	request := httptest.NewRequestWithContext(context.Background(), http.MethodHead, "/v2/"+repository+"/manifests/"+tag, http.NoBody) //nolint:forbidigo // The handler runs in memory.
	answer := httptest.NewRecorder()
	s.registry.ServeHTTP(answer, request)
	return answer.Header().Get("Docker-Content-Digest")
}

// DeleteManifest removes a tag, or the manifest of a digest, from the registry.
func (s *Server) DeleteManifest(repository, reference string) {
	s.registry.put(http.MethodDelete, "/v2/"+repository+"/manifests/"+reference, manifestType, nil, http.StatusAccepted)
}

// ociRegistry is a registry that is called without its login.
type ociRegistry struct{ http.Handler }

func (r ociRegistry) push(repository, version, config, layer string, content []byte) (path string) {
	made := manifest{
		SchemaVersion: 2, MediaType: manifestType,
		Config: r.pushBlob(repository, config, []byte("{}")),
		Layers: []descriptor{r.pushBlob(repository, layer, content)},
	}
	document, err := json.Marshal(made)
	must(err)
	// A tag cannot contain "+".
	tag := strings.ReplaceAll(version, "+", "_")
	r.put(http.MethodPut, "/v2/"+repository+"/manifests/"+tag, manifestType, document, http.StatusCreated)
	return "/v2/" + repository + "/blobs/" + made.Layers[0].Digest
}

func (r ociRegistry) pushBlob(repository, mediaType string, content []byte) descriptor {
	sum := sha256.Sum256(content)
	digest := "sha256:" + hex.EncodeToString(sum[:])
	r.put(http.MethodPost, "/v2/"+repository+"/blobs/uploads/?digest="+digest, "application/octet-stream", content, http.StatusCreated)
	return descriptor{MediaType: mediaType, Digest: digest, Size: len(content)}
}

// put sends content, and panics unless the registry accepts it.
func (r ociRegistry) put(method, path, mediaType string, content []byte, want int) {
	request := httptest.NewRequestWithContext(context.Background(), method, path, bytes.NewReader(content)) //nolint:forbidigo // The handler runs in memory.
	request.Header.Set("Content-Type", mediaType)
	answer := httptest.NewRecorder()
	r.ServeHTTP(answer, request)
	if answer.Code != want {
		panic(fmt.Sprintf("%s %s: status %d: %s", method, path, answer.Code, answer.Body))
	}
}
