package acceptance_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/faulttest"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/testenv"
)

const diffTitle = "changes in rendered objects"

// watched is two clusters behind proxies that count requests.
type watched struct {
	*fixture
	*workspace
	proxies []*faulttest.Proxy

	mu sync.Mutex
	// records counts requests for release records, and writes counts requests that change
	// something, by cluster.
	records, writes map[int]int
}

func newWatched(t *testing.T) *watched {
	t.Helper()
	env := testenv.Shared(t)
	w := &watched{fixture: newFixture(t, env), workspace: newWorkspace(t), records: map[int]int{}, writes: map[int]int{}}
	for i := range 2 {
		if env.Cluster(i).Token() == "" {
			t.Skip("the cluster of this context is not reached by a token")
		}
		w.proxies = append(w.proxies, faulttest.New(t, env.Cluster(i)))
	}
	return w
}

// watch starts to count.
func (w *watched) watch() {
	w.records, w.writes = map[int]int{}, map[int]int{}
	for i, proxy := range w.proxies {
		proxy.Set(func(request *http.Request) faulttest.Fault {
			w.mu.Lock()
			defer w.mu.Unlock()
			if faulttest.IsWrite(request) {
				w.writes[i]++
			}
			if strings.Contains(request.URL.Path, "/secrets/sh.helm.release.v1") {
				w.records[i]++
			}
			return faulttest.Fault{}
		})
	}
}

func (w *watched) clusters(tokens ...string) string {
	var clusters strings.Builder
	for i, proxy := range w.proxies {
		token := w.fixture.env.Cluster(i).Token()
		if i < len(tokens) && tokens[i] != "" {
			token = tokens[i]
		}
		fmt.Fprintf(&clusters, "    %c = { host = %q, token = %q, labels = { %s }, cluster_ca_certificate = <<-CA\n%sCA\n    }\n",
			'a'+i, proxy.Host(), token, on, proxy.CACertificate())
	}
	return fmt.Sprintf("provider \"fleet\" {\n  owner = %q\n  clusters = {\n%s  }\n}\n", w.namespace, clusters.String())
}

// secretive is a bundle of a config map and a Secret. One value of the Secret stays the same.
func (w *watched) secretive(value, secret string) string {
	return w.bundleOf("one", configMap("one", value)+"---\napiVersion: v1\nkind: Secret\nmetadata: {name: one}\nstringData: {changes: "+secret+", stays: swordfish-too}\n")
}

// A change of two clusters is shown once, with values of Secrets masked, from one record of each
// cluster. The plan names what cannot be read.
func TestAccDiffShowsRenderedObjects(t *testing.T) {
	t.Parallel()
	w := newWatched(t)
	configure := func(bundle, extra string) {
		t.Helper()
		w.configure(t, w.clusters(), bundle, target(extra, "fleet_bundle.one.bundles"))
	}
	configure(w.secretive("x", "swordfish"), "")
	w.apply(t)

	// A change of the attribute alone changes nothing else.
	configure(w.secretive("x", "swordfish"), `diff = "rendered"`)
	if diff := cmp.Diff([]string(nil), w.plannedChanges(t)); diff != "" {
		t.Errorf("changes (-want +got):\n%s", diff)
	}
	output := w.run(t, "plan", "-input=false")
	expectSays(t, output, `+ diff = "rendered"`, "0 to add, 1 to change, 0 to destroy")
	if strings.Contains(output, "known after apply") || strings.Contains(output, diffTitle) {
		t.Errorf("something else changes:\n%s", output)
	}
	w.apply(t)
	for i := range 2 {
		if got := w.releases(t, i)["one"].revision; got != "1" {
			t.Errorf("the release on cluster %d has revision %s", i, got)
		}
	}
	w.expectEmptyPlan(t)

	configure(w.secretive("y", "sesame"), `diff = "rendered"`)
	w.watch()
	output = w.run(t, "plan", "-input=false")
	// The refresh reads each record once, and so does the comparison.
	if want := map[int]int{0: 2, 1: 2}; cmp.Diff(want, w.records) != "" || len(w.writes) > 0 {
		t.Errorf("planning read %v records and wrote %v times, want %v and none", w.records, w.writes, want)
	}
	want := `one on a, b: objects ~2
    @@ -1,6 +1,6 @@ ConfigMap/NS/one
     apiVersion: v1
     data:
    -  key: x
    +  key: "y"
     kind: ConfigMap
     metadata:
       name: one
    @@ -3,5 +3,5 @@ Secret/NS/one
     metadata:
       name: one
     stringData:
    -  changes: (sensitive value)
    +  changes: (sensitive value, changed)
       stays: (sensitive value)
`
	if !strings.Contains(output, strings.ReplaceAll(want, "NS", w.namespace)) {
		t.Errorf("the plan does not say\n%s\n%s", want, output)
	}
	expectNoSecret(t, output)

	for _, proxy := range w.proxies[1:] {
		proxy.Set(func(request *http.Request) faulttest.Fault {
			if request.Method == http.MethodGet && strings.HasSuffix(request.URL.Path, "/secrets/sh.helm.release.v1.one.v1") {
				return faulttest.Fault{Status: http.StatusForbidden}
			}
			return faulttest.Fault{}
		})
	}
	output = w.run(t, "plan", "-input=false")
	expectSays(t, output, "one on a: objects ~2", "Not compared: b/one: the cluster denies the request")
	if err := w.proxies[1].Disturb(faulttest.Disturbance{Down: true}); err != nil {
		t.Fatal(err)
	}
	output = w.run(t, "plan", "-input=false")
	expectSays(t, output, "one on a: objects ~2", "Not compared: b/one: the cluster does not respond")
	if err := w.proxies[1].Disturb(faulttest.Disturbance{}); err != nil {
		t.Fatal(err)
	}
	w.watch()
	output = w.run(t, "apply", "-auto-approve", "-input=false")
	if got := strings.Count(output, diffTitle); got != 1 {
		t.Errorf("the change is shown %d times, by plan and apply:\n%s", got, output)
	}
	if output = w.expectEmptyPlan(t); strings.Contains(output, diffTitle) {
		t.Errorf("nothing changes, and it is shown:\n%s", output)
	}
	output = w.run(t, "plan", "-destroy", "-input=false")
	expectSays(t, output, "one on a, b is removed: objects -2", "- ConfigMap/"+w.namespace+"/one - Secret/"+w.namespace+"/one")
	w.run(t, "destroy", "-auto-approve")
	w.expectNothing(t, 0)
}

func expectNoSecret(t *testing.T, output string) {
	t.Helper()
	_, warnings, _ := strings.Cut(output, "Plan: ")
	for _, part := range []string{"swordfish", "sesame"} {
		if strings.Contains(warnings, part) {
			t.Errorf("a secret can be read:\n%s", output)
		}
	}
}

// A deployment with values of a Secret is named and not shown, also by the plan that removes these
// values. The same applies to a release of another owner.
func TestAccDiffHidesWhatIsNotItsOwn(t *testing.T) {
	t.Parallel()
	w, s := newWorkspace(t), newFixture(t, testenv.Shared(t))
	app := func(helm string) string {
		return fmt.Sprintf(`
resource "fleet_bundle" "app" {
  name              = "app"
  default_namespace = %q
  files = {
    "Chart.yaml"         = yamlencode({ apiVersion = "v2", name = "app", version = "1.0.0" })
    "templates/app.yaml" = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: app\ndata:\n  key: {{ .Values.word }}\n"
  }
  helm = { values = yamlencode({ word = "unset" })
    %s
  }
}
`, s.namespace, helm)
	}
	s.setSecret(t, 0, "swordfish")
	rendered := target(`diff = "rendered"`, "fleet_bundle.app.bundles")
	w.configure(t, s.provider("", on), app(`values_from = [{ secret_key_ref = { name = "words", key = "app" } }]`), rendered)
	expectSays(t, w.run(t, "plan", "-input=false"), "Not compared: a/app: its values come from Secret/"+s.namespace+"/words on the cluster")
	w.apply(t)

	s.setSecret(t, 0, "open sesame")
	output := w.run(t, "plan", "-input=false")
	expectSays(t, output, "Not compared: a/app: its values come from Secret/")
	expectNoSecret(t, output)

	w.configure(t, s.provider("", on), app(""), rendered)
	output = w.run(t, "plan", "-input=false")
	expectSays(t, output, "app on a: objects ~1", "rendered with values from the cluster", "~ ConfigMap/"+s.namespace+"/app")
	expectNoSecret(t, output)
	w.apply(t)

	// From now on no value is from the Secret.
	w.configure(t, s.provider("", on), strings.Replace(app(""), "unset", "set", 1), rendered)
	expectSays(t, w.run(t, "plan", "-input=false"), "- key: unset + key: set")

	other := newWorkspace(t)
	for ownership, says := range map[string]string{
		"":                      "Not compared: a/app: the release has another owner",
		"take_ownership = true": "app on a: objects ~1",
	} {
		other.configure(t, strings.Replace(s.provider("", on), s.namespace, "another", 1), strings.Replace(app(""), "unset", "set", 1),
			target(ownership+"\ndiff = \"rendered\"", "fleet_bundle.app.bundles"))
		expectSays(t, other.run(t, "plan", "-input=false"), says)
	}
	w.run(t, "destroy", "-auto-approve")
	s.expectNothing(t, 0)
}

// Added and removed objects are listed, and a release that moves shows its former place. Objects
// that are to be kept are distinguished from removed ones, and a long diff is cut.
func TestAccDiffNamesWhatComesAndGoes(t *testing.T) {
	t.Parallel()
	s, w := newFixture(t, testenv.Shared(t)), newWorkspace(t)
	long := func(value string) string {
		text := "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: long}\ndata:\n"
		for i := range 100 {
			text += fmt.Sprintf("  key-%03d: %s\n", i, value)
		}
		return text
	}
	kept := "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: kept, annotations: {helm.sh/resource-policy: keep}}\n"
	rendered := func(bundles ...string) string { return target(`diff = "rendered"`, bundles...) }
	one, two := s.bundleOf("one", configMap("one", "x")+"---\n"+kept), s.bundleOf("two", long("x"))
	w.configure(t, s.provider("", on, on), one, two, rendered("fleet_bundle.one.bundles", "fleet_bundle.two.bundles"))
	name := func(object string) string { return "ConfigMap/" + s.namespace + "/" + object }
	expectSays(t, w.run(t, "plan", "-input=false"), "one on a, b is added: objects +2", "two on a, b is added: objects +1", "+ "+name("kept")+" + "+name("one"))
	w.apply(t)

	// Another name, and a different value of very many keys.
	moved := strings.Replace(one, "files =", "helm = { release_name = \"moved\" }\nfiles =", 1)
	w.configure(t, s.provider("", on, on), moved, s.bundleOf("two", long("z")), rendered("fleet_bundle.one.bundles", "fleet_bundle.two.bundles"))
	output := w.run(t, "plan", "-input=false")
	expectSays(t, output, "one on a, b: no object changes", "it moves from release one in namespace "+s.namespace+" to release moved in namespace "+s.namespace,
		"two on a, b: objects ~1", "lines left out")
	w.apply(t)

	// A bundle is removed, and a cluster.
	w.configure(t, s.provider("", on, ""), moved, s.bundleOf("two", long("z")), rendered("fleet_bundle.one.bundles"))
	output = w.run(t, "plan", "-input=false")
	expectSays(t, output, "one on b is removed: objects -1 =1", "= "+name("kept")+", stays on the cluster", "two on a, b is removed: objects -1")
	w.apply(t)
	w.expectEmptyPlan(t)
	w.run(t, "destroy", "-auto-approve")
	for i := range 2 {
		s.expectReleases(t, i)
	}
}
