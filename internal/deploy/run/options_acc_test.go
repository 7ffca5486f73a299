package run_test

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/deploy"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/fleetyaml"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/immutable"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/target"
)

// Without force an upgrade fails if it changes an immutable field. With force it replaces the object.
func TestAccForceReplaces(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		options fleetyaml.Options
		refused bool
	}{
		"neither":            {refused: true},
		"helm.force":         {options: fleetyaml.Options{Helm: &fleetyaml.Helm{Force: true}}},
		"correctDrift.force": {options: fleetyaml.Options{CorrectDrift: &fleetyaml.CorrectDrift{Force: true}}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := newOnCluster(t, "force-"+strings.ToLower(strings.ReplaceAll(name, ".", "-")))
			o.write(t, o.deployment("web", "v1-a", configMapFile("web")+"immutable: true\ndata: {own: a}\n", test.options))
			before := o.configMaps(t)["web"]
			asked := o.request()
			asked.Write = []target.Deployment{o.deployment("web", "v1-b", configMapFile("web")+"immutable: true\ndata: {own: b}\n", test.options)}
			outcome := o.runner.Apply(t.Context(), asked)
			isRefused := slices.ContainsFunc(outcome.Failures, func(failure deploy.Failure) bool {
				_, is := errors.AsType[*immutable.Error](failure.Err)
				return is
			})
			if isReplaced := o.configMaps(t)["web"] != before; isRefused != test.refused || isReplaced == test.refused {
				t.Errorf("refused: %t, replaced: %t, failures: %v", isRefused, isReplaced, outcome.Failures)
			}
		})
	}
}

// keysOf returns the keys of a ConfigMap.
func (o *onCluster) keysOf(t *testing.T, name string) []string {
	t.Helper()
	found, err := o.client.CoreV1().ConfigMaps(o.namespace).Get(t.Context(), name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return slices.Sorted(maps.Keys(found.Data))
}

// maxHistory of a bundle takes precedence over that of the target, which is 5 here.
func TestAccMaxHistory(t *testing.T) {
	t.Parallel()
	o := newOnCluster(t, "max-history")
	few := fleetyaml.Options{Helm: &fleetyaml.Helm{MaxHistory: 2}}
	for _, digest := range []string{"v1-a", "v1-b", "v1-c", "v1-d"} {
		o.write(t, o.deployment("few", digest, configMapFile("few"), few), o.deployment("many", digest, configMapFile("many"), fleetyaml.Options{}))
	}
	want := []string{
		"sh.helm.release.v1.few.v3", "sh.helm.release.v1.few.v4",
		"sh.helm.release.v1.many.v1", "sh.helm.release.v1.many.v2", "sh.helm.release.v1.many.v3", "sh.helm.release.v1.many.v4",
	}
	if diff := cmp.Diff(want, slices.Sorted(slices.Values(o.records(t)))); diff != "" {
		t.Errorf("records (-want +got):\n%s", diff)
	}
}

// With atomic, an upgrade that the API server refuses halfway leaves the former objects.
func TestAccAtomic(t *testing.T) {
	t.Parallel()
	// Objects are written in the order of their kinds, so the ConfigMap is written first.
	const refused = "---\napiVersion: v1\nkind: Service\nmetadata: {name: refused}\nspec: {ports: [{port: 99999}]}\n"
	for _, atomic := range []bool{false, true} {
		name, want := "plain", []string{"after"}
		if atomic {
			name, want = "atomic", []string{"before"}
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := newOnCluster(t, "atomic-"+name)
			options := fleetyaml.Options{Helm: &fleetyaml.Helm{Atomic: atomic}}
			o.write(t, o.deployment("web", "v1-a", configMapFile("web")+"data: {before: x}\n", options))
			asked := o.request()
			asked.Write = []target.Deployment{o.deployment("web", "v1-b", configMapFile("web")+"data: {after: x}\n"+refused, options)}
			if outcome := o.runner.Apply(t.Context(), asked); len(outcome.Failures) != 1 {
				t.Fatalf("failures: %v", outcome.Failures)
			}
			if diff := cmp.Diff(want, o.keysOf(t, "web")); diff != "" {
				t.Errorf("keys (-want +got):\n%s", diff)
			}
		})
	}
}
