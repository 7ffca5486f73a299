package render_test

import (
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/bundle"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/fleetyaml"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/render"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/secret"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/target"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/worker/templates"
)

// Write-only values override others, and the deployment gets no copy of them.
func TestWriteOnlyValuesAreMergedLast(t *testing.T) {
	t.Parallel()
	own := map[string]any{"db": map[string]any{"user": "app", "password": "unset"}}
	d := target.Deployment{
		Bundle:    &bundle.Bundle{Name: "b"},
		Options:   fleetyaml.Options{Helm: &fleetyaml.Helm{Values: own}},
		WriteOnly: &target.WriteOnly{Content: secret.Hide(target.Content{Values: map[string]any{"db": map[string]any{"password": "secret"}}})},
	}
	values := d.PlainValues()
	if diff := cmp.Diff(map[string]any{"db": map[string]any{"user": "app", "password": "secret"}}, values); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	values["db"].(map[string]any)["password"] = "changed" //nolint:forcetypeassert // see above
	if diff := cmp.Diff(map[string]any{"db": map[string]any{"password": "secret"}}, d.WriteOnly.Content.Reveal().Values); diff != "" {
		t.Errorf("the input was changed (-want +got):\n%s", diff)
	}
}

// One process renders different write-only input of one digest differently, and does not cache it.
func TestWriteOnlyInputIsNotRemembered(t *testing.T) {
	t.Parallel()
	sandbox := &counting{Renderer: templates.Renderer{}}
	charts := &render.Charts{Sandbox: sandbox}
	of := &bundle.Bundle{Name: "app", Content: "v1-0", Files: []bundle.File{
		{Name: "templates/a.yaml", Content: []byte("kind: ConfigMap\napiVersion: v1\nmetadata: {name: a}\ndata: {key: \"{{ .Values.key }}\"}\n")},
	}}
	able := target.Capabilities{Version: "v1.36.0", Major: "1", Minor: "36"}
	chartOf := func(word string) string {
		d := target.Deployment{Bundle: of, Release: "app", Namespace: "web", Digest: "v1-0"}
		if word != "" {
			d = d.WithWriteOnly(&target.WriteOnly{
				ValuesVersion: "1", FilesVersion: "1", Content: secret.Hide(target.Content{
					Values: map[string]any{"key": word + " value"},
					Files:  []bundle.File{{Name: "s.yaml", Content: []byte("kind: Secret\napiVersion: v1\nmetadata: {name: s}\nstringData: {key: " + word + " file}\n")}},
				}),
			})
		}
		planned, err := charts.Render(t.Context(), d)
		if err != nil {
			t.Fatal(err)
		}
		if (planned.Irreproducible != "") != (word != "") {
			t.Errorf("the plan of %q is open because %q", word, planned.Irreproducible)
		}
		made, err := charts.Chart(t.Context(), d, render.Revision{Capabilities: able, Number: 1}, noLookup, nil)
		if err != nil {
			t.Fatal(err)
		}
		return made.Manifest
	}
	for _, secret := range []string{"", "first", "second", "first", ""} {
		text := chartOf(secret)
		for _, other := range []string{"first", "second"} {
			for _, part := range []string{other + " value", other + " file"} {
				if strings.Contains(text, part) != (other == secret) {
					t.Errorf("with %q, %q is rendered: %t", secret, part, strings.Contains(text, part))
				}
			}
		}
	}
}

func noLookup(context.Context, string, string, string, string) (map[string]any, error) {
	return nil, nil // there is no cluster
}
