package faulttest_test

import (
	"bufio"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/faulttest"
)

// behind is the server behind a proxy.
type behind struct {
	*httptest.Server
	asked atomic.Int32
}

func (b *behind) Host() string { return b.URL }

func (b *behind) CACertificate() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: b.Certificate().Raw})
}

// start returns a proxy in front of a server that echoes requests, and a client that trusts only
// the proxy.
func start(t *testing.T) (*faulttest.Proxy, *behind, *http.Client) {
	t.Helper()
	server := &behind{}
	server.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		server.asked.Add(1)
		w.Header().Set("Authorization", request.Header.Get("Authorization"))
		if faulttest.IsWatch(request) {
			w.WriteHeader(http.StatusOK)
			_, _ = io.WriteString(w, "first\n")
			_ = http.NewResponseController(w).Flush()
			<-request.Context().Done()
			return
		}
		_, _ = io.Copy(w, request.Body)
	}))
	server.EnableHTTP2 = true
	server.StartTLS()
	t.Cleanup(server.Close)
	proxy := faulttest.New(t, server)
	trusted := x509.NewCertPool()
	trusted.AppendCertsFromPEM(proxy.CACertificate())
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: trusted, MinVersion: tls.VersionTLS12}, ForceAttemptHTTP2: true}
	t.Cleanup(transport.CloseIdleConnections)
	return proxy, server, &http.Client{Transport: transport, Timeout: 2 * time.Minute}
}

func post(t *testing.T, client *http.Client, host, body string) (code int, answer string, err error) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, host+"/api/v1/secrets", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer x")
	response, err := client.Do(request)
	if err != nil {
		return 0, "", err
	}
	read, err := io.ReadAll(response.Body)
	return response.StatusCode, string(read), errorOf(err, response.Body.Close())
}

func errorOf(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

func TestRule(t *testing.T) {
	t.Parallel()
	var ran atomic.Int32
	count := func(*http.Request) { ran.Add(1) }
	tests := map[string]struct {
		fault       faulttest.Fault
		code        int // 0: the connection is reset
		body        string
		reachesThat bool
	}{
		"passes":           {code: http.StatusOK, body: "hello", reachesThat: true},
		"refused":          {fault: faulttest.Fault{Status: http.StatusForbidden}, code: http.StatusForbidden, body: `"reason":"Forbidden"`},
		"empty list":       {fault: faulttest.Fault{Empty: true}, code: http.StatusOK, body: `"items":[]`},
		"cut":              {fault: faulttest.Fault{Cut: true}},
		"answer lost":      {fault: faulttest.Fault{Lose: true}, reachesThat: true},
		"called back":      {fault: faulttest.Fault{Before: count, After: count}, code: http.StatusOK, body: "hello", reachesThat: true},
		"called, then cut": {fault: faulttest.Fault{Before: count, Cut: true}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			proxy, server, client := start(t)
			proxy.Set(func(request *http.Request) faulttest.Fault {
				if !faulttest.Holds(request, "hello") || !faulttest.IsWrite(request) {
					t.Errorf("the rule sees another request: %s %s", request.Method, request.URL)
				}
				return test.fault
			})
			code, body, err := post(t, client, proxy.Host(), "hello")
			if (err == nil) != (test.code != 0) || code != test.code || !strings.Contains(body, test.body) {
				t.Errorf("got %d %q (%v), want %d with %q", code, body, err, test.code, test.body)
			}
			if reached := server.asked.Load() == 1; reached != test.reachesThat {
				t.Errorf("reaches the server: %t, want %t", reached, test.reachesThat)
			}
		})
	}
	t.Cleanup(func() {
		if ran.Load() != 3 {
			t.Errorf("the callbacks ran %d times, want 3", ran.Load())
		}
	})
}

func TestWatchPassesAtOnce(t *testing.T) {
	t.Parallel()
	proxy, _, client := start(t)
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, proxy.Host()+"/api/v1/pods?watch=true", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	response, err := client.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(response.Body).ReadString('\n')
	if err != nil || line != "first\n" {
		t.Errorf("got %q (%v), want the first event", line, err)
	}
	if err := response.Body.Close(); err != nil {
		t.Error(err)
	}
}

func TestDisturbance(t *testing.T) {
	t.Parallel()
	const delay = 100 * time.Millisecond
	large := strings.Repeat("x", 20_000)
	tests := map[string]struct {
		disturbance faulttest.Disturbance
		atLeast     time.Duration
		breaks      bool
	}{
		"latency":   {disturbance: faulttest.Disturbance{Latency: delay}, atLeast: delay},
		"bandwidth": {disturbance: faulttest.Disturbance{BytesPerSecond: 200_000}, atLeast: delay},
		"resets":    {disturbance: faulttest.Disturbance{Resets: 1}, breaks: true},
		"outage":    {disturbance: faulttest.Disturbance{Down: true}, breaks: true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			proxy, _, client := start(t)
			if _, _, err := post(t, client, proxy.Host(), "before"); err != nil {
				t.Fatal(err)
			}
			if err := proxy.Disturb(test.disturbance); err != nil {
				t.Fatal(err)
			}
			began := time.Now()
			_, body, err := post(t, client, proxy.Host(), large)
			if (err != nil) != test.breaks {
				t.Errorf("breaks: %v, want %t", err, test.breaks)
			}
			if took := time.Since(began); took < test.atLeast || !test.breaks && body != large {
				t.Errorf("took %v for %d bytes, want at least %v", took, len(body), test.atLeast)
			}
			if err := proxy.Disturb(faulttest.Disturbance{}); err != nil {
				t.Fatal(err)
			}
			if _, body, err := post(t, client, proxy.Host(), "after"); err != nil || body != "after" {
				t.Errorf("after that: %q (%v)", body, err)
			}
		})
	}
}

func TestIsList(t *testing.T) {
	t.Parallel()
	tests := map[string]bool{
		"GET /api/v1/secrets":                                       true,
		"GET /api/v1/namespaces/x/secrets?labelSelector=a":          true,
		"GET /api/v1/namespaces/x/secrets?watch=true":               false,
		"GET /api/v1/namespaces/x/secrets/y":                        false,
		"POST /api/v1/namespaces/x/secrets":                         false,
		"GET /api/v1/namespaces":                                    true,
		"GET /api/v1/namespaces/kube-system":                        false,
		"GET /apis/apps/v1/namespaces/x/deployments":                true,
		"GET /apis/apps/v1/namespaces/x/deployments/y":              false,
		"GET /apis/rbac.authorization.k8s.io/v1/clusterroles":       true,
		"GET /apis/rbac.authorization.k8s.io/v1/clusterroles/admin": false,
		"GET /api/v1":       false,
		"GET /apis":         false,
		"GET /apis/apps/v1": false,
		"GET /version":      false,
	}
	for line, want := range tests {
		t.Run(line, func(t *testing.T) {
			t.Parallel()
			method, url, _ := strings.Cut(line, " ")
			if got := faulttest.IsList(httptest.NewRequestWithContext(t.Context(), method, url, http.NoBody), ""); got != want {
				t.Errorf("got %t, want %t", got, want)
			}
		})
	}
}

func TestVerb(t *testing.T) {
	t.Parallel()
	tests := map[string]string{
		"GET /version":        "get",
		"GET /apis/apps/v1":   "get",
		"POST /apis":          "post",
		"GET /api/v1/secrets": "list",
		"GET /api/v1/namespaces/x/secrets?limit=5":                      "list",
		"GET /api/v1/namespaces/x/secrets?watch=1":                      "watch",
		"GET /api/v1/namespaces/x/secrets/y":                            "get",
		"HEAD /api/v1/namespaces/x/secrets/y":                           "get",
		"GET /api/v1/namespaces/kube-system":                            "get",
		"GET /api/v1/namespaces/x/pods/y/log":                           "get",
		"POST /apis/authorization.k8s.io/v1/selfsubjectaccessreviews":   "create",
		"PUT /apis/apps/v1/namespaces/x/deployments/y":                  "update",
		"PATCH /apis/apps/v1/namespaces/x/deployments/y":                "patch",
		"DELETE /apis/apps/v1/namespaces/x/deployments/y":               "delete",
		"DELETE /apis/apps/v1/namespaces/x/deployments":                 "deletecollection",
		"PATCH /apis/apps/v1/namespaces/x/deployments/y?dryRun=All":     "patch",
		"POST /api/v1/namespaces/x/serviceaccounts/default/token":       "create",
		"GET /apis/rbac.authorization.k8s.io/v1/clusterroles?watch=all": "watch",
		"GET /apis/rbac.authorization.k8s.io/v1/clusterroles?watch=0":   "list",
	}
	for line, want := range tests {
		t.Run(line, func(t *testing.T) {
			t.Parallel()
			method, url, _ := strings.Cut(line, " ")
			if got := faulttest.Verb(httptest.NewRequestWithContext(t.Context(), method, url, http.NoBody)); got != want {
				t.Errorf("got %q, want %q", got, want)
			}
		})
	}
}

func TestRecord(t *testing.T) {
	t.Parallel()
	proxy, _, client := start(t)
	send := func(method, path string) {
		t.Helper()
		request, err := http.NewRequestWithContext(t.Context(), method, proxy.Host()+path, http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		response, err := client.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		if err := response.Body.Close(); err != nil {
			t.Error(err)
		}
	}
	send(http.MethodGet, "/api/v1/pods") // Before the recording.
	proxy.Record()
	send(http.MethodGet, "/api/v1/secrets?limit=1")
	proxy.Set(func(*http.Request) faulttest.Fault { return faulttest.Fault{Status: http.StatusForbidden} })
	send(http.MethodPost, "/api/v1/namespaces")
	// A call is recorded only after its response was sent.
	want := []faulttest.Call{{Verb: "list", URL: "/api/v1/secrets?limit=1", Status: http.StatusOK}, {Verb: "create", URL: "/api/v1/namespaces", Status: http.StatusForbidden}}
	for deadline := time.Now().Add(10 * time.Second); len(proxy.Recorded()) < len(want) && time.Now().Before(deadline); {
		runtime.Gosched()
	}
	if diff := cmp.Diff(want, proxy.Recorded()); diff != "" {
		t.Errorf("recorded (-want +got):\n%s", diff)
	}
	proxy.Record()
	if left := proxy.Recorded(); len(left) != 0 {
		t.Errorf("kept of an earlier recording: %v", left)
	}
}

// A response to a request whose body is still arriving may not end, so a body is forwarded as a whole.
func TestBodyIsForwardedAsAWhole(t *testing.T) {
	t.Parallel()
	proxy, server, client := start(t)
	body, sent := io.Pipe()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, proxy.Host()+"/api/v1/secrets", body)
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		_, _ = io.WriteString(sent, "half")
		for end := time.Now().Add(time.Second / 4); server.asked.Load() == 0 && time.Now().Before(end); {
			runtime.Gosched()
		}
		_ = sent.CloseWithError(io.ErrUnexpectedEOF)
	}()
	response, err := client.Do(request)
	if err == nil {
		_ = response.Body.Close()
		t.Error("the request was answered")
	}
	server.Close()
	if got := server.asked.Load(); got != 0 {
		t.Errorf("the server got %d requests, want none", got)
	}
}
