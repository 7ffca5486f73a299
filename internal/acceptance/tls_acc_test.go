package acceptance_test

import (
	"encoding/pem"
	"fmt"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"testing"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/charttest"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/gittest"
)

// One authority of the provider block applies to repositories and charts, without an entry for
// them.
func TestAccAuthorityOfAllServers(t *testing.T) {
	t.Parallel()
	charts := charttest.New(t, charttest.Options{TLS: true})
	charts.AddChart(charttest.Chart{Name: "web", Version: "1.2.3", Files: map[string]string{"templates/a.yaml": configMap("web", "x")}})
	git := gittest.New(t, gittest.Options{})
	if _, err := git.Commit(t.Context(), "fleet", "main", "Add", map[string]string{"web/a.yaml": configMap("web", "x")}); err != nil {
		t.Fatal(err)
	}
	address, err := url.Parse(git.URL(""))
	if err != nil {
		t.Fatal(err)
	}
	secured := httptest.NewTLSServer(httputil.NewSingleHostReverseProxy(address))
	t.Cleanup(secured.Close)
	repository := fmt.Sprintf("resource \"fleet_gitrepo\" \"apps\" {\n  name = \"apps\"\n  repo = \"%s/fleet\"\n  branch = \"main\"\n  paths = [\"web\"]\n}\n", secured.URL)
	chart := fmt.Sprintf("resource \"fleet_bundle\" \"web\" {\n  name = \"web\"\n  chart = { repo = %q, name = \"web\", version = \"1.2.3\" }\n}\n", charts.RepositoryURL())
	provider := func(tls string) string {
		return fmt.Sprintf("provider \"fleet\" {\n  owner = \"acc\"\n  %s\n}\n", tls)
	}
	own := fmt.Sprintf("ca_bundle = <<-PEM\n%s%sPEM\n", charts.CA(), pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: secured.Certificate().Raw}))

	w := newWorkspace(t)
	for _, resource := range []string{repository, chart} {
		w.configure(t, provider(""), resource)
		w.fail(t, []string{"plan", "-input=false"}, "certificate", "ca_bundle")
	}
	w.configure(t, provider("tls = { ca_bundle = \"none\" }"), chart)
	w.fail(t, []string{"plan", "-input=false"}, "Invalid tls", "no certificate in PEM")

	w.configure(t, "resource \"terraform_data\" \"ca\" {\n  input = { "+own+" }\n}\n", provider("tls = { ca_bundle = terraform_data.ca.output.ca_bundle }"), repository, chart)
	w.apply(t)
	w.expectEmptyPlan(t)
	for _, roots := range []string{"", "system_roots = false"} {
		w.configure(t, provider("tls = {\n"+own+roots+"\n}"), repository, chart)
		w.apply(t)
		w.expectEmptyPlan(t)
	}
	w.run(t, "destroy", "-auto-approve", "-input=false")
}
