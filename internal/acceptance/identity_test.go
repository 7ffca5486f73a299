package acceptance_test

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/yaml"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/faulttest"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/testenv"
)

// role returns a ClusterRole that the project ships, as users get it.
func role(t *testing.T, name string) []rbacv1.PolicyRule {
	t.Helper()
	content, err := os.ReadFile(filepath.Join("../../examples/rbac", name+".yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var shipped rbacv1.ClusterRole
	if err := yaml.UnmarshalStrict(content, &shipped); err != nil {
		t.Fatal(err)
	}
	if len(shipped.Rules) == 0 {
		t.Fatalf("%s gives no rights", name)
	}
	return shipped.Rules
}

// gate is a site whose clusters are reached through proxies that record requests. The identity can
// be changed: the token of each cluster is in a file.
type gate struct {
	*fixture
	proxies []*faulttest.Proxy
	// tokens is the folder with the token files.
	tokens string
}

// newGate uses clusters 0 to n-1.
func newGate(t *testing.T, n int) *gate {
	t.Helper()
	g := &gate{fixture: newFixture(t, testenv.Shared(t)), tokens: t.TempDir()}
	for i := range n {
		g.proxies = append(g.proxies, faulttest.New(t, g.env.Cluster(i)))
	}
	return g
}

// become sets the identity on all clusters to a user with exactly these rights.
func (g *gate) become(t *testing.T, name string, rules []rbacv1.PolicyRule) {
	t.Helper()
	for i := range g.proxies {
		token := g.user(t, i, name, rules)
		if err := os.WriteFile(filepath.Join(g.tokens, strconv.Itoa(i)), []byte(token), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// user makes a user of the test on cluster i and returns its token.
func (s *fixture) user(t *testing.T, i int, name string, rules []rbacv1.PolicyRule) string {
	t.Helper()
	name = s.namespace + "-" + name
	made, err := s.env.Cluster(i).User(t.Context(), name, rules)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := cleanupContext(t)
		defer cancel()
		if err := s.env.Cluster(i).RemoveUser(ctx, name); err != nil {
			t.Logf("removing a user of the test: %v", err)
		}
	})
	return made.Token
}

// provider is the provider block: clusters a, b and so on with the labels given for
// each, "" for none.
func (g *gate) provider(extra string, labels ...string) string {
	var clusters strings.Builder
	for i, label := range labels {
		if label == "" {
			continue
		}
		clusters.WriteString("    " + string(rune('a'+i)) + " = { host = " + strconv.Quote(g.proxies[i].Host()) +
			", token_file = " + strconv.Quote(filepath.Join(g.tokens, strconv.Itoa(i))) + ", labels = { " + label + " }" +
			", cluster_ca_certificate = <<-CA\n" + string(g.proxies[i].CACertificate()) + "CA\n    }\n")
	}
	return "provider \"fleet\" {\n  owner = " + strconv.Quote(g.namespace) + "\n" + extra + "\n  clusters = {\n" + clusters.String() + "  }\n}\n"
}

// record starts to record all requests to the clusters.
func (g *gate) record() {
	for _, proxy := range g.proxies {
		proxy.Record()
	}
}

// recorded returns the requests to each cluster since then.
func (g *gate) recorded() [][]faulttest.Call {
	calls := make([][]faulttest.Call, len(g.proxies))
	for i, proxy := range g.proxies {
		calls[i] = proxy.Recorded()
	}
	return calls
}
