package templates_test

import (
	"cmp"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/target"
)

// share counts the objects that are known in plans.
type share struct {
	deployments, knownDeployments int
	objects, knownObjects, names  int
	causes                        map[string]int
}

func (s *share) String() string {
	return fmt.Sprintf("%d of %d deployments known, %d of %d objects known (%d%%), %d more known by name",
		s.knownDeployments, s.deployments, s.knownObjects, s.objects, 100*s.knownObjects/max(s.objects, 1), s.names) // percent
}

// chartFolder is a folder that FLEET_CHARTS names.
type chartFolder struct {
	name  string
	files map[string]string
	// missing are dependencies that are not in the folder.
	missing []string
}

// FLEET_CHARTS names a folder of charts. TestShareOfKnownObjects prints how many of their objects
// are known in a first plan that cannot read the API versions of its cluster, in a first plan that
// can, and in later plans. It needs no cluster and changes nothing. A chart that cannot be rendered
// is counted by its cause.
func TestShareOfKnownObjects(t *testing.T) {
	t.Parallel()
	folder := os.Getenv("FLEET_CHARTS")
	if folder == "" {
		t.Skip("FLEET_CHARTS names no folder of charts")
	}
	first := clusterCapabilities()
	first.MayGrow = true
	plans := map[string]*target.Capabilities{unconnectedPlan: nil, firstPlan: first, laterPlans: clusterCapabilities()}
	shares := map[string]*share{}
	for name := range plans {
		shares[name] = &share{causes: map[string]int{}}
	}
	var skipped, refused []string
	for _, found := range chartsBelow(t, folder) {
		if len(found.missing) > 0 {
			skipped = append(skipped, found.name)
			continue
		}
		for name, capabilities := range plans {
			if err := shares[name].add(t, found, capabilities); err != nil {
				refused = append(refused, fmt.Sprintf("%s, %s: %.200s", found.name, name, err))
			}
		}
	}
	for _, name := range []string{unconnectedPlan, firstPlan, laterPlans} {
		t.Logf("%s: %s", name, shares[name])
		for _, cause := range slices.Sorted(keysOf(shares[name].causes)) {
			t.Logf("    %s", cause)
		}
	}
	t.Logf("skipped, because dependencies are missing: %d %v", len(skipped), skipped)
	t.Logf("refused: %d\n%s", len(refused), strings.Join(refused, "\n"))
	if shares[laterPlans].deployments == 0 {
		t.Errorf("%s contains no chart that can be rendered", folder)
	}
}

// The plans whose share of known objects is counted.
const (
	unconnectedPlan = "first plan, before the cluster is connected"
	firstPlan       = "first plan"
	laterPlans      = "later plans"
)

func clusterCapabilities() *target.Capabilities {
	return &target.Capabilities{Version: "v1.34.1", Major: "1", Minor: "34", APIs: slices.Clone(chartutil.DefaultVersionSet)}
}

func (s *share) add(t *testing.T, found chartFolder, capabilities *target.Capabilities) error {
	t.Helper()
	d := deployment(found.files, func(d *target.Deployment) { d.Capabilities = capabilities })
	d.Digest, d.Bundle.Name = "", found.name
	rendering, err := newCharts().Render(t.Context(), d)
	if err != nil {
		return err
	}
	objects := len(rendering.Hashes())
	s.deployments++
	s.objects += objects
	switch {
	case rendering.NamesVary:
	case rendering.Irreproducible == "":
		s.knownDeployments++
		fallthrough
	default:
		s.names += len(rendering.Varying)
		s.knownObjects += objects - len(rendering.Varying)
	}
	if rendering.RenderEach {
		known := objects - len(rendering.Varying)
		if rendering.NamesVary {
			known = 0
		}
		s.causes[fmt.Sprintf("%s: %d of %d objects known: %s", found.name, known, objects, cmp.Or(rendering.Irreproducible, "only hooks, notes or nothing varies"))]++
	}
	return nil
}

func keysOf[V any](of map[string]V) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		for key := range of {
			if !yield(key) {
				return
			}
		}
	}
}

// chartsBelow returns the charts of a folder, without charts inside of other charts.
func chartsBelow(t *testing.T, folder string) []chartFolder {
	t.Helper()
	var found []chartFolder
	err := filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.IsDir() {
			return err
		}
		if _, missing := os.Stat(filepath.Join(path, chartutil.ChartfileName)); missing != nil {
			return nil //nolint:nilerr // Not a chart, but charts can be in it.
		}
		one, err := chartOf(folder, path)
		if err != nil {
			return err
		}
		found = append(found, one)
		return filepath.SkipDir
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func chartOf(folder, path string) (chartFolder, error) {
	name, err := filepath.Rel(folder, path)
	if err != nil {
		return chartFolder{}, err
	}
	one := chartFolder{name: filepath.ToSlash(name), files: map[string]string{}}
	files := os.DirFS(path)
	err = fs.WalkDir(files, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		content, err := fs.ReadFile(files, name)
		one.files[name] = string(content)
		return err
	})
	if err != nil {
		return chartFolder{}, err
	}
	loaded, err := loader.LoadDir(path)
	if err != nil {
		return chartFolder{}, fmt.Errorf("reading %s: %w", path, err)
	}
	for _, wanted := range loaded.Metadata.Dependencies {
		if !slices.ContainsFunc(loaded.Dependencies(), func(c *chart.Chart) bool { return c.Name() == wanted.Name }) {
			one.missing = append(one.missing, wanted.Name)
		}
	}
	return one, nil
}
