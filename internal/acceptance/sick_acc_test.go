package acceptance_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/faulttest"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/testenv"
)

// entry is one cluster of the provider block.
type entry struct {
	name, host, token string
	authority         []byte
	// timeout is the timeout of one request; "" is the default.
	timeout string
}

// Of twenty clusters one is down, one slow, one read-only and one has a token that expired. The
// other clusters do not wait for them: from the first write on, the sick clusters send no response
// before the healthy ones are finished. Each failed cluster has one diagnostic.
func TestAccFourOfTwentyClustersAreSick(t *testing.T) {
	t.Parallel()
	const all, down, slow, readOnly, expired = 20, 3, 7, 11, 15
	env := testenv.Shared(t)
	s, w := newFixture(t, env), newWorkspace(t)
	healthy := &finish{left: 2 * (all - 4), done: make(chan struct{})}
	proxies := make([]*faulttest.Proxy, len(env.Contexts()))
	for i := range proxies {
		if env.Cluster(i).Token() == "" {
			t.Skip("the cluster of this context is not reached by a token")
		}
		proxies[i] = faulttest.New(t, env.Cluster(i))
		proxies[i].Set(healthy.note)
	}
	isSick := map[int]*faulttest.Proxy{}
	for _, k := range []int{slow, readOnly, expired} {
		isSick[k] = faulttest.New(t, env.Cluster(k%3))
		isSick[k].Set(func(*http.Request) faulttest.Fault { return faulttest.Fault{Before: healthy.hold(t)} })
	}
	isSick[down] = faulttest.New(t, env.Cluster(down%3))
	isSick[down].Set(func(*http.Request) faulttest.Fault { return faulttest.Fault{Before: healthy.hold(t), Cut: true} })
	if err := isSick[slow].Disturb(faulttest.Disturbance{Latency: 500 * time.Millisecond}); err != nil {
		t.Fatal(err)
	}
	reader := s.user(t, readOnly%3, "reader", []rbacv1.PolicyRule{
		{APIGroups: []string{"*"}, Resources: []string{"*"}, Verbs: []string{"get", "list"}},
	})
	var entries, alone []entry
	for k := range all {
		proxy, e := proxies[k%3], entry{name: fmt.Sprintf("k%02d", k), token: env.Cluster(k % 3).Token()}
		if isSick[k] != nil {
			proxy, e.timeout = isSick[k], "3m"
		}
		switch k {
		case readOnly:
			e.token = reader
		case expired:
			e.token = "expired"
		}
		e.host, e.authority = proxy.Host(), proxy.CACertificate()
		entries = append(entries, e)
		if isSick[k] == nil {
			alone = append(alone, e)
		}
		t.Cleanup(func() { s.cleanUp(t, k%3, s.namespace+"-"+e.name) })
	}

	w.configure(t, s.clusters(entries), s.spread("one", entries), s.spread("two", entries), target("", "fleet_bundle.one.bundles", "fleet_bundle.two.bundles"))
	output := w.fail(t, applying, "k03/one, k03/two", "k11/one, k11/two", "k15/one, k15/two", "does not respond")
	// The slow cluster finishes, and has nothing to report.
	if errors := strings.Count(output, "Error: "); errors != 3 {
		t.Errorf("%d errors, want one for each cause:\n%s", errors, output)
	}
	states := w.states(t)
	for k, e := range entries {
		for _, bundle := range []string{"one", "two"} {
			switch state := states[e.name+"/"+bundle]; {
			case isSick[k] == nil || k == slow:
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

// finish counts the records that clusters still have to write, the last one of each release.
type finish struct {
	mu   sync.Mutex
	left int // records
	// begun is true from the first write on, after the plan.
	begun bool
	done  chan struct{}
}

// note is the rule of a cluster whose writes are counted.
func (f *finish) note(request *http.Request) faulttest.Fault {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.begun = f.begun || faulttest.IsWrite(request)
	if to(http.MethodPut, "secrets")(request) {
		if f.left--; f.left == 0 {
			close(f.done)
		}
	}
	return faulttest.Fault{}
}

// hold delays requests from the first write on until all records are written.
func (f *finish) hold(t *testing.T) func(*http.Request) {
	t.Helper()
	return func(request *http.Request) {
		f.mu.Lock()
		passes := !f.begun && !faulttest.IsWrite(request)
		f.mu.Unlock()
		if passes {
			return
		}
		select {
		case <-f.done:
		case <-request.Context().Done():
		case <-time.After(2 * time.Minute):
			t.Error("healthy clusters wait for one that does not respond")
		}
	}
}

// clusters is the provider block for entries, all of them labelled.
func (s *fixture) clusters(entries []entry) string {
	var block strings.Builder
	for _, e := range entries {
		authority := ""
		if len(e.authority) > 0 {
			authority = fmt.Sprintf("cluster_ca_certificate = <<-CA\n%sCA\n", e.authority)
		}
		if e.timeout != "" {
			authority += fmt.Sprintf("request_timeout = %q\n", e.timeout)
		}
		fmt.Fprintf(&block, "    %s = { host = %q, token = %q, labels = { on = \"yes\" }, %s    }\n", e.name, e.host, e.token, authority)
	}
	return fmt.Sprintf("provider \"fleet\" {\n  owner = %q\n  clusters = {\n%s  }\n}\n", s.namespace, block.String())
}

// spread is a fleet_bundle with a config map. It is in a namespace of its own for each entry,
// because several entries are one cluster.
func (s *fixture) spread(name string, entries []entry) string {
	var customizations []string
	for _, e := range entries {
		customizations = append(customizations, fmt.Sprintf("{ cluster_name = %q, namespace = \"%s-%s\" }", e.name, s.namespace, e.name))
	}
	return strings.Replace(s.bundle(name, "x"), "  files =", "  target_customizations = [\n    "+strings.Join(customizations, ",\n    ")+"\n  ]\n  files =", 1)
}
