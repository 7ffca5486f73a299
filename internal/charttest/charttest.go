// Package charttest runs what Helm charts are kept on, inside the calling process
// and for tests: a Helm repository, an OCI registry with login and a server of
// archives, each over HTTP or TLS. It needs no network and no other program.
package charttest

import (
	"bytes"
	"crypto/subtle"
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/registry"
)

// Options say how a Server behaves. The zero value serves to everybody over plain
// HTTP.
type Options struct {
	// Username and Password, when one of them is set, are asked from every request.
	Username, Password string
	// Bearer makes the registry ask for a token, which it gives out for Username and
	// Password, as most registries do. Without it they are sent with every request.
	Bearer bool
	// TLS serves over HTTPS, with a certificate that no machine trusts by itself.
	TLS bool
}

// Server keeps charts. It is safe for concurrent use.
type Server struct {
	options  Options
	http     *httptest.Server
	registry http.Handler
	closing  chan struct{}

	mu        sync.Mutex
	charts    []Chart           // Of the repository.
	files     map[string][]byte // By path.
	redirects map[string]string // Where to, by path.
	faults    map[string]Fault  // By path.
	requests  map[string]int    // By path.
	seen      []string          // Authorization headers.
}

// Fault is what is wrong with an answer.
type Fault int

// The faults of a server.
const (
	// Truncate breaks the connection off in the middle of the answer.
	Truncate Fault = iota + 1
	// Hang begins to answer and does not go on.
	Hang
	// HangSilently takes the request and answers nothing.
	HangSilently
	// Corrupt changes a byte of the answer.
	Corrupt
	// FailOnce answers with status 503, the first time only.
	FailOnce
	// Fail answers with status 503.
	Fail
)

// New starts a server on a free port of 127.0.0.1 that ends with the test.
func New(tb testing.TB, options Options) *Server {
	tb.Helper()
	s := &Server{
		options:   options,
		registry:  registry.New(registry.Logger(log.New(io.Discard, "", 0))),
		closing:   make(chan struct{}),
		files:     map[string][]byte{},
		redirects: map[string]string{},
		faults:    map[string]Fault{},
		requests:  map[string]int{},
	}
	s.http = httptest.NewUnstartedServer(http.HandlerFunc(s.serve))
	s.http.Config.ErrorLog = log.New(io.Discard, "", 0) // Clients that do not trust it.
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

// AddFile serves content under a path and answers its URL.
func (s *Server) AddFile(path string, content []byte) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.files[path] = content
	return s.URL(path)
}

// Redirect answers requests for a path with another URL, and answers its own.
func (s *Server) Redirect(path, to string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.redirects[path] = to
	return s.URL(path)
}

// Break makes all answers under a path faulty, until Fault 0 ends that.
func (s *Server) Break(path string, fault Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults[path] = fault
}

// Requests counts the requests for paths that begin with prefix, refused ones
// too.
func (s *Server) Requests(prefix string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	total := 0
	for path, count := range s.requests {
		if strings.HasPrefix(path, prefix) {
			total += count
		}
	}
	return total
}

// Authorizations are the credentials that clients have sent, in their order.
func (s *Server) Authorizations() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string(nil), s.seen...)
}

// note counts a request and answers what is to go wrong with it.
func (s *Server) note(r *http.Request) Fault {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests[r.URL.Path]++
	if header := r.Header.Get("Authorization"); header != "" {
		s.seen = append(s.seen, header)
	}
	fault := s.faults[r.URL.Path]
	if fault == FailOnce {
		delete(s.faults, r.URL.Path)
	}
	return fault
}

func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	fault := s.note(r)
	switch fault {
	case Fail, FailOnce:
		http.Error(w, "the server is being maintained", http.StatusServiceUnavailable)
		return
	case HangSilently:
		s.hang(r)
		return
	case Truncate, Hang, Corrupt:
		s.spoil(w, r, fault)
		return
	}
	s.answer(w, r)
}

// spoil answers what would be answered, but not well.
func (s *Server) spoil(w http.ResponseWriter, r *http.Request, fault Fault) {
	good := httptest.NewRecorder()
	s.answer(good, r)
	content := good.Body.Bytes()
	maps.Copy(w.Header(), good.Header())
	w.Header().Set("Content-Length", fmt.Sprint(len(content)))
	w.WriteHeader(good.Code)
	half := len(content) / 2
	if fault == Corrupt {
		content = append([]byte(nil), content...)
		content[half] ^= 1
		_, _ = w.Write(content)
		return
	}
	_, _ = w.Write(content[:half])
	if flusher, ok := w.(http.Flusher); ok {
		flusher.Flush()
	}
	if fault == Hang {
		s.hang(r)
	}
	panic(http.ErrAbortHandler)
}

// hang waits until the client or the test gives up.
func (s *Server) hang(r *http.Request) {
	select {
	case <-r.Context().Done():
	case <-s.closing:
	}
}

const (
	registryPrefix = "/v2/"
	tokenPath      = "/token"
	repositoryPath = "/charts"
)

func (s *Server) answer(w http.ResponseWriter, r *http.Request) {
	if s.options.Bearer && r.URL.Path == tokenPath {
		s.giveToken(w, r)
		return
	}
	if !s.authorised(w, r) {
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

// token is what the registry gives out. Who has it was logged in.
const token = "token-of-the-registry" //nolint:gosec // Opens a server of a test.

// authorised refuses a request by itself.
func (s *Server) authorised(w http.ResponseWriter, r *http.Request) bool {
	if s.options.Username == "" && s.options.Password == "" {
		return true
	}
	if s.options.Bearer && strings.HasPrefix(r.URL.Path, registryPrefix) {
		if equal(r.Header.Get("Authorization"), "Bearer "+token) {
			return true
		}
		w.Header().Set("WWW-Authenticate", fmt.Sprintf("Bearer realm=%q,service=%q", s.URL(tokenPath), "charttest"))
		http.Error(w, `{"errors":[{"code":"UNAUTHORIZED","message":"log in first"}]}`, http.StatusUnauthorized)
		return false
	}
	if s.knows(r) {
		return true
	}
	w.Header().Set("WWW-Authenticate", `Basic realm="charttest"`)
	http.Error(w, "authentication required", http.StatusUnauthorized)
	return false
}

func (s *Server) knows(r *http.Request) bool {
	username, password, _ := r.BasicAuth()
	return equal(username, s.options.Username) && equal(password, s.options.Password)
}

func (s *Server) giveToken(w http.ResponseWriter, r *http.Request) {
	if !s.knows(r) {
		http.Error(w, `{"errors":[{"code":"UNAUTHORIZED","message":"wrong password"}]}`, http.StatusUnauthorized)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	fmt.Fprintf(w, `{"token":%q}`, token)
}

func (s *Server) file(path string) ([]byte, bool) {
	if rest, ok := strings.CutPrefix(path, repositoryPath+"/"); ok {
		return s.repositoryFile(rest)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	content, found := s.files[path]
	return content, found
}

func (s *Server) redirect(path string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.redirects[path]
}

func equal(a, b string) bool {
	return subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1
}
