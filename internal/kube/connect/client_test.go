package connect_test

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"k8s.io/client-go/kubernetes"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/kube"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/kube/connect"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/secret"
)

// requests records the requests that a server got.
type requests struct {
	mu   sync.Mutex
	last *http.Request
}

func (r *requests) answer(w http.ResponseWriter, request *http.Request) {
	r.mu.Lock()
	r.last = request
	r.mu.Unlock()
	respondWithUID(w, request)
}

func (r *requests) header(name string) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.last.Header.Get(name)
}

func TestRequestsCarryWhatTheConnectionSays(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		change func(*testing.T, *connect.Connection)
		header string
		want   string
	}{
		"token": {header: "Authorization", want: "Bearer token"},
		"password": {
			change: func(_ *testing.T, c *connect.Connection) {
				c.Token, c.Username, c.Password = secret.Hide(""), "admin", secret.Hide("hunter2")
			},
			header: "Authorization", want: "Basic " + base64.StdEncoding.EncodeToString([]byte("admin:hunter2")),
		},
		"token file": {
			change: func(t *testing.T, c *connect.Connection) {
				t.Helper()
				c.Token, c.TokenFile = secret.Hide(""), write(t, "token", "from-file\n", 0o600)
			},
			header: "Authorization", want: "Bearer from-file",
		},
		"exec": {
			change: func(t *testing.T, c *connect.Connection) {
				t.Helper()
				c.Token = secret.Hide("")
				c.Exec = &connect.Exec{APIVersion: "client.authentication.k8s.io/v1", Command: credentials(t), Args: []string{"from"}, Env: map[string]string{"SECOND": "exec"}}
			},
			header: "Authorization", want: "Bearer from-exec",
		},
		"impersonation": {
			change: func(_ *testing.T, c *connect.Connection) { c.ImpersonateUser = "deployer" },
			header: "Impersonate-User", want: "deployer",
		},
		"name of the program": {header: "User-Agent", want: "terraform-provider-fleet"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			asked := &requests{}
			connection := to(serve(t, asked.answer))
			if test.change != nil {
				test.change(t, &connection)
			}
			expectUID(t, connection)
			if got := asked.header(test.header); got != test.want {
				t.Errorf("%s = %q, want %q", test.header, got, test.want)
			}
		})
	}
}

// credentials is a command that prints a token made of its argument and a
// variable of its environment.
func credentials(t *testing.T) string {
	t.Helper()
	return write(t, "credentials", `#!/bin/sh
cat <<EOT
{"apiVersion": "client.authentication.k8s.io/v1", "kind": "ExecCredential", "status": {"token": "$1-$SECOND"}}
EOT
`, 0o700)
}

func write(t *testing.T, name, content string, mode os.FileMode) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(content), mode); err != nil {
		t.Fatal(err)
	}
	return path
}

// A token file can be made after the client, by another resource of the same
// apply, and its token can be replaced.
func TestTokenFileIsReadWhenItIsNeeded(t *testing.T) {
	t.Parallel()
	valid := "Bearer first"
	server := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != valid {
			refuse(http.StatusUnauthorized, "Unauthorized")(w, r)
			return
		}
		respondWithUID(w, r)
	})
	connection := to(server)
	connection.Token, connection.TokenFile = secret.Hide(""), filepath.Join(t.TempDir(), "token")
	client := clientOf(t, connection)
	if _, err := client.UID(t.Context()); err == nil {
		t.Fatal("there is no token yet, but the cluster answers")
	}
	renew := func(token string) {
		t.Helper()
		if err := os.WriteFile(connection.TokenFile, []byte(token), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	renew("first")
	if got, err := client.UID(t.Context()); err != nil || got != uid {
		t.Fatalf("with the first token: %q, %v", got, err)
	}
	valid = "Bearer second"
	renew("second")
	if _, err := client.UID(t.Context()); !connect.IsDenied(err) {
		t.Fatalf("the token read before is no longer valid, but error = %v", err)
	}
	if got, err := client.UID(t.Context()); err != nil || got != uid {
		t.Errorf("with the second token: %q, %v", got, err)
	}
}

func TestClientCertificate(t *testing.T) {
	t.Parallel()
	certificate, key := pair(t, "deployer", time.Hour)
	known := x509.NewCertPool()
	known.AppendCertsFromPEM([]byte(certificate))
	settings := &tls.Config{ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: known, MinVersion: tls.VersionTLS12}
	asked := &requests{}
	server := serveWith(t, settings, asked.answer)
	connection := to(server)
	connection.Token, connection.ClientCertificate, connection.ClientKey = secret.Hide(""), certificate, secret.Hide(key)
	expectUID(t, connection)
	if got := asked.last.TLS.PeerCertificates[0].Subject.CommonName; got != "deployer" {
		t.Errorf("the server saw the certificate of %q", got)
	}
}

func TestTrust(t *testing.T) {
	t.Parallel()
	server := serve(t, respondWithUID)
	tests := map[string]func(*connect.Connection){
		"by its certificate":                 func(*connect.Connection) {},
		"under another name the server has":  func(c *connect.Connection) { c.TLSServerName = "example.com" },
		"whatever it shows":                  func(c *connect.Connection) { c.ClusterCACertificate, c.Insecure = "", true },
		"under an address without a scheme":  func(c *connect.Connection) { c.Host = server.Listener.Addr().String() },
		"under an address with a slash last": func(c *connect.Connection) { c.Host += "/" },
	}
	for name, change := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			connection := to(server)
			change(&connection)
			expectUID(t, connection)
		})
	}
}

func TestProxy(t *testing.T) {
	t.Parallel()
	through := &requests{}
	proxy := httptest.NewServer(http.HandlerFunc(through.answer))
	t.Cleanup(proxy.Close)
	expectUID(t, connect.Connection{Host: "http://cluster.invalid", Token: secret.Hide("token"), ProxyURL: proxy.URL})
	if got := through.last.URL.Host; got != "cluster.invalid" {
		t.Errorf("the proxy was asked for %q", got)
	}
}

// Rancher serves its clusters under a path.
func TestAddressWithAPath(t *testing.T) {
	t.Parallel()
	asked := &requests{}
	connection := to(serve(t, asked.answer))
	connection.Host += "/k8s/clusters/c-abcde"
	expectUID(t, connection)
	const want = "/k8s/clusters/c-abcde/api/v1/namespaces/kube-system"
	if got := asked.last.URL.Path; got != want {
		t.Errorf("path = %q, want %q", got, want)
	}
	if _, err := kube.New(connect.Connection{Host: "ht tp://x", Token: secret.Hide("token")}, nil); err == nil {
		t.Error("an address that is none is taken")
	}
}

// All clients that are made from a client share its transport and its limit.
func TestClientsShareTransportAndLimit(t *testing.T) {
	t.Parallel()
	connections := make(chan string, 10)
	server := httptest.NewUnstartedServer(http.HandlerFunc(respondWithUID))
	server.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			connections <- "new"
		}
	}
	server.EnableHTTP2 = true
	server.StartTLS()
	t.Cleanup(server.Close)
	connection := to(server)
	connection.QPS = 1000
	connection.Token, connection.Exec = secret.Hide(""), &connect.Exec{
		APIVersion: "client.authentication.k8s.io/v1", Command: credentials(t), Args: []string{"from"}, Env: map[string]string{"SECOND": "exec"},
	}
	client := clientOf(t, connection)
	if _, err := client.UID(t.Context()); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		config, err := client.ToRESTConfig()
		if err != nil {
			t.Fatal(err)
		}
		another, err := client.ToRESTConfig()
		if err != nil {
			t.Fatal(err)
		}
		if config == another || config.RateLimiter == nil || config.RateLimiter != another.RateLimiter {
			t.Error("configurations must be copies with one limit in common")
		}
		made, err := kubernetes.NewForConfig(config)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := made.Discovery().ServerVersion(); err != nil {
			t.Fatal(err)
		}
	}
	if got := len(connections); got != 1 {
		t.Errorf("%d connections were opened, want 1", got)
	}
}

func TestUIDRefused(t *testing.T) {
	t.Parallel()
	client := clientOf(t, to(serve(t, refuse(http.StatusForbidden, "Forbidden"))))
	if _, err := client.UID(t.Context()); !connect.IsDenied(err) {
		t.Errorf("error = %v, want one that is denied", err)
	}
}
