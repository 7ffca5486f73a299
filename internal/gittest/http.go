package gittest

import (
	"crypto/subtle"
	"log"
	"net/http"
	"net/http/cgi"
)

// handler speaks git's smart HTTP protocol: git's own CGI program behind basic
// authentication.
func (s *Server) handler() http.Handler {
	backend := &cgi.Handler{
		Path:   s.git,
		Args:   []string{"http-backend"},
		Root:   "/",
		Dir:    s.dir,
		Env:    append(s.environment(), "GIT_PROJECT_ROOT="+s.dir, "GIT_HTTP_EXPORT_ALL=1"),
		Stderr: s.options.Log,
		Logger: log.New(s.options.Log, "", 0),
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.requests.Add(1)
		if s.unavailable.Load() {
			http.Error(w, "the server is being maintained", http.StatusServiceUnavailable)
			return
		}
		if !s.authorised(r) {
			w.Header().Set("WWW-Authenticate", `Basic realm="git"`)
			http.Error(w, "authentication required", http.StatusUnauthorized)
			return
		}
		backend.ServeHTTP(w, r)
	})
}

func (s *Server) authorised(r *http.Request) bool {
	if s.options.Username == "" && s.options.Password == "" {
		return true
	}
	username, password, _ := r.BasicAuth()
	return equal(username, s.options.Username) && equal(password, s.options.Password)
}

func equal(a, b string) bool {
	return subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1
}
