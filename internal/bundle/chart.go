package bundle

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"path"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/fleetyaml"
)

// chartFile makes a folder a chart.
const chartFile = "Chart.yaml"

// fetchedDirectory holds the charts that are kept elsewhere.
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
	// Digest covers the files of the chart with those of its dependencies.
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

// charts are all that the definition names, each once, in their order. The zero
// Chart stands for the one that the bundle itself may be.
func (b Bundle) charts() []Chart {
	charts := []Chart{chartOf(b.Definition.Helm)}
	for _, customization := range slices.Concat(b.Definition.Targets, b.Definition.TargetCustomizations) {
		if customization.Helm == nil {
			continue
		}
		if chart := chartOf(customization.Helm); !slices.Contains(charts, chart) {
			charts = append(charts, chart)
		}
	}
	return charts
}

// Wanted are the charts that are kept elsewhere and not among Files yet: those
// with a repository, and those that are no file or folder of the bundle.
func (b Bundle) Wanted() []Chart {
	var wanted []Chart
	for _, chart := range b.charts() {
		if b.isElsewhere(chart) && !b.holds(chart.Directory()) {
			wanted = append(wanted, chart)
		}
	}
	return wanted
}

func (b Bundle) isElsewhere(chart Chart) bool {
	return chart.Repo != "" || (chart.IsRemote() && !b.holds(path.Clean(chart.Name)))
}

// ChartDirectory answers where the chart lies that merged options lead to: its
// folder, or the packed chart itself. found is false for a bundle without a chart.
// It knows the rules of Fleet's internal/bundlereader/style.go, and packed charts
// besides.
func (b Bundle) ChartDirectory(options *fleetyaml.Helm) (dir string, found bool) {
	chart := chartOf(options)
	if b.isElsewhere(chart) {
		dir = chart.Directory()
		return dir, b.has(path.Join(dir, chartFile))
	}
	dir = path.Clean(chart.Name) // "" becomes ".".
	return dir, b.has(dir) || b.has(path.Join(dir, chartFile))
}

// checkCharts says what is wrong with the charts that the definition names,
// before any is fetched.
func (b Bundle) checkCharts() error {
	for _, chart := range b.charts() {
		if b.isElsewhere(chart) {
			if _, err := chart.Location(); err != nil {
				return inFileError(b.DefinitionFile, err)
			}
			continue
		}
		dir := path.Clean(chart.Name)
		if path.IsAbs(chart.Name) || isOutside(dir) {
			return &ChartError{File: b.DefinitionFile, Chart: chart.Name, Outside: true}
		}
		if chart.Name != "" && !b.has(dir) && !b.has(path.Join(dir, chartFile)) {
			return &ChartError{File: b.DefinitionFile, Chart: chart.Name}
		}
	}
	return nil
}

// checkChartFiles says what is wrong with the charts of a whole bundle.
func (b Bundle) checkChartFiles() error {
	for _, chart := range b.charts() {
		dir := path.Clean(chart.Name)
		if b.isElsewhere(chart) {
			dir = chart.Directory()
		}
		file, found := b.find(path.Join(dir, chartFile))
		if !found && b.isElsewhere(chart) {
			return &ChartError{File: b.DefinitionFile, Chart: cmp.Or(chart.Name, chart.Repo), Fetched: true}
		}
		if !found {
			continue // Plain manifests, or a packed chart.
		}
		var content map[string]any
		if err := yaml.Unmarshal(b.Files[file].Content, &content); err != nil {
			return problem(path.Join(b.Path, dir, chartFile), fleetyaml.BadChart, "%v", err)
		}
	}
	return nil
}

// Unmet are the folders of charts of the bundle that depend on charts which are
// not there, sorted. Only charts that are deployed count; Fleet fetches for all.
func (b Bundle) Unmet() []string {
	if b.Definition.Helm != nil && b.Definition.Helm.DisableDependencyUpdate {
		return nil
	}
	var unmet []string
	for _, chart := range b.charts() {
		if b.isElsewhere(chart) {
			continue // Fetched with its dependencies.
		}
		root := path.Clean(chart.Name)
		for _, file := range b.Files {
			dir, name := path.Split(file.Name)
			dir = path.Clean(dir)
			if name == chartFile && isPartOf(dir, root) && !b.hasDependencies(dir) {
				unmet = append(unmet, dir)
			}
		}
	}
	slices.Sort(unmet)
	return slices.Compact(unmet)
}

// isPartOf says whether dir is the chart root or one of its subcharts.
func isPartOf(dir, root string) bool {
	if dir == root {
		return true
	}
	if root != "." {
		var ok bool
		if dir, ok = strings.CutPrefix(dir, root+"/"); !ok {
			return false
		}
	}
	return strings.HasPrefix(dir, "charts/")
}

// Dependency is what a chart asks for in its Chart.yaml.
type Dependency struct {
	Name       string `json:"name"`
	Version    string `json:"version"`
	Repository string `json:"repository"`
	Alias      string `json:"alias"`
}

// hasDependencies says whether all that a chart depends on lies in its charts/. A
// chart that cannot be read is reported when it is rendered.
func (b Bundle) hasDependencies(dir string) bool {
	for _, file := range []string{chartFile, "requirements.yaml"} {
		i, found := b.find(path.Join(dir, file))
		if !found {
			continue
		}
		var content struct {
			Dependencies []Dependency `json:"dependencies"`
		}
		if yaml.Unmarshal(b.Files[i].Content, &content) != nil {
			continue
		}
		for _, dependency := range content.Dependencies {
			if !b.hasDependency(dir, dependency) {
				return false
			}
		}
	}
	return true
}

func (b Bundle) hasDependency(dir string, dependency Dependency) bool {
	at := path.Join(dir, "charts", dependency.Name)
	return b.has(path.Join(at, chartFile)) || slices.ContainsFunc(b.Files, func(file File) bool {
		return strings.HasPrefix(file.Name, at+"-") && strings.HasSuffix(file.Name, ".tgz") && path.Dir(file.Name) == path.Dir(at)
	})
}

// Add answers the bundle with more files, which take the place of those of the
// same name. It must be whole then.
//
// Errors: *ChartError when what was fetched is no chart.
func (b Bundle) Add(files []File) (Bundle, error) {
	added := make(map[string]bool, len(files))
	for _, file := range files {
		added[file.Name] = true
	}
	kept := slices.DeleteFunc(slices.Clone(b.Files), func(file File) bool { return added[file.Name] })
	b.Files = slices.Concat(kept, files)
	slices.SortFunc(b.Files, func(x, y File) int { return strings.Compare(x.Name, y.Name) })
	return b.whole()
}

// holds says whether there is a file or folder of this name.
func (b Bundle) holds(name string) bool {
	prefix := name + "/"
	i, _ := b.find(prefix)
	return b.has(name) || (i < len(b.Files) && strings.HasPrefix(b.Files[i].Name, prefix))
}

func (b Bundle) has(name string) bool {
	_, found := b.find(name)
	return found
}

func (b Bundle) find(name string) (int, bool) {
	return slices.BinarySearchFunc(b.Files, name, func(file File, name string) int { return strings.Compare(file.Name, name) })
}
