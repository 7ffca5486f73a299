package conformance_test

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/bundle"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/fleetyaml"
)

// recordedDefinition is layer B of one bundle.
type recordedDefinition struct {
	Labels      map[string]string `json:"labels"`
	Annotations map[string]string `json:"annotations"`
	Spec        map[string]any    `json:"spec"`
	Resources   map[string]string `json:"resources"`
}

// judgeDefinition compares everything of a bundle but its files.
func (c *corpus) judgeDefinition(t *testing.T, r recording, want recordedBundle, b *bundle.Bundle) (verdict, string) {
	t.Helper()

	if r.Outcome != "ok" { // This provider reads it, and Fleet does not; nothing is recorded.
		return deviates, ""
	}
	var recorded recordedDefinition
	c.expected(t, r.ID, want, "bundle.yaml", &recorded)
	delete(recorded.Labels, "fleet.cattle.io/commit")
	if diff := cmp.Diff(filled(recorded.Labels), filled(b.Definition.Labels)); diff != "" {
		return wrong, "labels (-Fleet +ours):\n" + diff
	}
	if diff := cmp.Diff(filled(recorded.Annotations), filled(b.Definition.Annotations)); diff != "" {
		return wrong, "annotations (-Fleet +ours):\n" + diff
	}
	onlyCriteria(recorded.Spec)
	wantSpec, ok := normal(recorded.Spec).(map[string]any)
	if !ok {
		wantSpec = map[string]any{}
	}
	gotSpec, ok := normal(specOf(t, r, b)).(map[string]any)
	if !ok {
		gotSpec = map[string]any{}
	}
	forced := forceAccount(wantSpec, r.GitRepo.ServiceAccount)
	diff := cmp.Diff(wantSpec, gotSpec)
	switch {
	case diff == "" && forced:
		return deviates, ""
	case diff == "":
		return equal, ""
	}
	if r.Deviation && r.Ours.Outcome == "ok" && len(r.Ours.Patch[b.Name]) > 0 {
		// Values of files are merged into the inline values here. Layer C compares them.
		drop(wantSpec, []string{"helm", "values"})
		drop(gotSpec, []string{"helm", "values"})
		if cmp.Equal(wantSpec, gotSpec) {
			return deviates, ""
		}
	}
	return wrong, "definition (-Fleet +ours):\n" + diff
}

// forceAccount sets the service account of the GitRepo in the customizations, where Fleet allows
// the repository to choose another one. It reports whether that changes anything, so that both
// behaviours are asserted.
func forceAccount(spec map[string]any, account string) (changed bool) {
	targets, _ := spec["targets"].([]any)
	for _, item := range targets {
		custom, _ := item.(map[string]any)
		if chosen, ok := custom["serviceAccount"]; ok && account != "" && chosen != account {
			custom["serviceAccount"], changed = account, true
		}
	}
	return changed
}

// onlyCriteria reduces the targets of the GitRepo to the fields that select clusters. Their names
// have no effect, and a forced namespace is in the bundle as well.
func onlyCriteria(spec map[string]any) {
	targets, _ := spec["targets"].([]any)
	restrictions, _ := spec["targetRestrictions"].([]any)
	for _, item := range slices.Concat(restrictions, targets[len(targets)-len(restrictions):]) {
		if entry, ok := item.(map[string]any); ok {
			delete(entry, "name")
			delete(entry, "namespace")
		}
	}
}

func filled(m map[string]string) map[string]string {
	if m == nil {
		return map[string]string{}
	}
	return m
}

// specOf returns a definition in the form of a Fleet Bundle. Customizations and the targets of the
// GitRepo are in one list, and the targets again in the restrictions.
func specOf(t *testing.T, r recording, b *bundle.Bundle) map[string]any {
	t.Helper()

	spec := asJSON(t, b.Definition)
	for _, key := range []string{"name", "labels", "annotations", "overrideTargets", "targetCustomizations", "targets", "imageScans"} {
		delete(spec, key)
	}
	var targets []any
	for i, customization := range append(append([]fleetyaml.Customization{}, b.Definition.Targets...), b.Definition.TargetCustomizations...) {
		item := asJSON(t, customization)
		if item["name"] == nil {
			item["name"] = fmt.Sprintf("target%03d", i)
		}
		targets = append(targets, item)
	}
	if b.Definition.OverrideTargets != nil && len(b.Definition.OverrideTargets) == 0 && len(targets) == 0 {
		targets = append(targets, map[string]any{"name": "default", "clusterGroup": "default"})
	}
	restrictions := restrictionsOf(t, r, b)
	spec["targets"] = append(targets, restrictions...)
	spec["targetRestrictions"] = restrictions
	return spec
}

func restrictionsOf(t *testing.T, r recording, b *bundle.Bundle) []any {
	t.Helper()

	var restrictions []any
	if b.Definition.OverrideTargets != nil {
		for _, override := range b.Definition.OverrideTargets {
			restrictions = append(restrictions, asJSON(t, fleetyaml.OverrideTarget{Criteria: override.Criteria}))
		}
		return restrictions
	}
	for _, rule := range r.rules() {
		restrictions = append(restrictions, asJSON(t, rule))
	}
	return restrictions
}

func asJSON(t *testing.T, value any) map[string]any {
	t.Helper()

	data, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	var decoded map[string]any
	if err := json.Unmarshal(data, &decoded); err != nil {
		t.Fatal(err)
	}
	return decoded
}

// judgeFiles compares the files of a bundle by name and content.
func (c *corpus) judgeFiles(t *testing.T, r recording, want recordedBundle, b *bundle.Bundle) (verdict, string) {
	t.Helper()

	added := r.Ours.ResourcesAdded[b.Name]
	var recorded recordedDefinition
	switch {
	case r.Outcome == "ok":
		c.expected(t, r.ID, want, "bundle.yaml", &recorded)
	case added == nil:
		return deviates, ""
	}
	got := make(map[string]string, len(b.Files))
	for _, file := range b.Files {
		sum := sha256.Sum256(file.Content)
		got[file.Name] = hex.EncodeToString(sum[:])
	}
	for _, name := range added {
		if _, ok := got[name]; !ok {
			return wrong, "lacks " + name
		}
		if _, ok := recorded.Resources[name]; ok {
			return wrong, "Fleet has " + name + " too"
		}
		delete(got, name)
	}
	if diff := cmp.Diff(filled(recorded.Resources), got); diff != "" {
		return wrong, "files (-Fleet +ours):\n" + diff
	}
	if len(added) > 0 {
		return deviates, ""
	}
	return equal, ""
}
