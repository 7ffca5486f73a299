package provider_test

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/faulttest"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/testenv"
)

// entry is one cluster of the provider block.
type entry struct {
	name, host, token string
	authority         []byte
}

// Of twenty clusters one is down, one slow, one read-only and one has a token that
// expired. The others take the time that they take alone, the slow one its own, and
// each that fails has one diagnostic.
func TestAccFourOfTwentyClustersAreSick(t *testing.T) {
	t.Parallel()
	const all, down, slow, readOnly, expired = 20, 3, 7, 11, 15
	env := testenv.Shared(t)
	s, w := newSite(t, env), newWorkspace(t)
	var healthy span
	slowly := faulttest.New(t, env.Cluster(slow%3))
	if err := slowly.Disturb(faulttest.Disturbance{Latency: 500 * time.Millisecond}); err != nil {
		t.Fatal(err)
	}
	var finished span // of the slow one
	slowly.Set(finished.note)
	proxies := make([]*faulttest.Proxy, len(env.Contexts()))
	for i := range proxies {
		if env.Cluster(i).Token() == "" {
			t.Skip("the cluster of this context is not reached by a token")
		}
		proxies[i] = faulttest.New(t, env.Cluster(i))
		proxies[i].Set(healthy.note)
	}
	reader, err := env.Cluster(readOnly%3).User(t.Context(), s.namespace, []rbacv1.PolicyRule{
		{APIGroups: []string{"*"}, Resources: []string{"*"}, Verbs: []string{"get", "list"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := env.Cluster(readOnly%3).RemoveUser(context.WithoutCancel(t.Context()), s.namespace); err != nil {
			t.Error(err)
		}
	})
	var entries []entry
	for k := range all {
		cluster := env.Cluster(k % 3)
		e := entry{name: fmt.Sprintf("k%02d", k), host: proxies[k%3].Host(), token: cluster.Token(), authority: proxies[k%3].CACertificate()}
		switch k {
		case down:
			e.host = "https://" + unused(t)
		case slow:
			e.host, e.authority = slowly.Host(), slowly.CACertificate()
		case readOnly:
			e.host, e.authority, e.token = cluster.Host(), cluster.CACertificate(), reader.Token
		case expired:
			e.host, e.authority, e.token = cluster.Host(), cluster.CACertificate(), "expired"
		}
		entries = append(entries, e)
		t.Cleanup(func() {
			if err := s.client(t, k%3).CoreV1().Namespaces().Delete(context.WithoutCancel(t.Context()), s.namespace+"-"+e.name, metav1.DeleteOptions{}); err != nil {
				t.Log(err)
			}
		})
	}
	isSick := map[int]bool{down: true, slow: true, readOnly: true, expired: true}
	var alone []entry
	for k, e := range entries {
		if !isSick[k] {
			alone = append(alone, e)
		}
	}

	w.configure(t, s.clusters(alone), s.spread("one", alone), s.spread("two", alone), target("", "fleet_bundle.one.bundles", "fleet_bundle.two.bundles"))
	healthy.reset()
	w.apply(t)
	took := healthy.length()
	w.run(t, "destroy", "-auto-approve")

	w.configure(t, s.clusters(entries), s.spread("one", entries), s.spread("two", entries), target("", "fleet_bundle.one.bundles", "fleet_bundle.two.bundles"))
	healthy.reset()
	finished.reset()
	output := w.fail(t, applying, "k03/one, k03/two", "k11/one, k11/two", "k15/one, k15/two", "does not respond")
	// The slow one gets there, and has nothing to report.
	if errors := strings.Count(output, "Error: "); errors != 3 {
		t.Errorf("%d errors, want one for each cause:\n%s", errors, output)
	}
	t.Logf("16 clusters took %v alone and %v beside four sick ones, of which the slow one took %v", took, healthy.length(), finished.length())
	if beside, ends := healthy.length(), finished.length(); beside > 2*took+2*time.Second || beside > ends {
		t.Errorf("16 clusters took %v alone and %v beside four sick ones, of which the slow one took %v", took, beside, ends)
	}
	states := w.states(t)
	for k, e := range entries {
		for _, bundle := range []string{"one", "two"} {
			switch state := states[e.name+"/"+bundle]; {
			case !isSick[k] || k == slow:
				if state != "Ready" {
					t.Errorf("%s/%s is %q", e.name, bundle, state)
				}
			case state != "":
				t.Errorf("%s/%s is %q, although nothing is there", e.name, bundle, state)
			}
		}
	}
	w.configure(t, s.clusters(entries), s.spread("one", alone), s.spread("two", alone))
	w.run(t, "destroy", "-auto-approve")
}

// unused is an address where nothing listens.
func unused(t *testing.T) string {
	t.Helper()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if err := listener.Close(); err != nil {
		t.Fatal(err)
	}
	return listener.Addr().String()
}

// span is the time from the first write to the last: a plan waits for nobody longer
// than some seconds, and that is no part of it.
type span struct {
	mu          sync.Mutex
	first, last time.Time
}

func (s *span) note(request *http.Request) faulttest.Fault {
	if request.Method == http.MethodGet {
		return faulttest.Fault{}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last = time.Now()
	if s.first.IsZero() {
		s.first = s.last
	}
	return faulttest.Fault{}
}

func (s *span) reset() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.first, s.last = time.Time{}, time.Time{}
}

func (s *span) length() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.last.Sub(s.first).Round(time.Millisecond)
}

// clusters is the provider block for entries, all of them labelled.
func (s *site) clusters(entries []entry) string {
	var block strings.Builder
	for _, e := range entries {
		authority := ""
		if len(e.authority) > 0 {
			authority = fmt.Sprintf("cluster_ca_certificate = <<-CA\n%sCA\n", e.authority)
		}
		fmt.Fprintf(&block, "    %s = { host = %q, token = %q, labels = { on = \"yes\" }, %s    }\n", e.name, e.host, e.token, authority)
	}
	return fmt.Sprintf("provider \"fleet\" {\n  owner = %q\n  clusters = {\n%s  }\n}\n", s.namespace, block.String())
}

// spread is a fleet_bundle with a config map, in a namespace of its own for each
// entry, as several of them are one cluster.
func (s *site) spread(name string, entries []entry) string {
	var customizations []string
	for _, e := range entries {
		customizations = append(customizations, fmt.Sprintf("{ cluster_name = %q, namespace = \"%s-%s\" }", e.name, s.namespace, e.name))
	}
	return strings.Replace(s.bundle(name, "x"), "  files =", "  target_customizations = [\n    "+strings.Join(customizations, ",\n    ")+"\n  ]\n  files =", 1)
}
