package preview

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/bundle"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/deploy"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/deploy/plan"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/diff"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/fleetyaml"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/release"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/target"
)

// oneRendering renders each deployment in one way. below are the objects below crds/.
type oneRendering struct {
	rendering release.Rendering
	below     []diff.Document
	err       error
}

func (o oneRendering) Render(context.Context, target.Deployment) (release.Rendering, error) {
	return o.rendering, o.err
}
func (oneRendering) DependsOnCluster(target.Deployment) (bool, error) { return false, nil }
func (oneRendering) BringsKinds(target.Deployment) (bool, error)      { return true, nil }
func (o oneRendering) CRDDocuments(target.Deployment, release.Rendering) ([]diff.Document, error) {
	return o.below, nil
}

func (oneRendering) Locate(_ target.Deployment, place, _, _ string) (file string, line int) {
	return place, 0
}

// An apply creates the namespaces of new releases, unless their bundles do not want that.
func TestNamespacesThatAnApplyCreates(t *testing.T) {
	t.Parallel()
	at := func(name, namespace string) target.Deployment {
		return target.Deployment{Cluster: "a", Bundle: &bundle.Bundle{Name: name}, Release: name, Namespace: namespace}
	}
	existing := at("web", "shop")
	existing.Options.CreateNamespace = new(false)
	deployed := map[deploy.Key]deploy.Record{{Cluster: "a", Bundle: "web"}: {Release: "web", Namespace: "shop", Digest: "v1-a"}}
	failed := map[deploy.Key]deploy.Record{{Cluster: "a", Bundle: "web"}: {Release: "web", Namespace: "shop"}}
	tests := map[string]struct {
		write []target.Deployment
		prior map[deploy.Key]deploy.Record
		want  []string
	}{
		"new releases":                      {write: []target.Deployment{at("web", "shop"), at("logs", "shop"), at("db", "data")}, want: []string{"shop", "data"}},
		"an upgrade":                        {write: []target.Deployment{at("web", "shop")}, prior: deployed},
		"a release that was never deployed": {write: []target.Deployment{at("web", "shop")}, prior: failed, want: []string{"shop"}},
		"a move to another namespace":       {write: []target.Deployment{at("web", "other")}, prior: deployed, want: []string{"other"}},
		"createNamespace: false":            {write: []target.Deployment{existing}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			planned := &plan.Plan{Change: plan.Change{Write: test.write, Prior: test.prior}}
			if diff := cmp.Diff(test.want, needsOf(planned, test.write).Namespaces); diff != "" {
				t.Errorf("namespaces (-want +got):\n%s", diff)
			}
		})
	}
}

// A bundle of the target defines a kind with a custom resource definition or an API service. What the
// plan does not know counts as any kind.
func TestDefinedKinds(t *testing.T) {
	t.Parallel()
	definition := diff.Document{
		Object:  diff.Object{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition", Name: "widgets.example.com"},
		Content: `{"spec": {"group": "example.com", "names": {"kind": "Widget"}, "versions": [{"name": "v1"}, {"name": "v2"}]}}`,
	}
	service := diff.Document{
		Object:  diff.Object{Group: "apiregistration.k8s.io", Kind: "APIService", Name: "v1.example.com"},
		Content: `{"spec": {"group": "example.com", "version": "v1"}}`,
	}
	widget, gadget := release.Kind{APIVersion: "example.com/v1", Kind: "Widget"}, release.Kind{APIVersion: "example.com/v1", Kind: "Gadget"}
	other := release.Kind{APIVersion: "example.com/v3", Kind: "Widget"}
	tests := map[string]struct {
		charts  oneRendering
		options fleetyaml.Options
		cluster string
		want    []release.Kind
	}{
		"a definition":           {charts: oneRendering{rendering: release.Rendering{Documents: []diff.Document{definition}}}, want: []release.Kind{widget}},
		"a definition in crds/":  {charts: oneRendering{below: []diff.Document{definition}}, want: []release.Kind{widget}},
		"crds/ is skipped":       {charts: oneRendering{below: []diff.Document{definition}}, options: fleetyaml.Options{Helm: &fleetyaml.Helm{CRDs: fleetyaml.CRDsSkip}}},
		"an API service":         {charts: oneRendering{rendering: release.Rendering{Documents: []diff.Document{service}}}, want: []release.Kind{widget, gadget}},
		"on another cluster":     {charts: oneRendering{rendering: release.Rendering{Documents: []diff.Document{definition}}}, cluster: "b"},
		"names that can vary":    {charts: oneRendering{rendering: release.Rendering{NamesVary: true}}, want: []release.Kind{widget, gadget, other}},
		"a definition can vary":  {charts: oneRendering{rendering: release.Rendering{Documents: []diff.Document{definition}, Varying: map[string]bool{definition.Key(): true}}}, want: []release.Kind{widget, gadget, other}},
		"it cannot be rendered":  {charts: oneRendering{err: errors.New("no")}, want: []release.Kind{widget, gadget, other}},
		"it defines no kind yet": {},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			write := []target.Deployment{{Cluster: "a", Bundle: &bundle.Bundle{Name: "one"}, Options: test.options}}
			if test.cluster != "" {
				write[0].Cluster = test.cluster
			}
			defined := definedKinds(t.Context(), test.charts, write, "a")
			var got []release.Kind
			for _, kind := range []release.Kind{widget, gadget, other} {
				if defined.has(kind) {
					got = append(got, kind)
				}
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("defined kinds (-want +got):\n%s", diff)
			}
		})
	}
}
