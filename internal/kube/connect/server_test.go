package connect_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/kube"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/kube/connect"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/secret"
)

const uid = "0d7c5a4e"

// respondWithUID responds as an API server does to a request for the namespace kube-system.
func respondWithUID(w http.ResponseWriter, _ *http.Request) {
	answer(w, http.StatusOK, corev1.Namespace{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Namespace"},
		ObjectMeta: metav1.ObjectMeta{Name: metav1.NamespaceSystem, UID: uid},
	})
}

// refuse responds as an API server that refuses or fails.
func refuse(code int32, reason metav1.StatusReason) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		answer(w, int(code), metav1.Status{
			TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"},
			Status:   metav1.StatusFailure, Code: code, Reason: reason, Message: "no",
		})
	}
}

func answer(w http.ResponseWriter, code int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	if err := json.NewEncoder(w).Encode(body); err != nil {
		panic(err)
	}
}

// serve starts a server with a certificate for example.com and 127.0.0.1.
func serve(t *testing.T, handler http.HandlerFunc) *httptest.Server {
	t.Helper()
	server := httptest.NewUnstartedServer(handler)
	server.EnableHTTP2 = true // as API servers do
	server.StartTLS()
	t.Cleanup(server.Close)
	return server
}

// to returns the connection to a server, with a token and its certificate trusted.
func to(server *httptest.Server) connect.Connection {
	return connect.Connection{Host: server.URL, Token: secret.Hide("token"), ClusterCACertificate: trusted(server), RequestTimeout: 2 * time.Minute}
}

func trusted(server *httptest.Server) string { return encode("CERTIFICATE", server.Certificate().Raw) }

func encode(kind string, content []byte) string {
	return string(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: content}))
}

// pair makes a self-signed certificate and its key, both in PEM.
func pair(t *testing.T, name string, validity time.Duration) (certificate, key string) {
	t.Helper()
	made, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(validity),
		KeyUsage:    x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth, x509.ExtKeyUsageServerAuth},
		IsCA:        true, BasicConstraintsValid: true,
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
	}
	signed, err := x509.CreateCertificate(rand.Reader, template, template, &made.PublicKey, made)
	if err != nil {
		t.Fatal(err)
	}
	encoded, err := x509.MarshalPKCS8PrivateKey(made)
	if err != nil {
		t.Fatal(err)
	}
	return encode("CERTIFICATE", signed), encode("PRIVATE KEY", encoded)
}

// serveWith starts a server with TLS settings of its own.
func serveWith(t *testing.T, settings *tls.Config, handler http.HandlerFunc) *httptest.Server {
	t.Helper()
	server := httptest.NewUnstartedServer(handler)
	server.TLS = settings
	server.StartTLS()
	t.Cleanup(server.Close)
	return server
}

func clientOf(t *testing.T, connection connect.Connection) *kube.Client {
	t.Helper()
	client, err := kube.New(connection, nil)
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// expectUID reads the UID of the cluster.
func expectUID(t *testing.T, connection connect.Connection) {
	t.Helper()
	got, err := clientOf(t, connection).UID(t.Context())
	if err != nil || got != uid {
		t.Errorf("UID = %q, %v; want %q", got, err, uid)
	}
}

// clientCertificates makes a server request a client certificate from any issuer.
func clientCertificates() *tls.Config {
	return &tls.Config{ClientAuth: tls.RequireAnyClientCert, MinVersion: tls.VersionTLS12}
}
