package acceptance_test

import (
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"

	"github.com/ProtonMail/go-crypto/openpgp"
)

// releaseServer serves a release over HTTPS in two ways: below /mirror/ as a network mirror
// (https://developer.hashicorp.com/terraform/internals/provider-network-mirror-protocol), and as a
// registry (https://developer.hashicorp.com/terraform/internals/provider-registry-protocol).
type releaseServer struct {
	*httptest.Server
	releaseFiles

	// protocols are the versions of the plugin protocol in the manifest.
	protocols []string
	keyID     string
}

func serveRelease(t *testing.T, files releaseFiles) *releaseServer {
	t.Helper()
	var manifest struct {
		Metadata struct {
			Protocols []string `json:"protocol_versions"`
		} `json:"metadata"`
	}
	if err := json.Unmarshal(files.files[files.manifest()], &manifest); err != nil {
		t.Fatal(err)
	}
	keys, err := openpgp.ReadArmoredKeyRing(strings.NewReader(files.key))
	if err != nil {
		t.Fatal(err)
	}
	s := &releaseServer{releaseFiles: files, protocols: manifest.Metadata.Protocols, keyID: keys[0].PrimaryKey.KeyIdString()}
	pages := http.NewServeMux()
	for path, body := range map[string]any{
		"/mirror/registry.terraform.io/agentless-fleet/fleet/index.json":                 s.mirrorVersions(),
		"/mirror/registry.terraform.io/agentless-fleet/fleet/" + files.version + ".json": s.mirrorArchives(),
		"/.well-known/terraform.json":                                                    map[string]string{"providers.v1": "/providers/"},
		"/providers/agentless-fleet/fleet/versions":                                      s.registryVersions(),
		"/providers/agentless-fleet/fleet/" + files.version + "/download/" + platform():  s.registryPackage(),
	} {
		pages.HandleFunc("GET "+path, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			if err := json.NewEncoder(w).Encode(body); err != nil {
				t.Errorf("serving %s: %v", path, err)
			}
		})
	}
	pages.HandleFunc("GET /files/{name}", func(w http.ResponseWriter, r *http.Request) {
		content, ok := files.files[r.PathValue("name")]
		if !ok {
			http.NotFound(w, r)
			return
		}
		_, _ = w.Write(content) // A client that went away reports it.
	})
	s.Server = httptest.NewTLSServer(pages)
	t.Cleanup(s.Close)
	return s
}

func platform() string { return runtime.GOOS + "/" + runtime.GOARCH }

// host is the server in the address of a provider.
func (s *releaseServer) host() string { return strings.TrimPrefix(s.URL, "https://") }

// authority returns the certificate that signed that of the server, PEM.
func (s *releaseServer) authority() string {
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw}))
}

func (s *releaseServer) mirrorVersions() any {
	return map[string]any{"versions": map[string]any{s.version: map[string]any{}}}
}

func (s *releaseServer) mirrorArchives() any {
	archive := map[string]any{"url": "/files/" + s.archive(), "hashes": []string{"zh:" + sha256Of(s.files[s.archive()])}}
	return map[string]any{"archives": map[string]any{strings.Replace(platform(), "/", "_", 1): archive}}
}

func (s *releaseServer) registryVersions() any {
	return map[string]any{"versions": []any{map[string]any{
		"version": s.version, "protocols": s.protocols,
		"platforms": []any{map[string]string{"os": runtime.GOOS, "arch": runtime.GOARCH}},
	}}}
}

func (s *releaseServer) registryPackage() any {
	return map[string]any{
		"protocols": s.protocols, "os": runtime.GOOS, "arch": runtime.GOARCH, "filename": s.archive(),
		"download_url":          "/files/" + s.archive(),
		"shasums_url":           "/files/" + s.sums(),
		"shasums_signature_url": fmt.Sprintf("/files/%s.sig", s.sums()),
		"shasum":                sha256Of(s.files[s.archive()]),
		"signing_keys":          map[string]any{"gpg_public_keys": []any{map[string]string{"key_id": s.keyID, "ascii_armor": s.key}}},
	}
}
