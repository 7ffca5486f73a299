package acceptance_test

import (
	"cmp"
	"fmt"
	"maps"
	"net"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/gittest"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/testenv"
)

// exceeds is the beginning of a message about a limit. Which limit is exceeded first depends on the
// machine.
const exceeds = "it took more than"

type hostileTemplate struct {
	template string
	// want is what the error names, and atPlan what it names while planning if that differs.
	want, atPlan string
}

// hostileTemplates are templates that end, fill or block the process that runs them, and what the
// error must name.
func hostileTemplates() map[string]hostileTemplate {
	return map[string]hostileTemplate{
		"a text that runs itself": {template: `{{ tpl .Values.again . }}`, want: exceeds},
		"a dict in itself":        {template: `{{ $d := dict }}{{ $_ := set $d "d" $d }}{{ $d }}`, want: exceeds},
		"a copy of a dict in itself": {
			template: `{{ $d := dict }}{{ $_ := set $d "d" $d }}{{ $c := deepCopy $d }}x`, want: exceeds,
		},
		"a long list":         {template: `{{ until 1000000000 | len }}`, want: exceeds},
		"a long list by step": {template: `{{ untilStep 0 2000000000 1 | len }}`, want: exceeds},
		"a long text":         {template: `{{ repeat 1000000000 "x" | quote | len }}`, want: exceeds},
		"nested ranges":       {template: `{{ range until 100000 }}{{ range until 100000 }}{{ end }}{{ end }}`, want: exceeds},
		"many objects":        {template: "x\n{{ range until 2000 }}---\napiVersion: v1\nkind: ConfigMap\nmetadata: { name: c{{ . }} }\ndata: { a: {{ repeat 10000 \"x\" }} }\n{{ end }}", want: "the limit for a release, 16 MiB", atPlan: "bundle app"},
		"keys without end":    {template: `{{ range until 100000 }}{{ range until 100000 }}{{ $_ := genCA "a" 1 }}{{ end }}{{ end }}`, want: exceeds},
	}
}

// hostileChart are the files of a chart whose template ends with more.
func hostileChart(more string) map[string]string {
	return map[string]string{
		"fleet.yaml":        "helm:\n  values:\n    again: '{{ tpl .Values.again . }}'\n",
		"Chart.yaml":        "apiVersion: v2\nname: app\nversion: 1.0.0\n",
		"templates/cm.yaml": configMap("app", "x") + more + "\n",
	}
}

// hostile is a configuration with a bundle of a repository and one of the user.
func (s *fixture) hostile(t *testing.T, w *workspace, files map[string]string, timeout string) {
	t.Helper()
	files = maps.Clone(files)
	files["fleet.yaml"] = "defaultNamespace: " + s.namespace + "\n" + files["fleet.yaml"]
	git := gittest.New(t, gittest.Options{})
	if _, err := git.Commit(t.Context(), "tenant", "main", "Attack", files); err != nil {
		t.Fatal(err)
	}
	app := fmt.Sprintf("resource \"fleet_gitrepo\" \"app\" {\n  name = \"app\"\n  repo = %q\n  branch = \"main\"\n}\n", git.URL("tenant"))
	w.configure(t, s.provider(fmt.Sprintf("  render_timeout = %q\n", timeout), on), app, s.bundle("other", "x"), target("", "fleet_gitrepo.app.bundles", "fleet_bundle.other.bundles"))
}

// A template of a chart fails only its own deployment: the plan fails with its limit, within its
// time.
func TestAttackTemplateAtPlan(t *testing.T) {
	t.Parallel()
	env := testenv.Shared(t)
	for name, test := range hostileTemplates() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, w := newFixture(t, env), newWorkspace(t)
			s.hostile(t, w, hostileChart("# "+test.template), "4s")
			output, err := w.try(t, "plan", "-input=false")
			if err == nil {
				t.Error("the plan has no error")
			}
			expectMention(t, output, "bundle app", cmp.Or(test.atPlan, test.want))
			expectNoCrash(t, output)
		})
	}
}

// Effects of a template that need a cluster show at apply. The deployment fails, and the other one
// is made and saved.
func TestAttackTemplateAtApply(t *testing.T) {
	t.Parallel()
	env := testenv.Shared(t)
	// A plan runs all of them in the same worker. In an apply, one ends by the limit of memory, one
	// by that of time, and one by that of a release.
	always := []string{"a long text", "keys without end", "many objects"}
	for name, test := range hostileTemplates() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if !slices.Contains(always, name) {
				testenv.RequireSoak(t)
			}
			s, w := newFixture(t, env), newWorkspace(t)
			s.hostile(t, w, hostileChart(`{{ if lookup "v1" "Namespace" "" "kube-system" }}# `+test.template+"{{ end }}"), "4s")
			output, err := w.try(t, "apply", "-auto-approve", "-input=false")
			if err == nil {
				t.Error("the apply has no error")
			}
			expectMention(t, output, "app", test.want)
			expectNoCrash(t, output)
			if got := s.value(t, 0, "other"); got != "x" {
				t.Errorf("the other deployment has %q", got)
			}
			s.expectReleases(t, 0, "other")
			if states := w.states(t); states["a/other"] != "Ready" {
				t.Errorf("states = %v", states)
			}
			w.destroyOutput(t)
		})
	}
}

func expectNoCrash(t *testing.T, output string) {
	t.Helper()
	for _, sign := range []string{"Plugin did not respond", "panic:", "fatal error", "goroutine "} {
		if strings.Contains(output, sign) {
			t.Errorf("the output has %q:\n%s", sign, output)
		}
	}
}

// All other parts of a bundle that are run, or that decide what is read.
func TestAttackBundleAtPlan(t *testing.T) {
	t.Parallel()
	env := testenv.Shared(t)
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	connections := make(chan struct{}, 100)
	go func() {
		for {
			connection, err := listener.Accept()
			if err != nil {
				return
			}
			connections <- struct{}{}
			_ = connection.Close()
		}
	}()
	t.Cleanup(func() {
		_ = listener.Close()
		if n := len(connections); n > 0 {
			t.Errorf("%d connections were made", n)
		}
	})
	chart := func(schema string) map[string]string {
		return map[string]string{
			"Chart.yaml": "apiVersion: v2\nname: app\nversion: 1.0.0\n", "values.schema.json": schema, "templates/cm.yaml": configMap("app", "x"),
		}
	}
	values := func(template string) map[string]string {
		return map[string]string{
			"fleet.yaml": "helm:\n  values:\n    a: '" + template + "'\n", "Chart.yaml": "apiVersion: v2\nname: app\nversion: 1.0.0\n", "templates/cm.yaml": configMap("app", "x"),
		}
	}
	const secret = "not-to-be-read"
	tests := map[string]struct {
		files map[string]string
		want  []string
		// passes is true if the plan only warns.
		passes bool
	}{
		"a schema reads a file":       {files: chart(`{"$ref": "file://FILE"}`), want: []string{"values.schema.json", "reads no such document"}, passes: true},
		"a schema connects to a host": {files: chart(`{"$ref": "http://` + listener.Addr().String() + `/x"}`), want: []string{"values.schema.json", "reads no such document"}, passes: true},
		"values of a long list":       {files: values(`${ until 1000000000 | len }`), want: []string{exceeds}},
		"values of a long text":       {files: values(`${ repeat 1000000000 "x" }`), want: []string{exceeds}},
		"values of many values":       {files: values(`${ repeat 5000000 "x" }`), want: []string{"larger than 4 MiB"}},
		"values of a dict in itself":  {files: values(`${ $d := dict }${ $_ := set $d "d" $d }${ $d }`), want: []string{exceeds}},
		"values without end":          {files: values(`${ range until 100000 }${ range until 100000 }${ end }${ end }`), want: []string{exceeds}},
		"kustomizations that double":  {files: doublingKustomization(24), want: []string{"bundle app"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, w := newFixture(t, env), newWorkspace(t)
			w.write(t, "secret.json", secret)
			files := maps.Clone(test.files)
			for name, content := range files {
				files[name] = strings.ReplaceAll(content, "FILE", filepath.Join(w.dir, "secret.json"))
			}
			s.hostile(t, w, files, "4s")
			begun := time.Now()
			output, err := w.try(t, "plan", "-input=false")
			if (err == nil) != test.passes {
				t.Errorf("the plan ends with %v", err)
			}
			expectMention(t, output, test.want...)
			expectNoCrash(t, output)
			if strings.Contains(output, secret) {
				t.Error("a file was read")
			}
			if took := time.Since(begun); took > time.Minute {
				t.Errorf("the plan took %s", took)
			}
		})
	}
}

// doublingKustomization has a folder for each level, whose objects are those of the level
// below twice.
func doublingKustomization(levels int) map[string]string {
	files := map[string]string{
		"l0/kustomization.yaml": "resources: [cm.yaml]\n", "l0/cm.yaml": configMap("a", "x"),
		"kustomization.yaml": fmt.Sprintf("resources: [l%d]\n", levels),
	}
	for i := 1; i <= levels; i++ {
		for _, side := range []string{"a", "b"} {
			files[fmt.Sprintf("l%d%s/kustomization.yaml", i, side)] = fmt.Sprintf("namePrefix: %s\nresources: [../l%d]\n", side, i-1)
		}
		files[fmt.Sprintf("l%d/kustomization.yaml", i)] = fmt.Sprintf("resources: [../l%da, ../l%db]\n", i, i)
	}
	return files
}
