package git

import (
	"cmp"
	"context"
	"crypto/rsa"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/secret"
)

// App signs in as an installation of a GitHub App.
type App struct {
	// ID is the app's id, or its client id.
	ID             string
	InstallationID int64
	// PrivateKey is the app's RSA key in PEM.
	PrivateKey secret.Of[string]
	// APIURL is where tokens are requested; "" is the API for the host of the repository, see
	// defaultAPI.
	APIURL string
}

const (
	// appUsername is sent with a token of an installation.
	appUsername = "x-access-token"
	// assertionLife is how long the proof of being the app is valid; GitHub allows ten minutes.
	// clockSkew is how far the clock of GitHub may be behind.
	assertionLife = 5 * time.Minute
	clockSkew     = time.Minute
	// tokenReserve is how long a token must still be valid to be used, so that it does not expire
	// during the fetch.
	tokenReserve = 5 * time.Minute
	// tokenResponseSize is how many bytes a response with a token may have.
	tokenResponseSize = 1 << 20
)

// installation keeps a token and requests a new one shortly before that token expires.
type installation struct {
	app    App
	key    *rsa.PrivateKey
	url    string
	client *http.Client

	turn    chan struct{} // A semaphore of one, for the fields below.
	current string
	expires time.Time
}

var (
	errAppID        = errors.New("a GitHub App needs an id and an installation id")
	errAppURL       = errors.New("the API URL of a GitHub App must be like https://github.example.com/api/v3")
	errAppPrivate   = errors.New("the private key of a GitHub App must be an RSA key in PEM")
	errAppTokenless = errors.New("the response contains no token")
)

func newInstallation(app App, at location, transport http.RoundTripper) (*installation, error) {
	if app.ID == "" || app.InstallationID <= 0 {
		return nil, errAppID
	}
	key, err := jwt.ParseRSAPrivateKeyFromPEM([]byte(app.PrivateKey.Reveal()))
	if err != nil {
		return nil, errAppPrivate
	}
	api, err := url.Parse(cmp.Or(app.APIURL, defaultAPI(at)))
	if err != nil || api.Host == "" || api.User != nil || api.Scheme != "https" && api.Scheme != "http" {
		return nil, errAppURL
	}
	return &installation{
		app: app, key: key, turn: make(chan struct{}, 1),
		url: api.JoinPath("app", "installations", strconv.FormatInt(app.InstallationID, 10), "access_tokens").String(),
		client: &http.Client{
			Transport: transport,
			// The proof of being the app is sent to no other URL.
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
	}, nil
}

// defaultAPI returns the address of the API for a repository: that of GitHub, of GitHub Enterprise Cloud
// with data residency, such as https://api.acme.ghe.com, or of a GitHub Enterprise Server.
func defaultAPI(at location) string {
	switch {
	case at.host == "github.com" || strings.HasSuffix(at.host, ".github.com"):
		return "https://api.github.com"
	case strings.HasSuffix(at.host, ".ghe.com"):
		return "https://api." + at.host
	default:
		return at.scheme + "://" + at.address() + "/api/v3"
	}
}

// token returns a token that is valid for some minutes.
func (i *installation) token(ctx context.Context) (string, error) {
	select {
	case <-ctx.Done():
		return "", context.Cause(ctx)
	case i.turn <- struct{}{}:
		defer func() { <-i.turn }()
	}
	now := time.Now()
	if i.current != "" && now.Add(tokenReserve).Before(i.expires) {
		return i.current, nil
	}
	proof, err := jwt.NewWithClaims(jwt.SigningMethodRS256, jwt.RegisteredClaims{
		Issuer:    i.app.ID,
		IssuedAt:  jwt.NewNumericDate(now.Add(-clockSkew)),
		ExpiresAt: jwt.NewNumericDate(now.Add(assertionLife)),
	}).SignedString(i.key)
	if err != nil {
		return "", fmt.Errorf("signing: %w", err)
	}
	if i.current, i.expires, err = i.exchange(ctx, proof); err != nil {
		return "", fmt.Errorf("requesting a token from %s: %w", i.url, err)
	}
	return i.current, nil
}

// exchange gets a token for the proof of being the app.
func (i *installation) exchange(ctx context.Context, proof string) (token string, expires time.Time, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, i.url, http.NoBody)
	if err != nil {
		return "", time.Time{}, err
	}
	request.Header.Set("Authorization", "Bearer "+proof)
	request.Header.Set("Accept", "application/vnd.github+json")
	response, err := i.client.Do(request)
	if wrapped, ok := errors.AsType[*url.Error](err); ok {
		err = wrapped.Err // The URL is in the message already.
	}
	if err != nil {
		return "", time.Time{}, err
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusCreated {
		return "", time.Time{}, fmt.Errorf("status %d %s%s", response.StatusCode,
			http.StatusText(response.StatusCode), adviseApp(response.StatusCode))
	}
	var answer struct {
		Token   string    `json:"token"`
		Expires time.Time `json:"expires_at"`
	}
	if err := json.NewDecoder(io.LimitReader(response.Body, tokenResponseSize)).Decode(&answer); err != nil {
		return "", time.Time{}, fmt.Errorf("reading the response: %w", err)
	}
	if answer.Token == "" {
		return "", time.Time{}, errAppTokenless
	}
	return answer.Token, answer.Expires, nil
}

// adviseApp returns the cause of an error status, "" if it is not known.
func adviseApp(status int) string {
	switch status {
	case http.StatusUnauthorized:
		return ": the app id, its private key or the clock of this machine is wrong"
	case http.StatusForbidden:
		return ": the installation is suspended"
	case http.StatusNotFound:
		return ": the app has no such installation"
	}
	return ""
}
