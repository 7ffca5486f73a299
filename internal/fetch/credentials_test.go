package fetch_test

import (
	"encoding/pem"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/fetch"
)

func scope(t *testing.T, address string) fetch.Scope {
	t.Helper()
	parsed, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	return fetch.ScopeOf(parsed)
}

func TestCredentials(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		prefixes []string
		url      string
		want     string // The prefix, "" for none.
	}{
		"none configured":             {nil, "https://host/acme/web", ""},
		"host":                        {[]string{"https://host"}, "https://host/acme/web", "https://host"},
		"host with a slash":           {[]string{"https://host/"}, "https://host/acme/web", "https://host/"},
		"path":                        {[]string{"https://host/acme"}, "https://host/acme/web", "https://host/acme"},
		"path with a slash":           {[]string{"https://host/acme/"}, "https://host/acme", "https://host/acme/"},
		"part of a segment":           {[]string{"https://host/acme"}, "https://host/acme-evil/web", ""},
		"longer than the URL":         {[]string{"https://host/acme/web"}, "https://host/acme", ""},
		"longest":                     {[]string{"https://host", "https://host/acme/web", "https://host/acme"}, "https://host/acme/web/x", "https://host/acme/web"},
		"longest that covers":         {[]string{"https://host/acme/we", "https://host/acme", "https://host"}, "https://host/acme/web", "https://host/acme"},
		"two of one scope":            {[]string{"https://host/acme/", "https://host/acme"}, "https://host/acme/web", "https://host/acme"},
		"another scheme":              {[]string{"https://host"}, "http://host/acme", ""},
		"another host":                {[]string{"https://host"}, "https://host.evil/acme", ""},
		"another port":                {[]string{"https://host"}, "https://host:8443/acme", ""},
		"standard port":               {[]string{"https://HOST:443/acme"}, "https://host/acme/web", "https://HOST:443/acme"},
		"standard port of a registry": {[]string{"oci://host/acme"}, "oci://host:443/acme/web", "oci://host/acme"},
		"case of the path":            {[]string{"https://host/Acme"}, "https://host/acme", ""},
		"doubled slashes":             {[]string{"https://host/acme"}, "https://host//acme/web", "https://host/acme"},
		"query":                       {[]string{"https://host/acme"}, "https://host/acme/web?x=/..", "https://host/acme"},
		"any user":                    {[]string{"ssh://host"}, "ssh://git@host/acme", "ssh://host"},
		"user":                        {[]string{"ssh://host", "ssh://git@host"}, "ssh://git@host/acme", "ssh://git@host"},
		"another user":                {[]string{"ssh://deploy@host"}, "ssh://git@host/acme", ""},
		"path before user":            {[]string{"ssh://host/acme", "ssh://git@host"}, "ssh://git@host/acme/web", "ssh://host/acme"},

		"other spelling":                       {[]string{"https://host/~acme"}, "https://host/%7Eacme/web", "https://host/~acme"},
		"encoded slash":                        {[]string{"https://host/a%2Fb"}, "https://host/a%2fb/web", "https://host/a%2Fb"},
		"encoded slash below":                  {[]string{"https://host/api"}, "https://host/api/a%2Fb/web", "https://host/api"},
		"out of the path":                      {[]string{"https://host/acme"}, "https://host/acme/../evil/web", ""},
		"out of the path, encoded dots":        {[]string{"https://host/acme"}, "https://host/acme/%2e%2e/evil/web", ""},
		"out of the path, encoded slash":       {[]string{"https://host/acme"}, "https://host/acme/..%2Fevil/web", ""},
		"into the path":                        {[]string{"https://host/acme"}, "https://host/evil/../acme/web", ""},
		"into the path, encoded slash":         {[]string{"https://host/acme"}, "https://host/evil/..%2Facme/web", ""},
		"from one path to another":             {[]string{"https://host/acme", "https://host/evil"}, "https://host/evil/..%2Facme/web", ""},
		"within the path":                      {[]string{"https://host/acme"}, "https://host/acme/a/../b", "https://host/acme"},
		"read in two ways on one host":         {[]string{"https://host"}, "https://host/a/..%2Fb", "https://host"},
		"read in two ways, one more than host": {[]string{"https://host", "https://host/acme"}, "https://host/evil/..%2Facme", ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var credentials fetch.Credentials[string]
			for _, prefix := range tt.prefixes {
				credentials.Add(prefix, scope(t, prefix), prefix)
			}
			got, ok := credentials.Find(scope(t, tt.url))
			if got != tt.want || ok != (tt.want != "") {
				t.Errorf("%s gets %q, %t, want %q", tt.url, got, ok, tt.want)
			}
		})
	}
}

func TestNewTransport(t *testing.T) {
	t.Parallel()
	if _, err := fetch.NewTransport(fetch.Boundary{}, fetch.Trust{}, []byte("no PEM"), false); !errors.Is(err, fetch.ErrNoCertificate) {
		t.Errorf("error %v, want %v", err, fetch.ErrNoCertificate)
	}
}

// Which servers a transport accepts, by the authorities that it trusts.
func TestTrust(t *testing.T) {
	t.Parallel()
	server := httptest.NewTLSServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	t.Cleanup(server.Close)
	authority := string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}))
	for name, test := range map[string]struct {
		trust          fetch.Trust
		bundle         string
		insecure, want bool
	}{
		"the machine's own":              {},
		"of all servers":                 {trust: fetch.Trust{CABundle: authority}, want: true},
		"of all servers alone":           {trust: fetch.Trust{CABundle: authority, WithoutSystemRoots: true}, want: true},
		"of this server":                 {bundle: authority, want: true},
		"of this server alone":           {trust: fetch.Trust{WithoutSystemRoots: true}, bundle: authority, want: true},
		"any":                            {trust: fetch.Trust{WithoutSystemRoots: true}, insecure: true, want: true},
		"none":                           {trust: fetch.Trust{WithoutSystemRoots: true}},
		"of all servers and this server": {trust: fetch.Trust{CABundle: authority}, bundle: authority, want: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			transport, err := fetch.NewTransport(fetch.Boundary{}, test.trust, []byte(test.bundle), test.insecure)
			if err != nil {
				t.Fatal(err)
			}
			request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL, http.NoBody)
			if err != nil {
				t.Fatal(err)
			}
			response, err := transport.To(true).RoundTrip(request)
			if err == nil {
				err = response.Body.Close()
			}
			if (err == nil) != test.want {
				t.Errorf("error %v, want success %t", err, test.want)
			}
		})
	}
	if err := (fetch.Trust{CABundle: "no PEM"}).Check(); !errors.Is(err, fetch.ErrNoCertificate) {
		t.Errorf("error %v, want %v", err, fetch.ErrNoCertificate)
	}
	if (fetch.Trust{WithoutSystemRoots: true}).Check() != nil {
		t.Error("no authority at all is an error")
	}
}
