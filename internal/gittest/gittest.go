// Package gittest runs a git server inside the calling process, over HTTP and SSH, for tests and
// demonstrations. It needs a git binary on the machine; any git client can read the repositories.
package gittest

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// Options configure a Server. The zero value needs no credentials and serves only commits that a
// ref points to.
type Options struct {
	// Username and Password, when one of them is set, are required for every HTTP request. Over
	// SSH, a Password is accepted in place of the key.
	Username string
	Password string
	// GitHubApp, when set, is the app whose token every HTTP request needs.
	GitHubApp *App
	// AllowReachableSHA1InWant lets clients request any commit that a ref can reach, as GitHub
	// and GitLab do. Without it, clients can request refs only.
	AllowReachableSHA1InWant bool
	// RequireMultiACK refuses clients that do not request the capability multi_ack over HTTP, as
	// Azure DevOps does.
	RequireMultiACK bool
	// ObjectFormat of new repositories, sha1 if it is empty.
	ObjectFormat string
	// BreakAfter, if it is not 0, is how many bytes of a response with a pack the server sends
	// before it breaks off. With Stall, the server keeps the connection and sends nothing more.
	BreakAfter int
	Stall      bool
	// Refusal, when set, is the text with which the server refuses every request over SSH.
	Refusal string
	// Log receives the messages of git's HTTP backend; nil discards them.
	Log io.Writer
}

// Server is a running git server. It is safe for concurrent use.
type Server struct {
	options      Options
	repositories *repositories
	ssh          *sshServer

	http         *http.Server
	httpListener net.Listener
	served       sync.WaitGroup
	requests     atomic.Int64
	tokens       tokens
	unavailable  atomic.Bool
}

// Start serves the bare repositories below dir, an existing folder, on free
// ports of 127.0.0.1 until Close is called.
func Start(dir string, options Options) (*Server, error) {
	git, err := exec.LookPath("git")
	if err != nil {
		return nil, fmt.Errorf("starting a git server: %w", err)
	}
	dir, err = filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("starting a git server in %s: %w", dir, err)
	}
	made, err := newKeys()
	if err != nil {
		return nil, fmt.Errorf("starting a git server: %w", err)
	}
	if options.Log == nil {
		options.Log = io.Discard
	}
	s := &Server{options: options, repositories: &repositories{dir: dir, git: git, options: options}}
	s.ssh = &sshServer{options: options, repositories: s.repositories, keys: made, served: &s.served, requests: &s.requests}
	if err := s.listen(); err != nil {
		return nil, errors.Join(fmt.Errorf("starting a git server: %w", err), s.Close())
	}
	return s, nil
}

// New is Start for tests: the repositories are in a temporary folder, and the server is closed
// after the test.
func New(tb testing.TB, options Options) *Server {
	tb.Helper()
	s, err := Start(tb.TempDir(), options)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := s.Close(); err != nil {
			tb.Errorf("closing the git server: %v", err)
		}
	})
	return s
}

func (s *Server) listen() error {
	var err error
	if s.httpListener, err = listenLocal(); err != nil {
		return err
	}
	if s.ssh.listener, err = listenLocal(); err != nil {
		return err
	}
	s.http = &http.Server{Handler: s.handler(), ReadHeaderTimeout: time.Minute}
	s.served.Go(func() { _ = s.http.Serve(s.httpListener) })
	s.served.Go(s.ssh.serve)
	return nil
}

func listenLocal() (net.Listener, error) {
	listener, err := net.ListenTCP("tcp", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		return nil, err
	}
	return listener, nil
}

// Close stops the server and waits for running requests. The repositories are kept.
func (s *Server) Close() error {
	var failures []error
	if s.http != nil {
		failures = append(failures, s.http.Close())
	}
	for _, listener := range []net.Listener{s.httpListener, s.ssh.listener} {
		if listener == nil {
			continue
		}
		if err := listener.Close(); err != nil && !errors.Is(err, net.ErrClosed) {
			failures = append(failures, err)
		}
	}
	s.served.Wait()
	return errors.Join(failures...)
}

// URL is the HTTP address of a repository, without credentials. The repository
// need not exist.
func (s *Server) URL(repo string) string {
	return (&url.URL{Scheme: "http", Host: s.httpListener.Addr().String(), Path: "/" + repo}).String()
}

// SSHURL is the ssh:// address of a repository for the user git.
func (s *Server) SSHURL(repo string) string {
	return (&url.URL{Scheme: "ssh", User: url.User("git"), Host: s.ssh.listener.Addr().String(), Path: "/" + repo}).String()
}

// Requests counts the requests of clients so far: HTTP requests, refused ones too, and SSH
// commands.
func (s *Server) Requests() int { return int(s.requests.Load()) }

// SetUnavailable sets whether the server responds to every HTTP request with status 503.
func (s *Server) SetUnavailable(unavailable bool) { s.unavailable.Store(unavailable) }

// RefuseSSH makes the server refuse every request over SSH with a text.
func (s *Server) RefuseSSH(text string) { s.ssh.refusal.Store(text) }

// Delete removes a repository; one that does not exist is not an error.
func (s *Server) Delete(repo string) error {
	dir, err := s.repositories.folder(repo)
	if err != nil {
		return err
	}
	return os.RemoveAll(dir)
}
