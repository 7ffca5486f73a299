package gittest

import (
	"bytes"
	"crypto/subtle"
	"io"
	"log"
	"net/http"
	"net/http/cgi"
	"strings"
)

// handler serves git's smart HTTP protocol: git's own CGI program behind basic authentication.
func (s *Server) handler() http.Handler {
	backend := &cgi.Handler{
		Path:   s.repositories.git,
		Args:   []string{"http-backend"},
		Root:   "/",
		Dir:    s.repositories.dir,
		Env:    append(s.repositories.environment(), "GIT_PROJECT_ROOT="+s.repositories.dir, "GIT_HTTP_EXPORT_ALL=1"),
		Stderr: s.options.Log,
		Logger: log.New(s.options.Log, "", 0),
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.requests.Add(1)
		if s.unavailable.Load() {
			http.Error(w, "the server is being maintained", http.StatusServiceUnavailable)
			return
		}
		if s.options.GitHubApp != nil && strings.HasPrefix(r.URL.Path, apiPath+"/") {
			s.options.GitHubApp.serve(w, r, &s.tokens)
			return
		}
		if !s.options.admits(r, &s.tokens) {
			w.Header().Set("WWW-Authenticate", `Basic realm="git"`)
			http.Error(w, "authentication required", http.StatusUnauthorized)
			return
		}
		if !strings.HasSuffix(r.URL.Path, "/git-upload-pack") {
			backend.ServeHTTP(w, r)
			return
		}
		s.options.servePack(backend, w, r)
	})
}

// servePack serves a request for commits.
func (o Options) servePack(backend http.Handler, w http.ResponseWriter, r *http.Request) {
	if o.RequireMultiACK {
		content, err := io.ReadAll(r.Body)
		if err != nil || !bytes.Contains(content, []byte(" multi_ack")) {
			http.Error(w, "multi_ack is required", http.StatusBadRequest)
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(content))
	}
	if o.BreakAfter == 0 {
		backend.ServeHTTP(w, r)
		return
	}
	backend.ServeHTTP(&brokenResponse{w, o.breaking(r.Context(), w)}, r)
	panic(http.ErrAbortHandler) // This closes the connection.
}

// brokenResponse is a response whose body breaks off.
type brokenResponse struct {
	http.ResponseWriter

	body io.Writer
}

// Write implements http.ResponseWriter.
func (b *brokenResponse) Write(p []byte) (int, error) {
	n, err := b.body.Write(p)
	if flusher, ok := b.ResponseWriter.(http.Flusher); ok {
		flusher.Flush()
	}
	return n, err
}

// admits reports whether a request has the required credentials.
func (o Options) admits(r *http.Request, given *tokens) bool {
	username, password, _ := r.BasicAuth()
	if o.GitHubApp != nil {
		return username == "x-access-token" && given.valid(password)
	}
	if o.Username == "" && o.Password == "" {
		return true
	}
	return equal(username, o.Username) && equal(password, o.Password)
}

func equal(a, b string) bool {
	return subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1
}
