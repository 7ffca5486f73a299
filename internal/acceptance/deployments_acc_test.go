package acceptance_test

import (
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/faulttest"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/testenv"
)

// statusTotals are the numbers of the data source, for all clusters and by cluster.
type statusTotals struct {
	State         string
	Ready, Failed int
	Counts        counts `json:"resource_counts"`
}

type clusterStatus struct {
	statusTotals

	Deployments int
	Reachable   bool
	Message     string
}

// The data source reports the same as the target, and in full.
func TestAccDeploymentsDataSource(t *testing.T) {
	t.Parallel()
	s, w := newFixture(t, testenv.Shared(t)), newWorkspace(t)
	manifest := ""
	for i := range 6 {
		manifest += "---\n" + configMap(fmt.Sprintf("a-name-that-takes-some-room-%d", i), "x")
	}
	const asked = `
data "fleet_deployments" "all" {
  bundles = [fleet_bundle.many.bundles, fleet_bundle.later.bundles]
  targets = [{ cluster_selector = { match_labels = { on = "yes" } } }]
}
output "all" {
  value     = data.fleet_deployments.all
  sensitive = true
}
`
	bundles := s.bundleOf("many", manifest) + s.bundle("later", "x")
	w.configure(t, s.provider("", on), bundles, target("", "fleet_bundle.many.bundles"))
	w.apply(t)
	for i := range 5 {
		s.edit(t, 0, configMaps, fmt.Sprintf("a-name-that-takes-some-room-%d", i), `{"data":{"key":"edited"}}`)
	}
	s.delete(t, 0, configMaps, "a-name-that-takes-some-room-5")
	w.configure(t, s.provider("", on), bundles, target("drift = \"none\"", "fleet_bundle.many.bundles"), asked)
	w.run(t, "apply", "-auto-approve", "-input=false", "-refresh=false")

	var all struct {
		statusTotals

		ReadyClusters string `json:"ready_clusters"`
		Unreachable   []string
		Clusters      map[string]clusterStatus
		Deployments   map[string]struct {
			State, Message, Chart, Version, Digest string

			Missing, Modified []string
			Counts            counts `json:"resource_counts"`
		}
	}
	decode(t, []byte(w.run(t, "output", "-json", "all")), &all)
	if all.State != "Modified" || len(all.Unreachable) > 0 {
		t.Errorf("it is %s, unreachable: %q", all.State, all.Unreachable)
	}
	if diff := cmp.Diff(counts{Desired: 6, Modified: 5, Missing: 1}, all.Counts); diff != "" {
		t.Errorf("counts (-want +got):\n%s", diff)
	}
	totals := statusTotals{State: "Modified", Counts: all.Counts}
	if diff := cmp.Diff(totals, all.statusTotals); diff != "" || all.ReadyClusters != "0/1" {
		t.Errorf("%s clusters are ready, and all of them (-want +got):\n%s", all.ReadyClusters, diff)
	}
	if diff := cmp.Diff(map[string]clusterStatus{"a": {statusTotals: totals, Deployments: 2, Reachable: true}}, all.Clusters, cmp.AllowUnexported(clusterStatus{})); diff != "" {
		t.Errorf("clusters (-want +got):\n%s", diff)
	}
	many, later := all.Deployments["a/many"], all.Deployments["a/later"]
	if later.State != "Pending" || many.State != "Modified" {
		t.Errorf("many is %s and later is %s", many.State, later.State)
	}
	if diff := cmp.Diff(all.Counts, many.Counts); diff != "" {
		t.Errorf("counts of many (-want +got):\n%s", diff)
	}
	if many.Chart != "many" || !strings.HasPrefix(many.Version, "v0.0.0+") || !regexp.MustCompile(`^v1-[0-9a-f]{32}$`).MatchString(many.Digest) {
		t.Errorf("%s %s with %s is deployed", many.Chart, many.Version, many.Digest)
	}
	if later.Chart+later.Version+later.Digest != "" {
		t.Errorf("of a release that does not exist: %+v", later)
	}
	var modified []string
	for i := range 5 {
		modified = append(modified, fmt.Sprintf("ConfigMap %s/a-name-that-takes-some-room-%d: data.key", s.namespace, i))
	}
	if diff := cmp.Diff(modified, many.Modified); diff != "" {
		t.Errorf("modified (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"ConfigMap " + s.namespace + "/a-name-that-takes-some-room-5"}, many.Missing); diff != "" {
		t.Errorf("missing (-want +got):\n%s", diff)
	}
	if got := strings.Count(many.Message, "differs at data.key"); got != 5 {
		t.Errorf("the message names %d of 5 objects: %s", got, many.Message)
	}
	w.run(t, "destroy", "-auto-approve")
	s.expectNothing(t, 0)
}

// A cluster that does not respond is not ready, and its entry has the reason. No attribute reports
// that all is well.
func TestAccDeploymentsOfStoppedCluster(t *testing.T) {
	t.Parallel()
	s, w := newFixture(t, testenv.Shared(t)), newWorkspace(t)
	proxies := []*faulttest.Proxy{faulttest.New(t, s.env.Cluster(0)), faulttest.New(t, s.env.Cluster(1))}
	var entries []entry
	for k, proxy := range proxies {
		token := s.env.Cluster(k).Token()
		if token == "" {
			t.Skip("the cluster of this context is not reached by a token")
		}
		entries = append(entries, entry{name: []string{"a", "b"}[k], host: proxy.Host(), token: token, authority: proxy.CACertificate(), timeout: "3s"})
	}
	parts := []string{s.clusters(entries), s.bundle("one", "x"), target("", "fleet_bundle.one.bundles")}
	w.configure(t, parts...)
	w.apply(t)
	proxies[1].Set(func(*http.Request) faulttest.Fault { return faulttest.Fault{Cut: true} })
	w.configure(t, append(parts, `
data "fleet_deployments" "all" {
  bundles = [fleet_bundle.one.bundles]
  targets = [{ cluster_selector = { match_labels = { on = "yes" } } }]
}
output "all" {
  value = {
    state = data.fleet_deployments.all.state, ready_clusters = data.fleet_deployments.all.ready_clusters
    clusters = data.fleet_deployments.all.clusters, unreachable = data.fleet_deployments.all.unreachable
    deployments = keys(data.fleet_deployments.all.deployments)
  }
}
`)...)
	w.run(t, "apply", "-auto-approve", "-input=false", "-refresh=false")
	type found struct {
		State                    string
		ReadyClusters            string `json:"ready_clusters"`
		Clusters                 map[string]clusterStatus
		Unreachable, Deployments []string
	}
	var all found
	decode(t, []byte(w.run(t, "output", "-json", "all")), &all)
	stopped := all.Clusters["b"]
	if !strings.HasPrefix(stopped.Message, "the cluster does not respond (") || strings.Contains(stopped.Message, entries[1].token) {
		t.Errorf("the message of the stopped cluster is %q", stopped.Message)
	}
	stopped.Message = ""
	all.Clusters["b"] = stopped
	want := found{
		ReadyClusters: "1/2", Unreachable: []string{"b"}, Deployments: []string{"a/one"},
		Clusters: map[string]clusterStatus{
			"a": {statusTotals: statusTotals{State: "Ready", Ready: 1, Counts: counts{Desired: 1, Ready: 1}}, Deployments: 1, Reachable: true},
			"b": {Deployments: 1},
		},
	}
	if diff := cmp.Diff(want, all, cmp.AllowUnexported(clusterStatus{})); diff != "" {
		t.Errorf("the data source (-want +got):\n%s", diff)
	}
	proxies[1].Set(nil)
	w.configure(t, parts...)
	w.run(t, "destroy", "-auto-approve")
}
