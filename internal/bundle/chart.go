package bundle

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/fleetyaml"
)

// chartFile makes a folder a chart.
const chartFile = "Chart.yaml"

// fetchedDirectory contains the charts that are kept elsewhere.
const fetchedDirectory = ".chart"

// Chart is what a bundle says of a Helm chart: helm.repo, helm.chart and
// helm.version, word for word.
type Chart struct {
	Repo    string `json:"repo,omitempty"`
	Name    string `json:"name,omitempty"`
	Version string `json:"version,omitempty"`
}

// Directory is the folder of the bundle that a chart kept elsewhere is put into,
// as Fleet does (internal/bundlereader/resources.go): bundles that name the same
// chart have it in the same place.
func (c Chart) Directory() string {
	sum := sha256.Sum256([]byte(c.Name + ":" + c.Repo + ":" + c.Version))
	return path.Join(fetchedDirectory, hex.EncodeToString(sum[:]))
}

// Pin is what a Chart was found to be, so that it is found to be the same again.
type Pin struct {
	// Version is exact: a chart version, or a commit for a chart in git; "" for
	// an archive, which has none.
	Version string `json:"version,omitempty"`
	// Reference is the digest of what a registry kept under that version. A tag can
	// be moved; what it led to may still be there.
	Reference string `json:"reference,omitempty"`
	// Digest covers the files of the chart with those of its dependencies; without a
	// chart, those of the dependencies.
	Digest string `json:"digest,omitempty"`
	// Dependencies are the exact versions of what Chart.yaml asks for, by the path
	// of the dependency: "redis", or "charts/web/redis" for one of a subchart.
	Dependencies map[string]string `json:"dependencies,omitempty"`
}

// nameCharts copies what the root says of a chart into each customization that has
// options for Helm and leaves it open, as Fleet does
// (internal/bundlereader/read.go).
func nameCharts(def *fleetyaml.Definition) {
	if def.Helm == nil {
		return
	}
	for _, customizations := range [][]fleetyaml.Customization{def.Targets, def.TargetCustomizations} {
		for i := range customizations {
			if helm := customizations[i].Helm; helm != nil {
				helm.Repo = cmp.Or(helm.Repo, def.Helm.Repo)
				helm.Chart = cmp.Or(helm.Chart, def.Helm.Chart)
				helm.Version = cmp.Or(helm.Version, def.Helm.Version)
			}
		}
	}
}

func chartOf(options *fleetyaml.Helm) Chart {
	if options == nil {
		return Chart{}
	}
	return Chart{Repo: options.Repo, Name: options.Chart, Version: options.Version}
}

// chartsOf are all that a definition names, each once, in their order. The zero
// Chart represents the one that the bundle itself may be.
func chartsOf(def *fleetyaml.Definition) []Chart {
	charts := []Chart{chartOf(def.Helm)}
	known := map[Chart]bool{charts[0]: true}
	for _, customization := range slices.Concat(def.Targets, def.TargetCustomizations) {
		chart := chartOf(customization.Helm)
		if customization.Helm == nil || known[chart] {
			continue
		}
		known[chart] = true
		charts = append(charts, chart)
	}
	return charts
}

// Wanted are the charts that are kept elsewhere and not among Files yet: those
// with a repository, and those that are no file or folder of the bundle.
func (b Bundle) Wanted() []Chart {
	var wanted []Chart
	files := tree(b.Files)
	for _, chart := range chartsOf(&b.Definition) {
		if files.isElsewhere(chart) && !files.contains(chart.Directory()) {
			wanted = append(wanted, chart)
		}
	}
	return wanted
}

// isElsewhere says whether a chart is kept elsewhere than in the bundle.
func (t tree) isElsewhere(chart Chart) bool {
	return chart.Repo != "" || (chart.IsRemote() && !t.contains(path.Clean(chart.Name)))
}

// ChartDirectory returns where the chart lies that merged options lead to: its
// folder, or the packed chart itself. found is false for a bundle without a chart.
// It knows the rules of Fleet's internal/bundlereader/style.go, and packed charts
// besides.
func (b Bundle) ChartDirectory(options *fleetyaml.Helm) (dir string, found bool) {
	return tree(b.Files).directoryOf(chartOf(options))
}

// RemoteChart returns the chart that merged options name if it is kept elsewhere than in the
// bundle.
func (b Bundle) RemoteChart(options *fleetyaml.Helm) (chart Chart, found bool) {
	chart = chartOf(options)
	return chart, tree(b.Files).isElsewhere(chart)
}

func (t tree) directoryOf(chart Chart) (dir string, found bool) {
	if t.isElsewhere(chart) {
		return t.fetchedChart(chart)
	}
	dir = path.Clean(chart.Name) // "" becomes ".".
	return dir, t.has(dir) || t.has(path.Join(dir, chartFile))
}

// fetchedChart returns where a chart kept elsewhere lies: in its folder, or in the
// only folder there that is a chart.
func (t tree) fetchedChart(chart Chart) (dir string, found bool) {
	root := chart.Directory()
	if t.has(path.Join(root, chartFile)) {
		return root, true
	}
	var charts []string
	first, _ := t.find(root + "/")
	for _, file := range t[first:] {
		relative, ok := strings.CutPrefix(file.Name, root+"/")
		if !ok {
			break
		}
		if folder, name, _ := strings.Cut(relative, "/"); name == chartFile {
			charts = append(charts, path.Join(root, folder))
		}
	}
	if len(charts) != 1 {
		return root, false
	}
	return charts[0], true
}

// checkCharts says what is wrong with the charts that the definition names,
// before any is fetched.
func (b Bundle) checkCharts() error {
	files := tree(b.Files)
	for _, chart := range chartsOf(&b.Definition) {
		if files.isElsewhere(chart) {
			if _, err := chart.Location(); err != nil {
				return inFileError(b.DefinitionFile, err)
			}
			continue
		}
		dir := path.Clean(chart.Name)
		if path.IsAbs(chart.Name) || isOutside(dir) {
			return &ChartError{File: b.DefinitionFile, Chart: chart.Name, Outside: true}
		}
		if chart.Name != "" && !files.has(dir) && !files.has(path.Join(dir, chartFile)) {
			return &ChartError{File: b.DefinitionFile, Chart: chart.Name}
		}
	}
	return nil
}

// checkChartFiles says what is wrong with the charts of a whole bundle.
func (b Bundle) checkChartFiles() error {
	files := tree(b.Files)
	for _, chart := range chartsOf(&b.Definition) {
		dir, found := files.directoryOf(chart)
		if !found && files.isElsewhere(chart) {
			return &ChartError{File: b.DefinitionFile, Chart: cmp.Or(chart.Name, chart.Repo), Fetched: true}
		}
		file, found := files.find(path.Join(dir, chartFile))
		if !found {
			continue // Plain manifests, or a packed chart.
		}
		if _, _, err := fleetyaml.Values(files[file].Content); err != nil {
			return badChart(path.Join(b.Path, dir, chartFile), err)
		}
	}
	return nil
}

// badChart says in which Chart.yaml the problems of err are.
func badChart(file string, err error) error {
	err = inYAML(file, err)
	if found, ok := errors.AsType[*fleetyaml.Error](err); ok {
		for i := range found.Problems {
			found.Problems[i].Kind = fleetyaml.BadChart
		}
	}
	return err
}

// Add returns the bundle with more files, which take the place of those of the
// same name; of two with one name the last counts. It must be whole then.
//
// Errors: *ChartError when what was fetched is no chart, *SizeError, *CountError
// and *fleetyaml.Error.
func (b Bundle) Add(files []File) (Bundle, error) {
	contents := make(map[string][]byte, len(b.Files)+len(files))
	for _, file := range slices.Concat(b.Files, files) {
		if !fs.ValidPath(file.Name) {
			return Bundle{}, fmt.Errorf("%q is not a valid file name in a bundle", file.Name)
		}
		contents[file.Name] = file.Content
	}
	b.Files = make([]File, 0, len(contents))
	for _, name := range slices.Sorted(maps.Keys(contents)) {
		b.Files = append(b.Files, File{Name: name, Content: contents[name]})
	}
	return b.whole()
}

// MayHaveCRDs says whether a chart of the bundle can have files below crds/, which a packed
// chart does not show.
func (b Bundle) MayHaveCRDs() bool {
	return slices.ContainsFunc(b.Files, func(file File) bool {
		return strings.HasPrefix(file.Name, "crds/") || strings.Contains(file.Name, "/crds/") || path.Ext(file.Name) == ".tgz"
	})
}
