package acceptance_test

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/faulttest"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/gittest"
)

// reading is a situation in which Terraform plans.
type reading struct {
	name string
	// before creates the situation, on the clusters or in the configuration.
	before func(t *testing.T)
	args   []string
	// says is in the output, which proves that the situation exists.
	says []string
	// asks is the number of clusters that must get requests: 0 for all of them, -1 for none.
	asks int
	// apply is true if the plan is also applied, which writes.
	apply bool
}

// No plan sends anything but get, list and discovery to an API server. The same proxies record the
// writes of the applies, so they would also record a write of a plan.
//
//nolint:tparallel // each situation builds on the one before
func TestAccPlanningOnlyReads(t *testing.T) {
	t.Parallel()
	g, w := newGate(t, 2), newWorkspace(t)
	f := newReadFleet(t, g, w)
	inPlan, widgets := role(t, "plan"), rbacv1.PolicyRule{APIGroups: []string{g.namespace + ".example.com"}, Resources: []string{"widgets"}, Verbs: []string{"get", "list"}}
	inPlan = append(inPlan, widgets)
	inApply := role(t, "apply")
	planned := []string{"plan", "-input=false", "-out=tfplan"}
	for _, r := range []reading{
		{name: "a create", before: f.set("value", "first"), args: planned, says: []string{"takes over releases or objects of other owners", "of no release"}, apply: true},
		{name: "nothing to do", args: planned, says: []string{"No changes"}},
		{name: "a refresh alone", args: []string{"plan", "-refresh-only", "-input=false"}, says: []string{"No changes"}},
		{name: "the data sources", before: f.set("data", "yes"), args: planned, says: []string{"Changes to Outputs"}},
		{name: "drift", before: f.drift, args: planned, says: []string{"ConfigMap " + g.namespace + "/one differs", "ConfigMap " + g.namespace + "/repo is missing"}, apply: true},
		{name: "an object that another release holds", before: f.hold, args: planned, says: []string{"another release", "former"}},
		{name: "an update", before: f.set("value", "second"), args: planned, says: []string{"will be updated in-place", "wheels." + g.namespace + ".example.com: a/gears, b/gears"}},
		{name: "the rendered objects of an update", before: f.set("diff", "rendered"), args: planned, says: []string{"changes in rendered objects", "+ key: second"}},
		{name: "an update without a refresh", before: f.set("diff", ""), args: append(slices.Clone(planned), "-refresh=false"), says: []string{"will be updated in-place"}, asks: -1},
		{name: "an update of one resource", args: append(slices.Clone(planned), "-target=fleet_bundle.one"), says: []string{"will be updated in-place"}, asks: -1},
		{name: "windows that hold it", before: f.set("guards", closed("")), args: planned, says: []string{"deployments are held", "by window nightly"}},
		{name: "policies that warn of it", before: f.set("guards", "  policies = { all = { applies_to = { all = true }, labels = { team = \"*\" }, action = \"warn\" } }\n"), args: planned, says: []string{"will be updated in-place", "policy all (labels) warns of"}},
		{name: "an update is carried out", before: f.set("guards", ""), args: planned, says: []string{"will be updated in-place"}, apply: true},
		{name: "values from the cluster changed", before: func(t *testing.T) { t.Helper(); g.setSecret(t, 0, "other") }, args: planned, says: []string{"~ \"a/app\""}, apply: true},
		{name: "a new bundle where objects are", before: f.set("bare", "yes", "diff", "auto"), args: planned, says: []string{"takes over releases or objects of other owners", "of no release", "compared with the live objects"}},
		{name: "a new bundle that will be refused", before: f.set("take", "false", "diff", ""), args: planned, says: []string{"cannot take over releases or objects of other owners"}},
		{name: "a bundle leaves", before: f.set("bare", "", "take", "true", "without", "hooks"), args: planned, says: []string{"- \"a/hooks\""}, apply: true},
		{name: "a cluster leaves its group", before: f.set("b", off), args: planned, says: []string{"- \"b/one\""}},
		{name: "a cluster is removed", before: f.set("b", ""), args: planned, says: []string{"- \"b/one\""}, asks: 1},
		{name: "a cluster is renamed", before: f.set("b", on, "rename", "yes"), args: planned, says: []string{"+ \"renamed/one\""}},
		{name: "a replacement", before: f.set("rename", ""), args: append(slices.Clone(planned), "-replace=fleet_cluster_target.all"), says: []string{"will be replaced, as requested"}},
		{name: "a tainted target", before: func(t *testing.T) { t.Helper(); w.run(t, "taint", "fleet_cluster_target.all") }, args: planned, says: []string{"is tainted"}},
		{name: "drift = release", before: func(t *testing.T) {
			t.Helper()
			w.run(t, "untaint", "fleet_cluster_target.all")
			f.set("drift", "release", "value", "third")(t)
		}, args: planned, says: []string{"will be updated in-place"}, apply: true},
		{name: "a record is gone", before: func(t *testing.T) { t.Helper(); g.deleteRecords(t, 0) }, args: planned, says: []string{"+ \"a/one\""}, apply: true},
		{name: "the rendered objects of what is drifted and goes", before: f.set("diff", "rendered", "drift", "live", "without", "one"), args: planned, says: []string{"changes in rendered objects", "- \"a/one\""}},
		{name: "an import", before: func(t *testing.T) {
			t.Helper()
			w.run(t, "state", "rm", "fleet_cluster_target.all")
			f.set("import", "yes", "without", "hooks", "value", "fourth")(t)
		}, args: planned, says: []string{"1 to import", "~ \"a/one\""}, apply: true},
		{name: "a destruction", args: append(slices.Clone(planned), "-destroy"), says: []string{"will be destroyed"}, apply: true},
	} {
		ok := t.Run(r.name, func(t *testing.T) {
			if r.before != nil {
				r.before(t)
			}
			g.become(t, "plan", inPlan)
			g.record()
			output := unwrapped(w.run(t, r.args...))
			for _, want := range r.says {
				if !strings.Contains(output, want) {
					t.Errorf("the plan does not say %q:\n%s", want, output)
				}
			}
			expectReads(t, r.asks, g.recorded())
			if !r.apply {
				return
			}
			g.become(t, "apply", inApply)
			g.record()
			w.run(t, "apply", "-input=false", "tfplan")
			calls := slices.Concat(g.recorded()...)
			if slices.ContainsFunc(calls, func(c faulttest.Call) bool { return strings.HasPrefix(c.URL, "/openapi") }) {
				t.Error("the apply has read the descriptions of kinds, which are large and of no use")
			}
			if !slices.ContainsFunc(calls, func(c faulttest.Call) bool { return !c.Reads() }) {
				t.Error("the apply has written nothing that the proxies saw: this test could not fail")
			}
		})
		if !ok {
			t.FailNow() // What follows builds on it.
		}
	}
	for i := range g.proxies {
		g.expectNothing(t, i)
	}
}

// expectReads wants only read requests, and no request that was refused.
func expectReads(t *testing.T, asks int, calls [][]faulttest.Call) {
	t.Helper()
	if asks == 0 {
		asks = len(calls)
	}
	asked := 0
	for i, of := range calls {
		if len(of) > 0 {
			asked++
		}
		for _, call := range of {
			if !call.Reads() {
				t.Errorf("cluster %d was sent something that does not read: %s", i, call)
			}
			if call.Status == http.StatusForbidden {
				t.Errorf("cluster %d refused what the shipped role is to allow: %s", i, call)
			}
		}
	}
	if asked != max(0, asks) {
		t.Errorf("%d clusters were asked, want %d", asked, max(0, asks))
	}
}

// The smaller role is enough if only release records are compared, and each of its rules is needed.
//
//nolint:tparallel // they have one identity
func TestAccRoleForReleases(t *testing.T) {
	t.Parallel()
	g, w := newGate(t, 1), newWorkspace(t)
	g.setSecret(t, 0, "swordfish")
	rules := role(t, "plan-release")
	configure := func(value string) {
		t.Helper()
		w.configure(t, g.provider("", on), g.bundle("one", value), g.valuesFrom("default_namespace", "key: {{ .Values.word }}"),
			target("drift = \"release\"", "fleet_bundle.one.bundles", "fleet_bundle.app.bundles"))
	}
	configure("first")
	g.become(t, "plan", rules)
	w.run(t, "plan", "-input=false", "-out=tfplan")
	g.become(t, "apply", role(t, "apply"))
	w.run(t, "apply", "-input=false", "tfplan")
	configure("second")
	for i := -1; i < len(rules); i++ {
		limited := slices.Clone(rules)
		if i >= 0 {
			limited = slices.Delete(limited, i, i+1)
		}
		t.Run(fmt.Sprintf("without rule %d", i), func(t *testing.T) {
			g.become(t, "plan", limited)
			g.record()
			output := w.run(t, "plan", "-input=false", "-out=tfplan")
			refused := slices.ContainsFunc(g.recorded()[0], func(c faulttest.Call) bool { return c.Status == http.StatusForbidden })
			if refused != (i >= 0) {
				t.Errorf("something was refused: %t, want %t: %v\n%s", refused, i >= 0, g.recorded()[0], output)
			}
		})
	}
	g.become(t, "apply", role(t, "apply"))
	w.apply(t)
	w.run(t, "destroy", "-auto-approve")
	g.expectReleases(t, 0)
}

// readFleet is a configuration with a bundle of every kind that could make a plan read something
// from a cluster.
type readFleet struct {
	g        *gate
	w        *workspace
	git      *gittest.Server
	settings map[string]string
}

func newReadFleet(t *testing.T, g *gate, w *workspace) *readFleet {
	t.Helper()
	f := &readFleet{g: g, w: w, git: gittest.New(t, gittest.Options{}), settings: map[string]string{"b": on, "take": "true", "drift": "live"}}
	for i := range g.proxies {
		g.makeAccount(t, i, g.namespace)
		g.setSecret(t, i, "swordfish")
		for _, name := range []string{"one", "bare"} {
			bare := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}}
			if _, err := g.client(t, i).CoreV1().ConfigMaps(g.namespace).Create(t.Context(), bare, metav1.CreateOptions{}); err != nil {
				t.Fatal(err)
			}
		}
	}
	return f
}

// set changes settings and writes the resulting configuration.
func (f *readFleet) set(settings ...string) func(t *testing.T) {
	return func(t *testing.T) {
		t.Helper()
		for i := 0; i < len(settings); i += 2 {
			f.settings[settings[i]] = settings[i+1]
		}
		f.write(t)
	}
}

func (f *readFleet) write(t *testing.T) {
	t.Helper()
	g, s := f.g, f.settings
	value := s["value"]
	if _, err := f.git.Commit(t.Context(), "fleet", "main", "Value "+value, map[string]string{
		"repo/fleet.yaml": "defaultNamespace: " + g.namespace + "\nnamespaceLabels: {from: fleet}\n", "repo/cm.yaml": configMap("repo", value),
	}); err != nil {
		t.Fatal(err)
	}
	group := g.namespace + ".example.com"
	parts := map[string]string{
		"one": g.bundle("one", value),
		"workload": g.bundleOf("workload", "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web, annotations: {value: "+value+"}}\nspec:\n  selector: {matchLabels: {app: web}}\n"+
			"  template:\n    metadata: {labels: {app: web}}\n    spec: {containers: [{name: c, image: registry.k8s.io/pause:3.10, readinessProbe: {exec: {command: [/pause, -v]}}}]}\n"+
			"---\napiVersion: autoscaling/v2\nkind: HorizontalPodAutoscaler\nmetadata: {name: web}\nspec: {maxReplicas: 3, minReplicas: 1, scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}, metrics: [{type: Resource, resource: {name: cpu, target: {type: Utilization, averageUtilization: 50}}}]}\n"),
		"hooks": g.bundleOf("hooks", configMap("hooks", value)+"---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: hook, annotations: {helm.sh/hook: \"pre-install,pre-upgrade\"}}\n"),
		// Kinds that the cluster does not serve yet.
		"kinds": g.bundleOf("kinds", g.widgets()+"---\napiVersion: "+group+"/v1\nkind: Widget\nmetadata: {name: one}\nspec: {value: "+value+"}\n"),
		// Rights, cluster-scoped things and a list.
		"rights": g.bundleOf("rights", "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {name: "+g.namespace+", annotations: {value: "+value+"}}\nrules: [{apiGroups: [\"\"], resources: [pods], verbs: [get]}]\n"+
			"---\napiVersion: v1\nkind: List\nitems:\n- apiVersion: v1\n  kind: ServiceAccount\n  metadata: {name: robot}\n- apiVersion: policy/v1\n  kind: PodDisruptionBudget\n  metadata: {name: web}\n  spec: {minAvailable: 1, selector: {matchLabels: {app: web}}}\n"),
		"looks": strings.Replace(g.chartOf("looks", `{{ (lookup "v1" "Namespace" "" "kube-system").metadata.uid | default "unknown" }} {{ .Capabilities.KubeVersion.Version }}`), "version: 1.0.0", "version: 1.0.0-"+value, 1),
		// Definitions that an upgrade does not change.
		"gears": fmt.Sprintf("resource \"fleet_bundle\" \"gears\" {\n  name = \"gears\"\n  default_namespace = %q\n  files = {\n    \"Chart.yaml\" = %q\n    \"crds/gears.yaml\" = %q\n    \"templates/cm.yaml\" = %q\n  }\n}\n",
			g.namespace, "apiVersion: v2\nname: gears\nversion: 1.0.0\n", g.gear("wheel", value), configMap("gears", value)),
		"app":     g.valuesFrom("default_namespace", "key: {{ .Values.word }}"),
		"account": strings.Replace(g.bundleOf("account", configMap("account", value)), "files = ", "service_account = \""+g.namespace+"\"\n  create_namespace = false\n  files = ", 1),
		"repo":    fmt.Sprintf("resource \"fleet_gitrepo\" \"repo\" {\n  name = \"repo\"\n  repo = %q\n  branch = \"main\"\n  paths = [\"repo\"]\n}\n", f.git.URL("fleet")),
	}
	if s["bare"] != "" {
		parts["bare"] = g.bundle("bare", value)
	}
	delete(parts, s["without"])
	labels := []string{on, s["b"]}
	provider := g.provider(s["guards"], labels...)
	if s["rename"] != "" {
		provider = strings.Replace(provider, "    b = {", "    renamed = {", 1)
	}
	config, bundles := []string{provider}, []string{}
	for name, part := range parts {
		config = append(config, part)
		kind := "fleet_bundle."
		if name == "repo" {
			kind = "fleet_gitrepo."
		}
		bundles = append(bundles, kind+name+".bundles")
	}
	slices.Sort(bundles)
	config = append(config, target(fmt.Sprintf("take_ownership = %s\ndrift = %q\nallow_empty = true\ndiff = %q", s["take"], s["drift"], cmp.Or(s["diff"], "summary")), bundles...))
	if s["import"] != "" {
		config = append(config, "import {\n  to = fleet_cluster_target.all\n  id = \"all\"\n}\n")
	}
	if s["data"] != "" {
		const asked = "  bundles = [%s]\n  targets = [{ cluster_selector = { match_labels = { on = \"yes\" } } }]\n}\n"
		list := strings.Join(bundles, ", ")
		config = append(config,
			fmt.Sprintf("data \"fleet_deployments\" \"all\" {\n"+asked, list), fmt.Sprintf("data \"fleet_render\" \"all\" {\n"+asked, list),
			fmt.Sprintf("data \"fleet_gitrepo\" \"repo\" {\n  name = \"repo\"\n  repo = %q\n  branch = \"main\"\n}\n", f.git.URL("fleet")),
			"output \"all\" {\n  sensitive = true\n  value = [data.fleet_deployments.all, data.fleet_render.all, data.fleet_gitrepo.repo]\n}\n")
	}
	f.w.configure(t, config...)
}

// drift changes and deletes objects by hand.
func (f *readFleet) drift(t *testing.T) {
	t.Helper()
	f.g.edit(t, 0, configMaps, "one", `{"data":{"key":"by hand"}}`)
	f.g.delete(t, 1, configMaps, "repo")
	f.g.edit(t, 1, schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}, "web", `{"metadata":{"annotations":{"value":"by hand"}}}`)
}

// hold marks an object as owned by another release.
func (f *readFleet) hold(t *testing.T) {
	t.Helper()
	f.g.edit(t, 1, configMaps, "hooks", `{"metadata":{"annotations":{"meta.helm.sh/release-name":"former","meta.helm.sh/release-namespace":"elsewhere"}}}`)
}
