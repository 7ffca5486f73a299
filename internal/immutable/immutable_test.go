package immutable_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/immutable"
)

// A plan that has no live object compares with the former manifest.
func TestFieldsOfManifests(t *testing.T) {
	t.Parallel()
	for name, row := range rows() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			before, after := read(t, name, row.before), read(t, name, row.after)
			want := row.fields
			if row.unknown {
				want = nil
			}
			if diff := cmp.Diff(want, immutable.Fields(before, before, after)); diff != "" {
				t.Errorf("fields (-want +got):\n%s", diff)
			}
			if got := immutable.Fields(before, before, before); got != nil {
				t.Errorf("without a change, %v changes", got)
			}
			if may := immutable.MayDiffer(before, after); len(want) > 0 && !may || immutable.MayDiffer(before, before) {
				t.Errorf("the manifests may differ: %t", may)
			}
			if !immutable.Has(immutable.KindOf(after)) {
				t.Errorf("%s has no rules", immutable.KindOf(after))
			}
		})
	}
}

func TestKinds(t *testing.T) {
	t.Parallel()
	tests := map[string]struct{ has, isReplaceable bool }{
		"Job.batch":             {has: true, isReplaceable: true},
		"PersistentVolume":      {has: true},
		"PersistentVolumeClaim": {has: true},
		"CustomResourceDefinition.apiextensions.k8s.io": {has: true},
		"Job.example.com": {isReplaceable: true},
	}
	for kind, test := range tests {
		if immutable.Has(kind) != test.has || immutable.IsReplaceable(kind) != test.isReplaceable {
			t.Errorf("%s: %t, %t", kind, immutable.Has(kind), immutable.IsReplaceable(kind))
		}
	}
	if !immutable.KeepsPods("StatefulSet.apps", []string{"spec.serviceName"}) || immutable.KeepsPods("StatefulSet.apps", []string{"spec.selector"}) || immutable.KeepsPods("Job.batch", nil) {
		t.Error("the pods of another object stay")
	}
}

// read reads an object. Its name is that of the row. Its images are on the nodes that run pods: a kubelet
// pulls missing ones one after another, and a pod that waits for its pull ends after it.
func read(t *testing.T, row, text string) map[string]any {
	t.Helper()
	name := "immutable-" + strings.NewReplacer(" ", "-", ",", "").Replace(row)
	values := strings.NewReplacer("NAME", name, "IMAGE", "'registry.k8s.io/pause:3.9'", "OTHER", "'registry.k8s.io/pause:3.10'")
	var content map[string]any
	if err := yaml.Unmarshal([]byte(values.Replace(text)), &content); err != nil {
		t.Fatal(err)
	}
	return content
}
