package acceptance_test

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/faulttest"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/testenv"
)

// redirector is a kubeconfig whose only context leads to the first cluster and can be switched to
// another one.
type redirector struct{ path string }

func newRedirector(t *testing.T, w *workspace, env *testenv.Env) redirector {
	t.Helper()
	s := redirector{path: filepath.Join(w.dir, "signpost")}
	s.turn(t, env, 0)
	return s
}

func (s redirector) turn(t *testing.T, env *testenv.Env, i int) {
	t.Helper()
	config, err := clientcmd.LoadFromFile(env.Kubeconfig())
	if err != nil {
		t.Fatal(err)
	}
	config.Contexts["prod"] = config.Contexts[env.Contexts()[i]]
	if err := clientcmd.WriteToFile(*config, s.path); err != nil {
		t.Fatal(err)
	}
}

// identity is the UID of a cluster.
func (s *fixture) identity(t *testing.T, i int) string {
	t.Helper()
	system, err := s.client(t, i).CoreV1().Namespaces().Get(t.Context(), metav1.NamespaceSystem, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return string(system.UID)
}

// misled is the provider block. The kubeconfig of cluster a is the redirector, and that of cluster
// b is real.
func (s *fixture) misled(post redirector, extra string) string {
	return fmt.Sprintf("provider \"fleet\" {\n  owner = %q\n  clusters = {\n    a = { config_path = %q, config_context = \"prod\", labels = { on = \"yes\" }%s }\n"+
		"    b = { config_path = %q, config_context = %q, labels = { on = \"yes\" } }\n  }\n}\n",
		s.namespace, post.path, extra, s.env.Kubeconfig(), s.env.Contexts()[1])
}

// Between plan and apply the kubeconfig is switched to another cluster. Nothing is written there,
// and cluster b is deployed.
func TestAttackAnotherClusterThanPlanned(t *testing.T) {
	t.Parallel()
	env := testenv.Shared(t)
	tests := map[string]func(t *testing.T, w *workspace){
		"a saved plan": func(t *testing.T, w *workspace) {
			t.Helper()
			w.refuse(t, []string{"apply", "-input=false", "tfplan"}, "a/one")
		},
		"a plan without refresh": func(t *testing.T, w *workspace) {
			t.Helper()
			w.refuse(t, slices.Concat(applying, []string{"-refresh=false"}), "a/one")
		},
	}
	for name, act := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, w := newFixture(t, env), newWorkspace(t)
			post := newRedirector(t, w, env)
			configure := func(value string) {
				w.configure(t, s.misled(post, ""), s.bundle("one", value), target("", "fleet_bundle.one.bundles"))
			}
			configure("x")
			w.apply(t)
			before := s.releases(t, 0)
			configure("y")
			w.run(t, "plan", "-input=false", "-out=tfplan")
			post.turn(t, env, 2)
			act(t, w)
			s.expectReleases(t, 2)
			if diff := cmp.Diff(before, s.releases(t, 0), cmp.AllowUnexported(record{})); diff != "" {
				t.Errorf("the planned cluster (-before +after):\n%s", diff)
			}
			if got := s.value(t, 1, "one"); got != "y" {
				t.Errorf("the other cluster has %q, want y", got)
			}
			post.turn(t, env, 0)
			w.apply(t)
			if got := s.value(t, 0, "one"); got != "y" {
				t.Errorf("the planned cluster has %q, want y", got)
			}
			w.expectEmptyPlan(t)
			w.run(t, "destroy", "-auto-approve")
			for i := range 3 {
				s.expectNothing(t, i)
			}
		})
	}
}

// The same with a refresh in between, at a plan and at a destroy: a cluster that is not the one of
// the state is an error, and nothing on it changes.
func TestAttackClusterChangesItsIdentity(t *testing.T) {
	t.Parallel()
	env := testenv.Shared(t)
	for name, args := range map[string][]string{
		"apply":                   applying,
		"destroy":                 {"destroy", "-auto-approve", "-input=false"},
		"destroy without refresh": {"destroy", "-auto-approve", "-input=false", "-refresh=false"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, w := newFixture(t, env), newWorkspace(t)
			post := newRedirector(t, w, env)
			configure := func(value string) {
				w.configure(t, s.misled(post, ""), s.bundle("one", value), target("", "fleet_bundle.one.bundles"))
			}
			configure("x")
			w.apply(t)
			before := s.releases(t, 0)
			s.copyRelease(t, 0, 2, "one") // As a backup that was restored on another cluster.
			twin := s.releases(t, 2)
			post.turn(t, env, 2)
			configure("y")
			w.refuse(t, args, "a/one")
			if diff := cmp.Diff(twin, s.releases(t, 2), cmp.AllowUnexported(record{})); diff != "" {
				t.Errorf("the other cluster (-before +after):\n%s", diff)
			}
			if got := s.value(t, 2, "one"); got != "x" {
				t.Errorf("the other cluster has %q", got)
			}
			if diff := cmp.Diff(before, s.releases(t, 0), cmp.AllowUnexported(record{})); diff != "" {
				t.Errorf("the cluster of the state (-before +after):\n%s", diff)
			}
			post.turn(t, env, 0)
			w.run(t, "destroy", "-auto-approve")
			for i := range 2 {
				s.expectNothing(t, i)
			}
		})
	}
}

// copyRelease copies the record and the config map of a release to another cluster.
func (s *fixture) copyRelease(t *testing.T, from, to int, name string) {
	t.Helper()
	s.namespaced(t, to)
	record := s.newestRecord(t, from, name)
	record.ObjectMeta = metav1.ObjectMeta{Name: record.Name, Labels: record.Labels}
	if _, err := s.client(t, to).CoreV1().Secrets(s.namespace).Create(t.Context(), record, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	object, err := s.client(t, from).CoreV1().ConfigMaps(s.namespace).Get(t.Context(), name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	object.ObjectMeta = metav1.ObjectMeta{Name: name, Labels: object.Labels, Annotations: object.Annotations}
	if _, err := s.client(t, to).CoreV1().ConfigMaps(s.namespace).Create(t.Context(), object, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

// The first create of a target has no identity in state to compare with. It compares with uid of
// the entry of the cluster.
func TestAttackFirstCreateOnAnotherCluster(t *testing.T) {
	t.Parallel()
	s, w := newFixture(t, testenv.Shared(t)), newWorkspace(t)
	post := newRedirector(t, w, s.env)
	w.configure(t, s.misled(post, fmt.Sprintf(", uid = %q", s.identity(t, 0))), s.bundle("one", "x"), target("", "fleet_bundle.one.bundles"))
	w.run(t, "plan", "-input=false", "-out=tfplan")
	post.turn(t, s.env, 2)
	w.refuse(t, []string{"apply", "-input=false", "tfplan"}, "a/one")
	s.expectReleases(t, 0)
	s.expectReleases(t, 2)
	s.expectReleases(t, 1, "one")
	post.turn(t, s.env, 0)
	w.apply(t)
	for i := range 2 {
		s.expectReleases(t, i, "one")
	}
	w.expectEmptyPlan(t)
	w.run(t, "destroy", "-auto-approve")
	for i := range 2 {
		s.expectNothing(t, i)
	}
}

// impostor is an HTTPS server in place of an API server. It passes requests on to a real one,
// except for those that it responds to itself.
type impostor struct{ *httptest.Server }

// newImpostor makes an impostor for cluster i. answer reports whether it has sent a response.
func (s *fixture) newImpostor(t *testing.T, i int, answer func(w http.ResponseWriter, request *http.Request) bool) *impostor {
	t.Helper()
	cluster := s.env.Cluster(i)
	if cluster.Token() == "" {
		t.Skip("the cluster of this context is not reached by a token")
	}
	behind, err := url.Parse(cluster.Host())
	if err != nil {
		t.Fatal(err)
	}
	authorities := x509.NewCertPool()
	authorities.AppendCertsFromPEM(cluster.CACertificate())
	forward := &httputil.ReverseProxy{
		Rewrite:       func(request *httputil.ProxyRequest) { request.SetURL(behind) },
		Transport:     &http.Transport{TLSClientConfig: &tls.Config{RootCAs: authorities, MinVersion: tls.VersionTLS12}, ForceAttemptHTTP2: true},
		FlushInterval: -1, ErrorLog: log.New(io.Discard, "", 0),
	}
	m := &impostor{}
	m.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		if !answer(w, request) {
			forward.ServeHTTP(w, request)
		}
	}))
	m.Config.ErrorLog = log.New(io.Discard, "", 0)
	m.StartTLS()
	t.Cleanup(func() {
		m.CloseClientConnections()
		m.Close()
	})
	return m
}

// entry is the impostor as a cluster of the provider block.
func (m *impostor) entry(token string) entry {
	authority := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: m.Certificate().Raw})
	return entry{name: "a", host: m.URL, token: token, authority: authority}
}

// honest is the second cluster as a cluster of the provider block.
func (s *fixture) honest() entry {
	cluster := s.env.Cluster(1)
	return entry{name: "b", host: cluster.Host(), token: cluster.Token(), authority: cluster.CACertificate()}
}

// An API server redirects. The bearer token is sent to no other server, the error names the
// cluster, and the other cluster is deployed.
func TestAttackRedirectTakesNoToken(t *testing.T) {
	t.Parallel()
	env := testenv.Shared(t)
	for name, redirected := range map[string]func(request *http.Request) bool{
		"everything": func(*http.Request) bool { return true },
		"lists":      func(request *http.Request) bool { return strings.HasSuffix(request.URL.Path, "/secrets") },
		"what it names": func(request *http.Request) bool {
			return strings.HasSuffix(request.URL.Path, "/namespaces/kube-system")
		},
		"writes": func(request *http.Request) bool { return request.Method != http.MethodGet },
	} {
		for _, code := range []int{http.StatusFound, http.StatusTemporaryRedirect} {
			t.Run(name+" "+strconv.Itoa(code), func(t *testing.T) {
				t.Parallel()
				s, w := newFixture(t, env), newWorkspace(t)
				w.patience = 2 * time.Minute
				var taken atomic.Bool
				thief := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, request *http.Request) {
					if request.Header.Get("Authorization") != "" {
						taken.Store(true)
					}
					panic(http.ErrAbortHandler)
				}))
				thief.Config.ErrorLog = log.New(io.Discard, "", 0)
				t.Cleanup(thief.Close)
				liar := s.newImpostor(t, 0, func(w http.ResponseWriter, request *http.Request) bool {
					if !redirected(request) {
						return false
					}
					http.Redirect(w, request, thief.URL+request.URL.Path, code)
					return true
				})
				w.configure(t, s.clusters([]entry{liar.entry(env.Cluster(0).Token()), s.honest()}), s.bundle("one", "x"), target("", "fleet_bundle.one.bundles"))
				w.refuse(t, applying, "a/one")
				if taken.Load() {
					t.Error("the token was sent to another host")
				}
				s.expectReleases(t, 1, "one")
			})
		}
	}
}

// An API server sends a response that does not end, or a small response that unpacks to a large
// one. The memory of the provider is bounded, the error names the cluster, and the other cluster is
// deployed.
func TestAttackEndlessResponses(t *testing.T) {
	t.Parallel()
	const answer, limit = 400 << 20, 512 << 20
	env := testenv.Shared(t)
	paths := map[string]func(path string) bool{
		"the core of discovery": func(path string) bool { return path == "/api" },
		"discovery of groups":   func(path string) bool { return path == "/apis" },
		"a list of records":     func(path string) bool { return strings.HasSuffix(path, "/secrets") },
		"an object":             func(path string) bool { return strings.Contains(path, "/configmaps/") },
	}
	for what, hasResponse := range paths {
		for _, zipped := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, zipped %t", what, zipped), func(t *testing.T) {
				t.Parallel()
				s, w := newFixture(t, env), newWorkspace(t)
				w.patience = 4 * time.Minute
				most := w.weigh(t)
				zippedResponse := faulttest.Gzip(endless, strings.Repeat("x", 1<<20), answer>>20, "")
				server := s.newImpostor(t, 0, func(w http.ResponseWriter, request *http.Request) bool {
					if !hasResponse(request.URL.Path) {
						return false
					}
					w.Header().Set("Content-Type", "application/json")
					// The client closes the connection when it has read enough.
					if zipped {
						w.Header().Set("Content-Encoding", "gzip")
						_, _ = w.Write(zippedResponse)
					} else {
						_ = writeEndless(w, answer)
					}
					return true
				})
				w.configure(t, s.clusters([]entry{server.entry(env.Cluster(0).Token()), s.honest()}), s.bundle("one", "x"), target("", "fleet_bundle.one.bundles"))
				var output string
				got := most(func() { output = w.applyOutput(t) })
				if got > limit {
					t.Errorf("the provider had %d MiB, want at most %d", got>>20, limit>>20)
				}
				expectMention(t, output, "a/one")
				s.expectReleases(t, 1, "one")
			})
		}
	}
}

// endless is the beginning of an object without its end.
const endless = `{"kind":"Status","apiVersion":"v1","metadata":{},"message":"`

func writeEndless(to io.Writer, size int) error {
	if _, err := io.WriteString(to, endless); err != nil {
		return err
	}
	chunk := bytes.Repeat([]byte("x"), 1<<20)
	for range size / len(chunk) {
		if _, err := to.Write(chunk); err != nil {
			return err
		}
	}
	return nil
}

// A command that prints credentials does not return. The error names its cluster, and the other
// cluster is planned.
func TestAttackCommandThatDoesNotReturn(t *testing.T) {
	t.Parallel()
	s, w := newFixture(t, testenv.Shared(t)), newWorkspace(t)
	w.patience = 3 * time.Minute
	w.write(t, "hang", "#!/bin/sh\nexec sleep 240\n")
	config := s.clusters([]entry{{name: "a", host: s.env.Cluster(0).Host(), token: "TOKEN", authority: s.env.Cluster(0).CACertificate()}, s.honest()})
	config = strings.Replace(config, `token = "TOKEN"`, fmt.Sprintf(`exec = { api_version = "client.authentication.k8s.io/v1", command = "/bin/sh", args = [%q] }`, filepath.Join(w.dir, "hang")), 1)
	w.configure(t, config, s.bundle("one", "x"), target("", "fleet_bundle.one.bundles"))
	output, err := w.try(t, "apply", "-auto-approve", "-input=false")
	if err == nil || !strings.Contains(output, "Error: ") {
		t.Errorf("the apply did not end with an error: %v\n%s", err, output)
	}
	expectMention(t, output, "a/one")
	s.expectReleases(t, 1, "one")
}
