package gittest

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/golang-jwt/jwt/v5"
)

// apiPath is where GitHub Enterprise Server has its API.
const apiPath = "/api/v3"

// App is a GitHub App with one installation.
type App struct {
	ID             string
	InstallationID int64
	// TokenLife is how long its tokens are valid, an hour if it is 0.
	TokenLife time.Duration

	key *rsa.PrivateKey
}

// NewApp makes an App with a key of its own.
func NewApp(id string, installation int64) (*App, error) {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		return nil, fmt.Errorf("making the key of a GitHub App: %w", err)
	}
	return &App{ID: id, InstallationID: installation, key: key}, nil
}

// PrivateKey is the app's key in PEM.
func (a *App) PrivateKey() string {
	return string(pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(a.key)}))
}

// APIURL is where a GitHub App requests tokens.
func (s *Server) APIURL() string { return s.URL(strings.TrimPrefix(apiPath, "/")) }

// Tokens counts the tokens that were given to the GitHub App.
func (s *Server) Tokens() int {
	s.tokens.mu.Lock()
	defer s.tokens.mu.Unlock()
	return len(s.tokens.expires)
}

// tokens are the tokens given so far.
type tokens struct {
	mu      sync.Mutex
	expires map[string]time.Time
}

func (t *tokens) add(life time.Duration) (token string, expires time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.expires == nil {
		t.expires = make(map[string]time.Time)
	}
	token, expires = "ghs_"+rand.Text(), time.Now().Add(life)
	t.expires[token] = expires
	return token, expires
}

func (t *tokens) valid(token string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return time.Now().Before(t.expires[token])
}

// serve gives a token to a client that proves to be the app.
func (a *App) serve(w http.ResponseWriter, r *http.Request, given *tokens) {
	proof, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	_, err := jwt.ParseWithClaims(proof, &jwt.RegisteredClaims{},
		func(*jwt.Token) (any, error) { return &a.key.PublicKey, nil },
		jwt.WithValidMethods([]string{"RS256"}), jwt.WithIssuer(a.ID), jwt.WithExpirationRequired(), jwt.WithIssuedAt())
	if err != nil {
		http.Error(w, "bad proof", http.StatusUnauthorized)
		return
	}
	if r.Method != http.MethodPost || r.URL.Path != fmt.Sprintf("%s/app/installations/%d/access_tokens", apiPath, a.InstallationID) {
		http.NotFound(w, r)
		return
	}
	life := a.TokenLife
	if life == 0 {
		life = time.Hour
	}
	token, expires := given.add(life)
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusCreated)
	_ = json.NewEncoder(w).Encode(map[string]any{"token": token, "expires_at": expires.UTC().Format(time.RFC3339)})
}
