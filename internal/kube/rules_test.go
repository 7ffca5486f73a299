package kube

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/fleetyaml"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/release"
)

func comparePatches(patches ...fleetyaml.ComparePatch) release.Rules {
	return release.Rules{ComparePatches: patches}
}

func TestCheckRules(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		patch fleetyaml.ComparePatch
		want  string // in the error; "" is none
	}{
		"empty":                     {},
		"pointers":                  {patch: fleetyaml.ComparePatch{APIVersion: "apps/v1", Kind: "Deploy*", JSONPointers: []string{"/spec/replicas", "/metadata/annotations/a~1b"}}},
		"operations":                {patch: fleetyaml.ComparePatch{Operations: []fleetyaml.Operation{{Op: "remove", Path: "/a"}, {Op: "replace", Path: "/a", Value: "b"}, {Op: "ignore"}}}},
		"a pointer without a slash": {patch: fleetyaml.ComparePatch{JSONPointers: []string{"spec/replicas"}}, want: `"spec/replicas" does not begin with a slash`},
		"an operation without path": {patch: fleetyaml.ComparePatch{Operations: []fleetyaml.Operation{{Op: "remove"}}}, want: "does not begin with a slash"},
		"an unknown operation":      {patch: fleetyaml.ComparePatch{Operations: []fleetyaml.Operation{{Op: "delete", Path: "/a"}}}, want: `"delete" is not one of`},
		"a value is missing":        {patch: fleetyaml.ComparePatch{Operations: []fleetyaml.Operation{{Op: "add", Path: "/a"}}}, want: "has no value"},
		"a name that is no regex":   {patch: fleetyaml.ComparePatch{Name: "web-(", Operations: []fleetyaml.Operation{{Op: "ignore"}}}, want: "name: error parsing regexp"},
		"a name is none elsewhere":  {patch: fleetyaml.ComparePatch{Name: "web-(", JSONPointers: []string{"/a"}}},
		"a version of three parts":  {patch: fleetyaml.ComparePatch{APIVersion: "a/b/c"}, want: "apiVersion"},
		"a pattern with no end":     {patch: fleetyaml.ComparePatch{Kind: "Dep[loy"}, want: "kind"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := CheckRules(comparePatches(fleetyaml.ComparePatch{}, test.patch))
			if (err == nil) != (test.want == "") {
				t.Fatalf("error = %v, want %q", err, test.want)
			}
			if err == nil {
				return
			}
			if !strings.Contains(err.Error(), test.want) || !strings.Contains(err.Error(), "compare patch 2") {
				t.Errorf("error = %v, want compare patch 2 and %q", err, test.want)
			}
		})
	}
}

func TestNormalize(t *testing.T) {
	t.Parallel()
	const live = "{apiVersion: apps/v1, kind: Deployment, spec: {replicas: 3, paused: true}}"
	remove := func(paths ...string) []fleetyaml.Operation {
		var operations []fleetyaml.Operation
		for _, path := range paths {
			operations = append(operations, fleetyaml.Operation{Op: "remove", Path: path})
		}
		return operations
	}
	replicas, paused, both, neither := []string{"paused"}, []string{"replicas"}, []string{}, []string{"paused", "replicas"}
	tests := map[string]struct {
		patch fleetyaml.ComparePatch
		want  []string // what is left of the spec
	}{
		"pointer":                        {patch: fleetyaml.ComparePatch{APIVersion: "apps/v1", Kind: "Deployment", JSONPointers: []string{"/spec/replicas"}}, want: replicas},
		"pointers, one to nothing":       {patch: fleetyaml.ComparePatch{APIVersion: "apps/v1", Kind: "Deployment", JSONPointers: []string{"/spec/no", "/spec/replicas"}}, want: replicas},
		"pointer for another version":    {patch: fleetyaml.ComparePatch{APIVersion: "apps/v9", Kind: "Deployment", JSONPointers: []string{"/spec/paused"}}, want: paused},
		"pointer for any group and kind": {patch: fleetyaml.ComparePatch{APIVersion: "*/v1", Kind: "*", JSONPointers: []string{"/spec/paused"}}, want: paused},
		"pointer for another group":      {patch: fleetyaml.ComparePatch{APIVersion: "v1", Kind: "Deployment", JSONPointers: []string{"/spec/paused"}}, want: neither},
		"pointer for its name":           {patch: fleetyaml.ComparePatch{APIVersion: "apps/v1", Kind: "Deployment", Name: "name", Namespace: "ns", JSONPointers: []string{"/spec/paused"}}, want: paused},
		"pointer for another name":       {patch: fleetyaml.ComparePatch{APIVersion: "apps/v1", Kind: "Deployment", Name: "na", JSONPointers: []string{"/spec/paused"}}, want: neither},
		"pointer for another namespace":  {patch: fleetyaml.ComparePatch{APIVersion: "apps/v1", Kind: "Deployment", Namespace: "other", JSONPointers: []string{"/spec/paused"}}, want: neither},
		"pointer for ends that overlap":  {patch: fleetyaml.ComparePatch{APIVersion: "apps/v1", Kind: "Deploy*yment", JSONPointers: []string{"/spec/paused"}}, want: paused},
		"pointer for a kind that panics": {patch: fleetyaml.ComparePatch{APIVersion: "apps/v1", Kind: "Deployment{", JSONPointers: []string{"/spec/paused"}}, want: neither},
		"operations":                     {patch: fleetyaml.ComparePatch{APIVersion: "apps/v1", Kind: "Deployment", Name: "name", Namespace: "ns", Operations: remove("/spec/replicas", "/spec/paused")}, want: both},
		"operations for any name":        {patch: fleetyaml.ComparePatch{APIVersion: "apps/v1", Kind: "Deployment", Operations: remove("/spec/replicas")}, want: neither},
		"operations for another version": {patch: fleetyaml.ComparePatch{APIVersion: "apps/v2", Kind: "Deployment", Name: "name", Namespace: "ns", Operations: remove("/spec/replicas")}, want: neither},
		"one operation fails":            {patch: fleetyaml.ComparePatch{APIVersion: "apps/v1", Kind: "Deployment", Name: "name", Namespace: "ns", Operations: remove("/spec/replicas", "/spec/no")}, want: neither},
		"operations fail, pointers stay": {patch: fleetyaml.ComparePatch{APIVersion: "apps/v1", Kind: "Deployment", Name: "name", Namespace: "ns", JSONPointers: []string{"/spec/paused"}, Operations: remove("/spec/no")}, want: paused},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			compiled, err := compileRules(comparePatches(test.patch))
			if err != nil {
				t.Fatal(err)
			}
			before := object(t, live)
			got, err := compiled.normalize(before)
			if err != nil {
				t.Fatal(err)
			}
			left, _ := got.Object["spec"].(map[string]any)
			if diff := cmp.Diff(test.want, append([]string{}, sortedKeys(left)...)); diff != "" {
				t.Errorf("left of the spec (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(object(t, live), before); diff != "" {
				t.Errorf("the object itself was changed:\n%s", diff)
			}
		})
	}
}

func TestIgnoresMissing(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		namespace, name, apiVersion, op string
		want                            bool
	}{
		"all of a namespace":        {namespace: "ns", want: true},
		"by name":                   {namespace: "ns", name: "name", want: true},
		"by expression":             {namespace: "ns", name: "^n.*e$", want: true},
		"by part of the name":       {namespace: "ns", name: "am", want: true},
		"another expression":        {namespace: "ns", name: "^a"},
		"no namespace is not any":   {name: "name"},
		"another version":           {namespace: "ns", apiVersion: "v2"},
		"operations ignore nothing": {namespace: "ns", op: "remove"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			patch := fleetyaml.ComparePatch{
				APIVersion: "v1", Kind: "ConfigMap", Namespace: test.namespace, Name: test.name,
				Operations: []fleetyaml.Operation{{Op: "ignore"}},
			}
			if test.apiVersion != "" {
				patch.APIVersion = test.apiVersion
			}
			if test.op != "" {
				patch.Operations[0] = fleetyaml.Operation{Op: test.op, Path: "/data"}
			}
			compiled, err := compileRules(comparePatches(patch))
			if err != nil {
				t.Fatal(err)
			}
			if got := compiled.ignoresMissing(object(t, "{apiVersion: v1, kind: ConfigMap}")); got != test.want {
				t.Errorf("got %t, want %t", got, test.want)
			}
		})
	}
}

func TestIgnoredConditions(t *testing.T) {
	t.Parallel()
	const broken = "{apiVersion: example.com/v1, kind: Widget, status: {conditions: [{type: Stalled, status: 'True', reason: Quota}]}}"
	tests := map[string]struct {
		ignore []map[string]string
		ready  bool
	}{
		"none":                {},
		"by type":             {ignore: []map[string]string{{"type": "Stalled"}}, ready: true},
		"by all given":        {ignore: []map[string]string{{"type": "Stalled", "reason": "Quota"}}, ready: true},
		"one does not agree":  {ignore: []map[string]string{{"type": "Stalled", "reason": "Disk"}}},
		"the second of two":   {ignore: []map[string]string{{"type": "Ready"}, {"reason": "Quota"}}, ready: true},
		"a key that is not":   {ignore: []map[string]string{{"type": "Stalled", "message": ""}}},
		"another condition's": {ignore: []map[string]string{{"type": "Ready"}}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			live := object(t, broken)
			_, ready, err := conditionOf(info(live), withoutIgnored(live, test.ignore))
			if err != nil || ready != test.ready {
				t.Errorf("ready: %t, %v; want %t", ready, err, test.ready)
			}
			if _, ready, _ := conditionOf(info(live), live); ready {
				t.Error("the object itself was changed")
			}
		})
	}
}
