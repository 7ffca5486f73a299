// Package charttest runs servers with Helm charts inside the calling process, for tests: a Helm
// repository, an OCI registry with login and a server of archives, each over HTTP or TLS. It
// needs no network and no other program.
package charttest

import (
	"bytes"
	"encoding/pem"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/registry"
)

// Options configure a Server. The zero value needs no credentials and uses plain HTTP.
type Options struct {
	// Username and Password, when one of them is set, are required for every request.
	Username, Password string
	// Bearer makes the registry require a token, which it gives for Username and Password, as
	// most registries do. Without Bearer, Username and Password are sent with every request.
	Bearer bool
	// TLS serves over HTTPS, with a certificate that no machine trusts by itself.
	TLS bool
}

// Server keeps charts. It is safe for concurrent use.
type Server struct {
	options    Options
	http       *httptest.Server
	registry   ociRegistry
	repository *repository
	traffic    *traffic
	closing    chan struct{}

	mu        sync.Mutex
	files     map[string][]byte // By path.
	redirects map[string]string // Where to, by path.
}

// New starts a server on a free port of 127.0.0.1. The server is closed after the test.
func New(tb testing.TB, options Options) *Server {
	tb.Helper()
	s := &Server{
		options:    options,
		registry:   ociRegistry{registry.New(registry.Logger(log.New(io.Discard, "", 0)))},
		repository: &repository{},
		traffic:    &traffic{faults: map[string]Fault{}, requests: map[string]int{}},
		closing:    make(chan struct{}),
		files:      map[string][]byte{},
		redirects:  map[string]string{},
	}
	s.http = httptest.NewUnstartedServer(http.HandlerFunc(s.serve))
	s.http.Config.ErrorLog = log.New(io.Discard, "", 0) // About clients that do not trust the certificate.
	if options.TLS {
		s.http.StartTLS()
	} else {
		s.http.Start()
	}
	tb.Cleanup(func() {
		close(s.closing)
		s.http.Close()
	})
	return s
}

// CA is the certificate of the server's authority in PEM, nil without TLS.
func (s *Server) CA() []byte {
	if !s.options.TLS {
		return nil
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.http.Certificate().Raw})
}

// URL is the address of a path, which begins with "/".
func (s *Server) URL(path string) string { return s.http.URL + path }

// AddFile serves content under a path and returns its URL.
func (s *Server) AddFile(path string, content []byte) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.files[path] = content
	return s.URL(path)
}

// Redirect redirects requests for a path to another URL, and returns the URL of the path.
func (s *Server) Redirect(path, to string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.redirects[path] = to
	return s.URL(path)
}

func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	fault := s.traffic.note(r)
	defer s.traffic.end()
	switch fault {
	case Fail, FailOnce:
		http.Error(w, "the server is being maintained", http.StatusServiceUnavailable)
		return
	case HangSilently:
		hang(r, s.closing)
		return
	case Truncate, Hang, Corrupt:
		good := httptest.NewRecorder()
		s.answer(good, r)
		spoil(w, r, good, fault, s.closing)
		return
	}
	s.answer(w, r)
}

const (
	registryPrefix = "/v2/"
	tokenPath      = "/token"
	repositoryPath = "/charts"
)

func (s *Server) answer(w http.ResponseWriter, r *http.Request) {
	if s.options.Bearer && r.URL.Path == tokenPath {
		s.options.giveToken(w, r)
		return
	}
	if !s.options.admits(w, r, s.URL(tokenPath)) {
		return
	}
	if to := s.redirect(r.URL.Path); to != "" {
		http.Redirect(w, r, to, http.StatusFound)
		return
	}
	if strings.HasPrefix(r.URL.Path, registryPrefix) {
		s.registry.ServeHTTP(w, r)
		return
	}
	content, found := s.file(r.URL.Path)
	if !found {
		http.NotFound(w, r)
		return
	}
	http.ServeContent(w, r, r.URL.Path, time.Time{}, bytes.NewReader(content))
}

func (s *Server) file(path string) ([]byte, bool) {
	s.mu.Lock()
	content, found := s.files[path]
	s.mu.Unlock()
	if rest, ok := strings.CutPrefix(path, repositoryPath+"/"); ok && !found {
		return s.repository.file(rest)
	}
	return content, found
}

func (s *Server) redirect(path string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.redirects[path]
}
