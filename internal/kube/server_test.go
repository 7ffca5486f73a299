package kube_test

import (
	"encoding/json"
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/kube"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/kube/connect"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/secret"
)

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
	authority := string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}))
	return connect.Connection{Host: server.URL, Token: secret.Hide("token"), ClusterCACertificate: authority, RequestTimeout: 2 * time.Minute}
}

func clientOf(t *testing.T, connection connect.Connection) *kube.Client {
	t.Helper()
	client, err := kube.New(connection, nil)
	if err != nil {
		t.Fatal(err)
	}
	return client
}
