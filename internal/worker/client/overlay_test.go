package client_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/bundle"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/fleetyaml"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/render"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/target"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/worker/client"
)

// overlaid returns a bundle of a ConfigMap with overlays.
func overlaid(overlays map[string]string) target.Deployment {
	files := map[string]string{"a.yaml": configMap("a", "before")}
	for name, content := range overlays {
		files["overlays/o/"+name] = content
	}
	return deployment(files, func(d *target.Deployment) { d.Options.YAML = &fleetyaml.YAML{Overlays: []string{"o"}} })
}

// A patch of 90,000 operations takes a minute wherever it is applied. So a worker applies it, within
// the time of a rendering.
func TestAttackOverlay(t *testing.T) {
	t.Parallel()
	workers := client.New(time.Second)
	t.Cleanup(func() { _ = workers.Close() })
	endless := overlaid(map[string]string{"a_patch.yaml": "- {op: add, path: /list, value: []}\n" + strings.Repeat("- {op: add, path: /list/0, value: x}\n", 90_000)})
	charts := &render.Charts{Sandbox: workers}
	_, planning := charts.Render(t.Context(), endless)
	_, applying := charts.Chart(t.Context(), endless, render.Revision{Number: 1}, lookup, nil)
	for name, err := range map[string]error{"plan": planning, "apply": applying} {
		if !isLimit(err) {
			t.Errorf("%s: %v, want an error of the time limit", name, err)
		}
	}
}

// The provider itself applies no patch. It searches overlays as they are.
func TestOverlaysAreNotAppliedHere(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		overlays                map[string]string
		cluster, lookup, brings bool
	}{
		"a patch that fails":              {overlays: map[string]string{"a_patch.yaml": "- {op: remove, path: /data/none}\n"}},
		"a replaced file":                 {overlays: map[string]string{"a.yaml": configMap("a", "x"), "README.md": "lookup"}},
		"a patch with a word":             {overlays: map[string]string{"a_patch.yaml": "data: {a: Capabilities}\n"}, cluster: true},
		"a template":                      {overlays: map[string]string{"templates/b.yaml": "{{ lookup }}"}, lookup: true},
		"a patch that makes a definition": {overlays: map[string]string{"a_patch.yaml": "kind: CustomResourceDefinition\n"}, brings: true},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d, charts := overlaid(tt.overlays), &render.Charts{}
			cluster, errCluster := charts.DependsOnCluster(d)
			looks, errLookup := charts.UsesLookup(d)
			brings, errBrings := charts.BringsKinds(d)
			_, _, errDescribe := charts.Describe(d)
			if err := errors.Join(errCluster, errLookup, errBrings, errDescribe); err != nil {
				t.Error(err)
			}
			if cluster != tt.cluster || looks != tt.lookup || brings != tt.brings {
				t.Errorf("depends on the cluster: %v, looks up: %v, brings kinds: %v", cluster, looks, brings)
			}
		})
	}
}

// The record of a release contains the manifests with their overlays.
func TestOverlaysInRecords(t *testing.T) {
	t.Parallel()
	d := overlaid(map[string]string{"a_patch.yaml": "data: {key: after}\n", "c.yaml": configMap("c", "x"), "templates/b.yaml": configMap("b", "{{ .Release.Name }}")})
	d.Bundle.Files = append(d.Bundle.Files, bundle.File{Name: "c.yaml", Content: []byte("replaced: true\n")}) // It is no manifest.
	made, err := (&render.Charts{Sandbox: newClient(t)}).Chart(t.Context(), d, render.Revision{Number: 1}, lookup, nil)
	if err != nil {
		t.Fatal(err)
	}
	if text := made.Manifest; !strings.Contains(text, "key: after") || !strings.Contains(text, "key: b") {
		t.Errorf("manifest: %s", text)
	}
	var recorded strings.Builder
	for _, file := range made.Recorded.Raw {
		recorded.Write(file.Data)
	}
	if text := recorded.String(); !strings.Contains(text, "key: after") || !strings.Contains(text, "{{ .Release.Name }}") || strings.Contains(text, "before") {
		t.Errorf("recorded: %s", text)
	}
}
