//go:build !race

package templates_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"path"
	"slices"
	"strings"
	"testing"

	"helm.sh/helm/v3/pkg/chartutil"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/manifest"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/release"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/render"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/target"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/wellknown"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/worker/templates"
)

// applied renders a deployment as an apply does: with Helm's own functions, real randomness,
// and some objects on the cluster. It returns the objects by their keys.
func applied(ctx context.Context, d target.Deployment, random *rand.Rand) (map[string]string, error) {
	number := 1 + random.IntN(40)
	revision := render.Revision{Capabilities: target.Capabilities{Version: "v1.34.1", Major: "1", Minor: "34", APIs: chartutil.DefaultVersionSet}, Number: number, Upgrade: number > 1}
	if d.Capabilities != nil {
		revision.Capabilities = *d.Capabilities
	}
	lookup := func(_ context.Context, apiVersion, kind, namespace, name string) (map[string]any, error) {
		return foundObject(random, apiVersion, kind, namespace, name), nil
	}
	files, err := (&templates.Renderer{}).Apply(ctx, d, revision, lookup)
	if err != nil {
		return nil, err
	}
	contents := map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(files.Outputs)) {
		if strings.HasPrefix(path.Base(name), "_") || strings.HasSuffix(name, "NOTES.txt") {
			continue
		}
		objects, err := manifest.ParseAll([]byte(files.Outputs[name]))
		if err != nil {
			return nil, err
		}
		for _, object := range manifest.Flatten(objects) {
			if _, isHook := manifest.Annotations(object)[wellknown.Hook]; isHook {
				continue
			}
			content, err := json.Marshal(object.Object)
			if err != nil {
				return nil, err
			}
			contents[manifest.Identify(object, d.Namespace).Key()] += string(content)
		}
	}
	return contents, nil
}

// foundObject returns the result of a lookup: nothing, or an object with some of many keys.
func foundObject(random *rand.Rand, apiVersion, kind, namespace, name string) map[string]any {
	if random.IntN(3) == 0 {
		return map[string]any{}
	}
	data := map[string]any{}
	for _, key := range []string{"password", "unknown", "p", "a", "b"} {
		if random.IntN(2) == 0 {
			data[key] = fmt.Sprint("eA", random.IntN(1000))
		}
	}
	object := map[string]any{"apiVersion": apiVersion, "kind": kind, "metadata": map[string]any{"name": name, "namespace": namespace}, "data": data}
	if random.IntN(4) == 0 {
		object["unknown"] = "x"
	}
	if name == "" {
		return map[string]any{"items": slices.Repeat([]any{object}, random.IntN(3))}
	}
	return object
}

// checkKnown renders a deployment as often as times, and compares the results with the known
// objects of the plan.
func checkKnown(t *testing.T, d target.Deployment, rendering release.Rendering, times int) {
	t.Helper()
	random := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // the same in each run
	var first map[string]string
	for range times {
		contents, err := applied(t.Context(), d, random)
		if err != nil {
			continue // Such an apply fails, and changes nothing.
		}
		if first == nil {
			first = contents
		}
		for key := range rendering.Hashes() {
			if _, ok := contents[key]; !ok {
				t.Fatalf("%s is planned and not applied", key)
			}
		}
		for key, content := range contents {
			if _, ok := first[key]; !ok || len(contents) != len(rendering.Hashes()) {
				t.Fatalf("%s is applied and not planned: %v", key, rendering.Hashes())
			}
			if !rendering.Varying[key] && content != first[key] {
				t.Fatalf("%s is called known and is\n%s\nor\n%s", key, content, first[key])
			}
		}
	}
}

// timesFor returns how often a row of varyingTests is rendered. Helm makes real keys, which takes
// long.
func timesFor(name string, times int) int {
	if strings.HasPrefix(name, "certificate") {
		return 2
	}
	return times
}

// An object that is called known is the same in many renderings by Helm itself, more than were
// compared.
func TestKnownObjectsAreEqual(t *testing.T) {
	t.Parallel()
	const times = 60
	for name, test := range varyingTests {
		if test.byChance {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := varyingDeployment(test.files, test.values)
			rendering, err := newCharts().Render(t.Context(), d)
			if err != nil {
				t.Fatal(err)
			}
			if !rendering.NamesVary {
				checkKnown(t, d, rendering, timesFor(name, times))
			}
		})
	}
}

// The verdict is the same in each process: it depends on no randomness.
func TestVaryingIsStable(t *testing.T) {
	t.Parallel()
	for name, test := range varyingTests {
		if test.byChance {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			first, err := newCharts().Render(t.Context(), varyingDeployment(test.files, test.values))
			if err != nil {
				t.Fatal(err)
			}
			for range timesFor(name, 5) {
				again, err := newCharts().Render(t.Context(), varyingDeployment(test.files, test.values))
				if err != nil || again.NamesVary != first.NamesVary || !maps.Equal(again.Varying, first.Varying) || again.Irreproducible != first.Irreproducible {
					t.Fatalf("%v %t, and then %v %t, %v", first.Varying, first.NamesVary, again.Varying, again.NamesVary, err)
				}
			}
		})
	}
}
