package policy_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/bundle"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/diff"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/fleetyaml"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/policy"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/release"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/target"
)

// noFiles has no definitions below crds/, and finds no object in a file.
type noFiles struct{ crds []diff.Document }

func (f noFiles) CRDDocuments(target.Deployment, release.Rendering) ([]diff.Document, error) {
	return f.crds, nil
}

func (noFiles) Locate(_ target.Deployment, place, _, _ string) (string, int) { return place, 7 }

func TestPlannedCharts(t *testing.T) {
	t.Parallel()

	const dependencies = "name: web\nversion: 1.0.0\ndependencies: [{name: redis, version: ^1, repository: 'https://other.example.com/'}, {name: own, repository: 'file://../own'}]\n"
	local := &bundle.Bundle{Name: "web", Files: []bundle.File{{Name: "Chart.yaml", Content: []byte(dependencies)}}}
	nested := &bundle.Bundle{Name: "web", Files: []bundle.File{
		{Name: "Chart.yaml", Content: []byte("name: web\n")}, {Name: "charts/sub/requirements.yaml", Content: []byte("dependencies: [{name: redis, repository: 'oci://quay.io/x'}]\n")},
	}}
	remote := &bundle.Bundle{Name: "web"}
	tests := map[string]struct {
		bundle *bundle.Bundle
		helm   fleetyaml.Helm
		want   []string
	}{
		"a chart in the bundle":                    {bundle: &bundle.Bundle{Name: "web", Files: []bundle.File{{Name: "Chart.yaml"}}}},
		"manifests":                                {bundle: &bundle.Bundle{Name: "web", Files: []bundle.File{{Name: "cm.yaml"}}}},
		"an allowed repository":                    {bundle: remote, helm: fleetyaml.Helm{Repo: "https://charts.example.com/", Chart: "web", Version: "^1"}},
		"another repository":                       {bundle: remote, helm: fleetyaml.Helm{Repo: "https://other.example.com", Chart: "web"}, want: []string{"charts: the chart https://other.example.com/web 1.2.3 is not allowed (allowed: https://charts.example.com/* ~1.2)"}},
		"a registry":                               {bundle: remote, helm: fleetyaml.Helm{Chart: "oci://quay.io/x/web"}, want: []string{"charts: the chart oci://quay.io/x/web 1.2.3 is not allowed (allowed: https://charts.example.com/* ~1.2)"}},
		"a git repository":                         {bundle: remote, helm: fleetyaml.Helm{Chart: "git::https://git.example.com/x.git//web"}, want: []string{"charts: the chart https://git.example.com/x.git 1.2.3 is not allowed (allowed: https://charts.example.com/* ~1.2)"}},
		"a dependency of a chart in the bundle":    {bundle: local, want: []string{"charts: the chart https://other.example.com/redis is not allowed (allowed: https://charts.example.com/* ~1.2)"}},
		"a dependency of a subchart in the bundle": {bundle: nested, want: []string{"charts: the chart oci://quay.io/x/redis is not allowed (allowed: https://charts.example.com/* ~1.2)"}},
	}
	set, err := policy.New([]policy.Policy{{Name: "p", Charts: []policy.Chart{{Source: "https://charts.example.com/*", Version: "~1.2"}}}}, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			d := target.Deployment{Cluster: "a", Bundle: tt.bundle, Options: fleetyaml.Options{Helm: &tt.helm}}
			got, err := policy.Checker{Set: set, Files: noFiles{}}.Planned(d, release.Rendering{Version: "1.2.3"})
			if err != nil {
				t.Fatal(err)
			}
			if difference := cmp.Diff(tt.want, found(got)); difference != "" {
				t.Error(difference)
			}
		})
	}
}

// A default replaces no option. What is written and not allowed is refused.
func TestCheckerDefaults(t *testing.T) {
	t.Parallel()

	yes, no := true, false
	const required, preset = "requireServiceAccount: true\n", "gitRepo: {defaultServiceAccount: tenant}\n"
	tests := map[string]struct {
		objects   string
		options   fleetyaml.Options
		hasEngine bool
		want      fleetyaml.Options
	}{
		"nothing":                       {objects: "allowNamespaceCreation: false\n"},
		"an account":                    {objects: preset, want: fleetyaml.Options{ServiceAccount: "tenant"}},
		"an account of its own":         {objects: preset, options: fleetyaml.Options{ServiceAccount: "own"}, want: fleetyaml.Options{ServiceAccount: "own"}},
		"no new namespace":              {objects: required, want: fleetyaml.Options{CreateNamespace: &no}},
		"a new namespace is written":    {objects: required, options: fleetyaml.Options{CreateNamespace: &yes}, want: fleetyaml.Options{CreateNamespace: &yes}},
		"a new namespace is allowed":    {objects: required + "allowNamespaceCreation: true\n"},
		"an account and no namespace":   {objects: required + preset, want: fleetyaml.Options{ServiceAccount: "tenant", CreateNamespace: &no}},
		"a Fleet decides on namespaces": {objects: required + preset, hasEngine: true, want: fleetyaml.Options{ServiceAccount: "tenant"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			policies, _, err := policy.FromFleet([]string{fleetObject("Policy", "p", tt.objects)})
			if err != nil {
				t.Fatal(err)
			}
			set, err := policy.New(policies, nil, nil)
			if err != nil {
				t.Fatal(err)
			}
			checker := policy.Checker{Set: set, Repositories: map[string]string{"web": "https://git/x"}, HasEngine: tt.hasEngine}
			got := checker.Defaults("a", &bundle.Bundle{Name: "web"}, tt.options)
			if difference := cmp.Diff(tt.want, got); difference != "" {
				t.Error(difference)
			}
		})
	}
}

// A plan checks the objects that it has, and leaves the rest to the apply.
func TestPlannedObjects(t *testing.T) {
	t.Parallel()

	set, err := policy.New([]policy.Policy{{Name: "p", AllowedKinds: []string{}}}, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	object := diff.Document{Object: diff.Object{Kind: "ConfigMap", Namespace: "web", Name: "one"}, Content: "{}", Place: "cm.yaml"}
	hook := diff.Document{Object: diff.Object{Kind: "Pod", Namespace: "web", Name: "hook"}, Content: "{}", Hook: true}
	crd := diff.Document{Object: diff.Object{Kind: "Secret", Namespace: "web", Name: "crd"}, Content: "{}"}
	tests := map[string]struct {
		rendering release.Rendering
		crds      string
		want      []string
	}{
		"everything":          {rendering: release.Rendering{Documents: []diff.Document{object, hook}}, want: []string{"Secret/web/crd", "ConfigMap/web/one", "Pod/web/hook"}},
		"hooks can differ":    {rendering: release.Rendering{Documents: []diff.Document{object, hook}, RenderEach: true}, want: []string{"Secret/web/crd", "ConfigMap/web/one"}},
		"names can differ":    {rendering: release.Rendering{Documents: []diff.Document{object, hook}, RenderEach: true, NamesVary: true}, want: []string{"Secret/web/crd"}},
		"no definitions":      {rendering: release.Rendering{Documents: []diff.Document{object}}, crds: fleetyaml.CRDsSkip, want: []string{"ConfigMap/web/one"}},
		"the identity counts": {rendering: release.Rendering{Documents: []diff.Document{object}, Varying: map[string]bool{"ConfigMap/web/one": true}}, want: []string{"Secret/web/crd", "ConfigMap/web/one"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			d := target.Deployment{Cluster: "a", Bundle: &bundle.Bundle{Name: "web"}, Options: fleetyaml.Options{Helm: &fleetyaml.Helm{CRDs: tt.crds}}}
			violations, err := policy.Checker{Set: set, Files: noFiles{crds: []diff.Document{crd}}}.Planned(d, tt.rendering)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, v := range violations {
				got = append(got, v.Object)
			}
			if difference := cmp.Diff(tt.want, got); difference != "" {
				t.Error(difference)
			}
		})
	}
}
