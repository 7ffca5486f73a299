package charttest_test

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/charttest"
)

// ask sends a request as a client that trusts the server.
func ask(t *testing.T, s *charttest.Server, url, username, password string) (status int, body string, err error) {
	t.Helper()
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(s.CA())
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}}
	defer transport.CloseIdleConnections()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	if username != "" {
		request.SetBasicAuth(username, password)
	}
	response, err := (&http.Client{Transport: transport}).Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	content, err := io.ReadAll(response.Body)
	return response.StatusCode, string(content), err
}

func TestServer(t *testing.T) {
	t.Parallel()
	for _, bearer := range []bool{false, true} {
		s := charttest.New(t, charttest.Options{Username: "ci", Password: "right", TLS: true, Bearer: bearer})
		s.AddChart(charttest.Chart{Name: "web", Version: "1.0.0"})
		blob := s.PushChart("acme/web", charttest.Chart{Name: "web", Version: "1.0.0"})
		file := s.AddFile("/a.txt", []byte("content"))
		tests := []struct {
			url, password string
			status        int
			body          string
		}{
			{s.RepositoryURL() + "/index.yaml", "right", http.StatusOK, "web-1.0.0.tgz"},
			{s.RepositoryURL() + "/index.yaml", "wrong", http.StatusUnauthorized, ""},
			{s.URL(charttest.ArchivePath("web", "1.0.0")), "right", http.StatusOK, "\x1f\x8b"},
			{s.URL(charttest.ArchivePath("web", "2.0.0")), "right", http.StatusNotFound, ""},
			{file, "right", http.StatusOK, "content"},
			{s.URL(blob), "wrong", http.StatusUnauthorized, ""},
		}
		if !bearer {
			tests = append(tests, tests[0])
			tests[len(tests)-1].url = s.URL("/v2/acme/web/tags/list")
			tests[len(tests)-1].body = `"1.0.0"`
		}
		for _, tt := range tests {
			status, body, err := ask(t, s, tt.url, "ci", tt.password)
			if err != nil || status != tt.status || !strings.Contains(body, tt.body) {
				t.Errorf("%s: %d %q, %v", tt.url, status, body, err)
			}
		}
	}
}

func TestTruncate(t *testing.T) {
	t.Parallel()
	s := charttest.New(t, charttest.Options{TLS: true})
	file := s.AddFile("/a.txt", []byte("content"))
	s.Break("/a.txt", charttest.Truncate)
	if _, body, err := ask(t, s, file, "", ""); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("%q, %v", body, err)
	}
	s.Break("/a.txt", 0)
	if _, body, err := ask(t, s, file, "", ""); err != nil || body != "content" {
		t.Errorf("%q, %v", body, err)
	}
}
