package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

func TestWorkOf(t *testing.T) {
	t.Parallel()
	tests := map[int]work{4: {Releases: 10, Objects: 4}, 40: {Releases: 10, Objects: 40}, 400: {Releases: 1, Objects: 400}}
	for objects, want := range tests {
		t.Run(fmt.Sprint(objects), func(t *testing.T) {
			t.Parallel()
			got, err := workOf(objects)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("work (-want +got):\n%s", diff)
			}
			if documents := strings.Count(got.template("app-01"), "\nkind: "); documents != objects {
				t.Errorf("the template has %d objects", documents)
			}
		})
	}
	if _, err := workOf(fixedObjects); err == nil {
		t.Error("a release without a ConfigMap is accepted")
	}
}

func TestTakePart(t *testing.T) {
	t.Parallel()
	all := []contender{fleet{}, fleet{byDefault: true}, helmCLI{}, floor{}, floor{seen: true}}
	tests := []struct {
		name  string
		round int
		wait  bool
		want  []string
	}{
		{name: "first round", wait: true, want: []string{"fleet", "fleet-default", "helm", "floor", "floor-ready"}},
		{name: "another one begins", round: 1, wait: true, want: []string{"fleet-default", "helm", "floor", "floor-ready", "fleet"}},
		{name: "around", round: 6, wait: true, want: []string{"fleet-default", "helm", "floor", "floor-ready", "fleet"}},
		{name: "nobody waits", round: 2, want: []string{"helm", "floor", "fleet"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			c := &contest{contenders: all}
			var got []string
			for _, k := range c.takePart(cell{Wait: test.wait}, test.round) {
				got = append(got, k.name())
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("order (-want +got):\n%s", diff)
			}
		})
	}
}

// All contenders deploy every step to the same clusters.
func TestHelmCommands(t *testing.T) {
	t.Parallel()
	in := task{work: work{Releases: 2, Objects: 4}, wait: true, dir: t.TempDir(), namespace: "n", kubeconfig: "k", contexts: []string{"c1", "c2", "c3"}}
	tests := map[step]struct {
		count int
		first string
	}{
		install: {count: 6, first: "upgrade --install app-01 CHARTS/app-01 --set value=one --create-namespace --namespace n --kubeconfig k --kube-context c1 --wait"},
		change:  {count: 6, first: "upgrade --install app-01 CHARTS/app-01 --set value=two --create-namespace --namespace n --kubeconfig k --kube-context c1 --wait"},
		nothing: {count: 6, first: "upgrade --install app-01 CHARTS/app-01 --set value=two --create-namespace --namespace n --kubeconfig k --kube-context c1 --wait"},
		remove:  {count: 2, first: "uninstall app-01 --namespace n --kubeconfig k --kube-context c3 --wait"},
		restore: {count: 2, first: "upgrade --install app-01 CHARTS/app-01 --set value=two --create-namespace --namespace n --kubeconfig k --kube-context c3 --wait"},
		destroy: {count: 6, first: "uninstall app-01 --namespace n --kubeconfig k --kube-context c1 --wait"},
	}
	for s, test := range tests {
		t.Run(string(s), func(t *testing.T) {
			t.Parallel()
			commands, err := helmCLI{path: "helm"}.commands(t.Context(), in, s)
			if err != nil {
				t.Fatal(err)
			}
			if len(commands) != test.count {
				t.Fatalf("%d commands, want %d", len(commands), test.count)
			}
			got := strings.ReplaceAll(strings.Join(commands[0].args[1:], " "), in.charts(), "CHARTS")
			if diff := cmp.Diff(test.first, got); diff != "" {
				t.Errorf("the first (-want +got):\n%s", diff)
			}
		})
	}
}

func TestTerraformTargets(t *testing.T) {
	t.Parallel()
	want := map[step]string{install: "c1 c2 c3", change: "c1 c2 c3", nothing: "c1 c2 c3", remove: "c1 c2", restore: "c1 c2 c3", destroy: "c1 c2 c3"}
	for _, k := range []contender{fleet{terraform: terraform{cli: "tf"}}, helmProvider{terraform: terraform{cli: "tf"}}} {
		for s, targets := range want {
			t.Run(k.name()+" "+string(s), func(t *testing.T) {
				t.Parallel()
				in := task{work: work{Releases: 1, Objects: 4}, dir: t.TempDir(), contexts: []string{"c1", "c2", "c3"}}
				if _, err := k.commands(t.Context(), in, s); err != nil {
					t.Fatal(err)
				}
				content, err := os.ReadFile(filepath.Join(in.dir, "terraform", "terraform.tfvars.json"))
				if err != nil {
					t.Fatal(err)
				}
				var variables struct{ Targets []string }
				if err := json.Unmarshal(content, &variables); err != nil {
					t.Fatal(err)
				}
				if got := strings.Join(variables.Targets, " "); got != targets {
					t.Errorf("got %q, want %q", got, targets)
				}
			})
		}
	}
}

// The default of ready_for costs time only where containers have no readiness probe.
func TestReadyFor(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		contender fleet
		readyFor  string
		probed    bool
	}{
		"as the others": {readyFor: `ready_for = "0s"`, probed: true},
		"by default":    {contender: fleet{byDefault: true}, readyFor: `ready_for = null`},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			in := task{work: work{Releases: 1, Objects: 4}, wait: true, dir: t.TempDir()}
			if _, err := test.contender.commands(t.Context(), in, install); err != nil {
				t.Fatal(err)
			}
			configuration, err := os.ReadFile(filepath.Join(in.dir, "terraform", "main.tf"))
			if err != nil || !strings.Contains(string(configuration), test.readyFor) {
				t.Errorf("%q is missing in\n%s%v", test.readyFor, configuration, err)
			}
			chart, err := os.ReadFile(filepath.Join(in.charts(), "app-01", "templates", "all.yaml"))
			if err != nil || strings.Contains(string(chart), "readinessProbe") != test.probed {
				t.Errorf("want a probe: %t, got\n%s%v", test.probed, chart, err)
			}
		})
	}
}

// The floor writes the objects that the charts of the others render.
func TestWrites(t *testing.T) {
	t.Parallel()
	in := task{work: work{Releases: 2, Objects: 5}, namespace: "n", dir: t.TempDir()}
	path := filepath.Join(in.dir, "writes.json")
	if err := writePlan(path, in); err != nil {
		t.Fatal(err)
	}
	var plan writes
	if there, err := load(path, &plan); err != nil || !there {
		t.Fatalf("there: %t, %v", there, err)
	}
	var names []string
	for _, object := range plan.Objects {
		names = append(names, object.GetKind()+" "+object.GetNamespace()+"/"+object.GetName())
	}
	want := []string{
		"Deployment n/app-01", "Service n/app-01", "ServiceAccount n/app-01", "ConfigMap n/app-01-001", "ConfigMap n/app-01-002",
		"Deployment n/app-02", "Service n/app-02", "ServiceAccount n/app-02", "ConfigMap n/app-02-001", "ConfigMap n/app-02-002",
	}
	if diff := cmp.Diff(want, names); diff != "" {
		t.Errorf("objects (-want +got):\n%s", diff)
	}
	if got, _, _ := unstructured.NestedString(plan.Objects[3].Object, "data", "value"); got != install.value() {
		t.Errorf("a ConfigMap holds %q", got)
	}
	if len(plan.Patches) != 6 || len(plan.Records[0]) != 2 || len(plan.Records[1]) != 2 {
		t.Errorf("%d patches, %d and %d records; want 6, 2 and 2", len(plan.Patches), len(plan.Records[0]), len(plan.Records[1]))
	}
}

func TestHelmProviderConfiguration(t *testing.T) {
	t.Parallel()
	got := helmProviderConfiguration(task{
		work: work{Releases: 2, Objects: 4}, wait: true, dir: "/d", namespace: "n", kubeconfig: "/k", contexts: []string{"kind-a@b", "c2"},
	})
	for _, text := range []string{
		"\n  kubernetes = {\n", `config_path    = "/k"`, `config_context = "kind-a@b"`, `resource "helm_release" "c1"`, "provider         = helm.c2",
		`contains(var.targets, "kind-a@b") ? toset(["app-01", "app-02"]) : toset([])`, `chart            = "/d/charts/${each.key}"`,
		`namespace        = "n"`, "wait             = true\n", `set              = [{ name = "value", value = var.value }]`,
	} {
		if !strings.Contains(got, text) {
			t.Errorf("%q is missing in\n%s", text, got)
		}
	}
}

// The template's only call is the value, so Helm and the floor render the same.
func TestRender(t *testing.T) {
	t.Parallel()
	if left := render(work{Releases: 1, Objects: 5}.template("app-01"), "two"); strings.Contains(left, "{{") || strings.Count(left, `"two"`) != 3 {
		t.Errorf("the value is not in three places, or something is left:\n%s", left)
	}
}
