package charttest

import (
	"crypto/subtle"
	"fmt"
	"net/http"
	"strings"
)

// token is the token that the registry gives. A client that sends it is logged in.
const token = "token-of-the-registry" //nolint:gosec // Opens a server of a test.

// admits reports whether a request is admitted, and responds to one that is not. tokens is the
// URL that gives tokens.
func (o Options) admits(w http.ResponseWriter, r *http.Request, tokens string) bool {
	if o.Username == "" && o.Password == "" {
		return true
	}
	if o.Bearer && strings.HasPrefix(r.URL.Path, registryPrefix) {
		if equal(r.Header.Get("Authorization"), "Bearer "+token) {
			return true
		}
		w.Header().Set("WWW-Authenticate", fmt.Sprintf("Bearer realm=%q,service=%q", tokens, "charttest"))
		http.Error(w, `{"errors":[{"code":"UNAUTHORIZED","message":"log in first"}]}`, http.StatusUnauthorized)
		return false
	}
	if o.knows(r) {
		return true
	}
	w.Header().Set("WWW-Authenticate", `Basic realm="charttest"`)
	http.Error(w, "authentication required", http.StatusUnauthorized)
	return false
}

func (o Options) knows(r *http.Request) bool {
	username, password, _ := r.BasicAuth()
	return equal(username, o.Username) && equal(password, o.Password)
}

func (o Options) giveToken(w http.ResponseWriter, r *http.Request) {
	// A client with an identity token posts it.
	if !o.knows(r) && !equal(r.PostFormValue("refresh_token"), o.Password) {
		http.Error(w, `{"errors":[{"code":"UNAUTHORIZED","message":"wrong password"}]}`, http.StatusUnauthorized)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	fmt.Fprintf(w, `{"token":%q,"access_token":%[1]q}`, token)
}

func equal(a, b string) bool {
	return subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1
}
