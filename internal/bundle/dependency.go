package bundle

import (
	"cmp"
	"path"
	"regexp"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/fleetyaml"
)

// Unmet returns the sorted folders of charts in the bundle with missing dependencies. Only charts
// that are deployed count; Fleet fetches the dependencies of all charts.
func (b Bundle) Unmet() []string {
	if b.Definition.Helm != nil && b.Definition.Helm.DisableDependencyUpdate {
		return nil
	}
	files := tree(b.Files)
	roots := make(map[string]bool)
	for _, chart := range chartsOf(&b.Definition) {
		if !files.isElsewhere(chart) { // Charts from elsewhere are fetched with their dependencies.
			roots[path.Clean(chart.Name)] = true
		}
	}
	var unmet []string
	for _, file := range files {
		dir, name := path.Split(file.Name)
		if dir = path.Clean(dir); name == chartFile && isPartOf(dir, roots) && !files.hasDependencies(dir) {
			unmet = append(unmet, dir)
		}
	}
	slices.Sort(unmet)
	return unmet
}

// isPartOf reports whether dir is one of the charts at roots or one of their subcharts.
func isPartOf(dir string, roots map[string]bool) bool {
	for !roots[dir] {
		above := path.Dir(dir) // Of "a/charts/b", which is a subchart of "a".
		if path.Base(above) != "charts" {
			return false
		}
		dir = path.Dir(above)
	}
	return true
}

// hasDependencies reports whether all dependencies of a chart are in its charts/. A chart that
// cannot be read is reported when the bundle is whole.
func (t tree) hasDependencies(dir string) bool {
	var wanted []string
	for _, file := range []string{chartFile, "requirements.yaml"} {
		if i, found := t.find(path.Join(dir, file)); found {
			wanted = append(wanted, dependenciesOf(t[i].Content)...)
		}
	}
	if len(wanted) == 0 {
		return true
	}
	folders, archives := t.subcharts(dir)
	for _, name := range wanted {
		isArchived := func(file string) bool {
			version, ok := strings.CutPrefix(file, name+"-")
			return ok && isVersion.MatchString(version)
		}
		if !folders[name] && !slices.ContainsFunc(archives, isArchived) {
			return false
		}
	}
	return true
}

// isVersion distinguishes redis-1.2.3.tgz from redis-cluster-1.2.3.tgz, after "redis-".
var isVersion = regexp.MustCompile(`^v?[0-9]`)

// dependenciesOf returns the names of the dependencies in a Chart.yaml.
func dependenciesOf(chart []byte) []string {
	if _, _, err := fleetyaml.Values(chart); err != nil {
		return nil
	}
	var content struct {
		Dependencies []struct {
			Name string `json:"name"`
		} `json:"dependencies"`
	}
	if yaml.Unmarshal(chart, &content) != nil {
		return nil
	}
	names := make([]string, len(content.Dependencies))
	for i, dependency := range content.Dependencies {
		names[i] = dependency.Name
	}
	return names
}

// subcharts returns the names of unpacked charts in the charts/ of a chart, and the files with
// packed ones.
func (t tree) subcharts(dir string) (folders map[string]bool, archives []string) {
	root := path.Join(dir, "charts") + "/"
	folders = make(map[string]bool)
	first, _ := t.find(root)
	for _, file := range t[first:] {
		relative, ok := strings.CutPrefix(file.Name, root)
		if !ok {
			break
		}
		folder, name, deeper := strings.Cut(relative, "/")
		switch {
		case !deeper && path.Ext(folder) == ".tgz":
			archives = append(archives, folder)
		case name == chartFile:
			folders[cmp.Or(chartName(file.Content), folder)] = true
		}
	}
	return folders, archives
}

func chartName(chart []byte) string {
	values, _, err := fleetyaml.Values(chart)
	name, ok := values["name"].(string)
	if err != nil || !ok {
		return ""
	}
	return name
}
