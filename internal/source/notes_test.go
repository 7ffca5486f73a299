package source_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/fleetyaml"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/source"
)

// Options in HCL cause the same warnings as a fleet.yaml.
func TestGenerateNotes(t *testing.T) {
	t.Parallel()
	spec := source.Spec{
		Files: map[string]string{"a.yaml": "a: b\n"},
		Definition: &source.Definition{Name: "web", Options: fleetyaml.Definition{
			Options:         fleetyaml.Options{YAML: &fleetyaml.YAML{Overlays: []string{"gone"}}},
			OverrideTargets: []fleetyaml.OverrideTarget{},
		}},
	}
	generation, err := source.New(source.Config{}).Generate(t.Context(), spec, nil)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, note := range generation.Warnings {
		got = append(got, note.String())
	}
	want := []string{
		`override_targets is empty, so only customizations limit the targets of the bundle; without customizations it is deployed to the cluster group "default"`,
		`yaml.overlays names "gone" and has no effect: the folder overlays/gone does not exist`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("notes (-want +got):\n%s", diff)
	}
}
