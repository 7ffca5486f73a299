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

// fetchedDirectory is the folder of a bundle for charts that are kept elsewhere.
const fetchedDirectory = ".chart"

// Chart has the values of helm.repo, helm.chart and helm.version of a bundle, word for word.
type Chart struct {
	Repo    string `json:"repo,omitempty"`
	Name    string `json:"name,omitempty"`
	Version string `json:"version,omitempty"`
}

// Directory returns the folder of the bundle for a chart that is kept elsewhere, as in Fleet
// (internal/bundlereader/resources.go). Bundles that name the same chart have that chart in the
// same folder.
func (c Chart) Directory() string {
	sum := sha256.Sum256([]byte(c.Name + ":" + c.Repo + ":" + c.Version))
	return path.Join(fetchedDirectory, hex.EncodeToString(sum[:]))
}

// Pin records what a Chart was resolved to, so that the same chart is fetched again.
type Pin struct {
	// Version is exact: a chart version, or a commit for a chart in git; "" for
	// an archive, which has none.
	Version string `json:"version,omitempty"`
	// Reference is the digest that a registry had under that version. If the tag is moved, the
	// content of this digest may still exist.
	Reference string `json:"reference,omitempty"`
	// Digest covers the files of the chart and of its dependencies; without a chart, only those
	// of the dependencies.
	Digest string `json:"digest,omitempty"`
	// Dependencies are the exact versions of the dependencies in Chart.yaml, by the path of the
	// dependency: "redis", or "charts/web/redis" for one of a subchart.
	Dependencies map[string]string `json:"dependencies,omitempty"`
}

// nameCharts copies the chart of the root into each customization with Helm options that leaves
// the chart empty, as Fleet does (internal/bundlereader/read.go).
func nameCharts(def *fleetyaml.Definition) {
	if def.Helm == nil {
		return
	}
	for _, customization := range def.Customizations() {
		if helm := customization.Helm; helm != nil {
			helm.Repo = cmp.Or(helm.Repo, def.Helm.Repo)
			helm.Chart = cmp.Or(helm.Chart, def.Helm.Chart)
			helm.Version = cmp.Or(helm.Version, def.Helm.Version)
		}
	}
}

func chartOf(options *fleetyaml.Helm) Chart {
	if options == nil {
		return Chart{}
	}
	return Chart{Repo: options.Repo, Name: options.Chart, Version: options.Version}
}

// chartsOf returns all charts that a definition names, each once, in their order. The zero Chart
// represents the bundle itself, which may be a chart.
func chartsOf(def *fleetyaml.Definition) []Chart {
	charts := []Chart{chartOf(def.Helm)}
	known := map[Chart]bool{charts[0]: true}
	for _, customization := range def.Customizations() {
		chart := chartOf(customization.Helm)
		if customization.Helm == nil || known[chart] {
			continue
		}
		known[chart] = true
		charts = append(charts, chart)
	}
	return charts
}

// Wanted returns the charts that are kept elsewhere and not among Files yet: charts with a
// repository, and addresses that are no file or folder of the bundle.
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

// isElsewhere reports whether a chart is kept outside the bundle.
func (t tree) isElsewhere(chart Chart) bool {
	return chart.Repo != "" || (chart.IsRemote() && !t.contains(path.Clean(chart.Name)))
}

// ChartDirectory returns the place of the chart that merged options name: its folder, or the
// packed chart itself. found is false for a bundle without a chart. The rules are those of
// Fleet's internal/bundlereader/style.go, and packed charts are supported as well.
func (b Bundle) ChartDirectory(options *fleetyaml.Helm) (dir string, found bool) {
	return tree(b.Files).directoryOf(chartOf(options))
}

// RemoteChart returns the chart that merged options name. found is true if the chart is kept
// outside the bundle.
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

// fetchedChart returns the folder of a chart that is kept elsewhere: its Directory, or the only
// folder in it that is a chart.
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

// checkCharts checks the charts that the definition names, before any chart is fetched.
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

// checkChartFiles checks the charts of a whole bundle.
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

// badChart adds the path of the Chart.yaml to the problems of err.
func badChart(file string, err error) error {
	err = inYAML(file, err)
	if found, ok := errors.AsType[*fleetyaml.Error](err); ok {
		for i := range found.Problems {
			found.Problems[i].Kind = fleetyaml.BadChart
		}
	}
	return err
}

// Add returns the bundle with more files, which replace files of the same name. If two of the new
// files have one name, the last one is used. The resulting bundle must be whole.
//
// Errors: *ChartError when the fetched files are no chart, *SizeError, *CountError and
// *fleetyaml.Error.
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

// MayHaveCRDs reports whether a chart of the bundle can have files below crds/. A packed chart
// counts, because its files are not read.
func (b Bundle) MayHaveCRDs() bool {
	return slices.ContainsFunc(b.Files, func(file File) bool {
		return strings.HasPrefix(file.Name, "crds/") || strings.Contains(file.Name, "/crds/") || path.Ext(file.Name) == ".tgz"
	})
}
