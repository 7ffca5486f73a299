// Package gittest runs a git server inside the calling process, over HTTP and
// SSH, for tests and demonstrations. It needs a git binary on the machine; what
// it serves can be read by any git client.
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
	"path"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// Options say how a Server behaves. The zero value serves to everybody and
// gives out only what a ref points to.
type Options struct {
	// Username and Password, when one of them is set, are asked from every
	// HTTP request, and taken over SSH in place of the key.
	Username string
	Password string
	// GitHubApp, when set, makes HTTP requests need a token that the server
	// gives to this app.
	GitHubApp *App
	// AllowReachableSHA1InWant lets clients ask for any commit that a ref can
	// reach, as GitHub and GitLab do. Without it they can ask for refs only.
	AllowReachableSHA1InWant bool
	// RequireMultiACK refuses clients that do not ask for the capability
	// multi_ack over HTTP, as Azure DevOps does.
	RequireMultiACK bool
	// ObjectFormat of new repositories, sha1 if it is empty.
	ObjectFormat string
	// BreakAfter, if it is not 0, is after how many bytes of an answer with a
	// pack the server breaks off; with Stall it keeps the connection and falls
	// silent.
	BreakAfter int
	Stall      bool
	// Log takes what git says while it serves; nil drops it.
	Log io.Writer
}

// Server is a running git server. It is safe for concurrent use.
type Server struct {
	dir     string
	git     string
	options Options
	keys    keys

	http         *http.Server
	httpListener net.Listener
	sshListener  net.Listener
	served       sync.WaitGroup
	requests     atomic.Int64
	tokens       tokens
	unavailable  atomic.Bool

	// writing keeps commits to one repository in order.
	writing sync.Mutex
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
	s := &Server{dir: dir, git: git, options: options, keys: made}
	if err := s.listen(); err != nil {
		return nil, errors.Join(fmt.Errorf("starting a git server: %w", err), s.Close())
	}
	return s, nil
}

// New is Start for tests: repositories live in a temporary folder, and the
// server ends with the test.
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
	if s.sshListener, err = listenLocal(); err != nil {
		return err
	}
	s.http = &http.Server{Handler: s.handler(), ReadHeaderTimeout: time.Minute}
	s.served.Go(func() { _ = s.http.Serve(s.httpListener) })
	s.served.Go(s.serveSSH)
	return nil
}

func listenLocal() (net.Listener, error) {
	listener, err := net.ListenTCP("tcp", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		return nil, err
	}
	return listener, nil
}

// Close stops the server and waits for what is under way. The repositories
// stay.
func (s *Server) Close() error {
	var failures []error
	if s.http != nil {
		failures = append(failures, s.http.Close())
	}
	for _, listener := range []net.Listener{s.httpListener, s.sshListener} {
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
	return (&url.URL{Scheme: "ssh", User: url.User("git"), Host: s.sshListener.Addr().String(), Path: "/" + repo}).String()
}

// Requests counts what clients have asked so far: HTTP requests, refused ones
// too, and SSH commands.
func (s *Server) Requests() int { return int(s.requests.Load()) }

// SetUnavailable makes the server answer every HTTP request with status 503, or
// ends that.
func (s *Server) SetUnavailable(unavailable bool) { s.unavailable.Store(unavailable) }

// Delete removes a repository; one that does not exist is not an error.
func (s *Server) Delete(repo string) error {
	dir, err := s.repoDir(repo)
	if err != nil {
		return err
	}
	return os.RemoveAll(dir)
}

func (s *Server) repoDir(repo string) (string, error) {
	name := path.Clean(strings.Trim(repo, "/"))
	if !filepath.IsLocal(filepath.FromSlash(name)) || name == "." {
		return "", fmt.Errorf("%q is not the name of a repository", repo)
	}
	return filepath.Join(s.dir, filepath.FromSlash(name)), nil
}

// environment is what every git process of the server runs in: no setting of
// the machine or its user counts, and every commit has the same author.
func (s *Server) environment() []string {
	return []string{
		"PATH=" + os.Getenv("PATH"),
		"GIT_CONFIG_GLOBAL=" + os.DevNull,
		"GIT_CONFIG_NOSYSTEM=1",
		"GIT_CONFIG_COUNT=2",
		"GIT_CONFIG_KEY_0=safe.directory",
		"GIT_CONFIG_VALUE_0=*",
		"GIT_CONFIG_KEY_1=uploadpack.allowReachableSHA1InWant",
		fmt.Sprintf("GIT_CONFIG_VALUE_1=%t", s.options.AllowReachableSHA1InWant),
		"GIT_TERMINAL_PROMPT=0",
		"GIT_AUTHOR_NAME=" + authorName, "GIT_AUTHOR_EMAIL=" + authorEmail, "GIT_AUTHOR_DATE=" + authorDate,
		"GIT_COMMITTER_NAME=" + authorName, "GIT_COMMITTER_EMAIL=" + authorEmail, "GIT_COMMITTER_DATE=" + authorDate,
	}
}
