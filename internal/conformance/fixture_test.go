package conformance_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"
	"sigs.k8s.io/yaml"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/bundle"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/chart"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/fleetyaml"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/kustomize"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/render"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/rollout"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/target"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/worker/templates"
)

// settings is the settings.yaml of a fixture: the settings in the configuration, not in the
// repository.
type settings struct {
	RepoName    string               `json:"repoName"`
	Paths       []string             `json:"paths"`
	BundlePaths []bundle.Base        `json:"bundlePaths"`
	GitRepo     bundle.Overlay       `json:"gitrepo"`
	Rules       []fleetyaml.Criteria `json:"rules"`
	Clusters    []target.Cluster     `json:"clusters"`
	Groups      []target.Group       `json:"groups"`
	// Lax makes unknown keys of fleet.yaml warnings.
	Lax bool `json:"lax"`
	// HelmIgnore applies the .helmignore of charts.
	HelmIgnore bool `json:"helmIgnore"`
	// Links are symbolic links and their targets; txtar has none.
	Links map[string]string `json:"links"`
}

// withDefaults adds the defaults: two clusters with labels and one without, and rules that select
// all.
func (s settings) withDefaults() settings {
	if s.RepoName == "" {
		s.RepoName = "shop"
	}
	if s.Rules == nil {
		s.Rules = []fleetyaml.Criteria{{ClusterSelector: &fleetyaml.Selector{}}}
	}
	if s.Clusters == nil {
		s.Clusters = []target.Cluster{
			{Name: "dev", Namespace: "fleet-default", Labels: map[string]string{"env": "dev", "zone": "north"}},
			{Name: "live", Namespace: "fleet-default", Labels: map[string]string{"env": "live", "zone": "south"}},
			{Name: "bare", Namespace: "fleet-default"},
		}
	}
	if s.Groups == nil {
		s.Groups = []target.Group{{
			Name: "paying", Labels: map[string]string{"tier": "gold"},
			Selector: fleetyaml.Selector{MatchLabels: map[string]string{"env": "live"}},
		}}
	}
	return s
}

// made is the result of a fixture.
type made struct {
	settings settings
	dir      string // Of the repository.
	bundles  []bundle.Bundle
	warnings []fleetyaml.Problem
	err      error
}

func makeFixture(t *testing.T, archive *txtar.Archive) *made {
	t.Helper()

	m := &made{dir: t.TempDir()}
	for _, file := range archive.Files {
		name, isInput := strings.CutPrefix(file.Name, "in/")
		switch {
		case isInput:
			name = filepath.Join(m.dir, filepath.FromSlash(name))
			if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o700), os.WriteFile(name, file.Data, 0o600)); err != nil {
				t.Fatal(err)
			}
		case file.Name == "settings.yaml":
			if err := yaml.UnmarshalStrict(file.Data, &m.settings); err != nil {
				t.Fatalf("settings.yaml: %v", err)
			}
		case !strings.HasPrefix(file.Name, "want/"):
			t.Fatalf("%s is in neither in/ nor want/", file.Name)
		}
	}
	m.settings = m.settings.withDefaults()
	for link, to := range m.settings.Links {
		if err := os.Symlink(to, filepath.Join(m.dir, filepath.FromSlash(link))); err != nil {
			t.Fatal(err)
		}
	}
	var reader bundle.Reader
	if m.settings.HelmIgnore {
		reader.IgnoreRules = chart.IgnoreRules
	}
	result, err := reader.Read(os.DirFS(m.dir), bundle.ReadOptions{
		RepoName: m.settings.RepoName, Paths: m.settings.Paths, BundlePaths: m.settings.BundlePaths,
		Strict: !m.settings.Lax, Overlay: m.settings.GitRepo,
	})
	m.bundles, m.warnings, m.err = result.Bundles, result.Warnings, err
	return m
}

// show returns the content of a file below want/. Its name is "error", "names", "warnings",
// "stages" (the order of deployments when all are new), or for one bundle "shop-web/WHAT". WHAT is
// "definition.yaml", "files", "charts", "clusters", or for one cluster "dev.options.yaml",
// "dev.values.yaml", "dev.objects" (their keys) or "dev.manifest.yaml" (their content).
func (m *made) show(t *testing.T, name string) string {
	t.Helper()

	switch name {
	case "error":
		return m.showError()
	case "names":
		return m.showNames()
	case "warnings":
		return m.showWarnings()
	case "stages":
		return m.showStages(t)
	}
	bundleName, what, _ := strings.Cut(name, "/")
	i := slices.IndexFunc(m.bundles, func(b bundle.Bundle) bool { return b.Name == bundleName })
	if i < 0 {
		t.Errorf("there is no bundle %s, only:\n%s%v", bundleName, m.showNames(), m.err)
		return ""
	}
	b := &m.bundles[i]
	switch what {
	case "definition.yaml":
		return inYAML(t, normalOptions(asJSON(t, b.Definition)))
	case "files":
		return m.showFiles(t, b)
	case "charts":
		return showCharts(b)
	case "clusters":
		return m.showClusters(t, b)
	}
	cluster, what, _ := strings.Cut(what, ".")
	return m.showCluster(t, b, cluster, what)
}

// showError returns the class of the error, and its position if it is in a fleet.yaml.
func (m *made) showError() string {
	if m.err == nil {
		return "none\n"
	}
	text := classOf(m.err) + "\n"
	if invalid, ok := errors.AsType[*fleetyaml.Error](m.err); ok {
		for _, problem := range invalid.Problems {
			text += position(problem)
		}
	}
	return text
}

func position(p fleetyaml.Problem) string {
	if p.Line == 0 {
		return p.File + "\n"
	}
	return fmt.Sprintf("%s:%d\n", p.File, p.Line)
}

func (m *made) showWarnings() string {
	var text strings.Builder
	for _, warning := range m.warnings {
		text.WriteString(position(warning))
	}
	return text.String()
}

func (m *made) showStages(t *testing.T) string {
	t.Helper()

	bundles := make([]*bundle.Bundle, len(m.bundles))
	for i := range m.bundles {
		bundles[i] = &m.bundles[i]
	}
	result := m.deployments(t, bundles...)
	steps := make([]rollout.Step, len(result.Deployments))
	for i, d := range result.Deployments {
		steps[i] = rollout.Step{Deployment: d, Change: true}
	}
	return rollout.Simulate(rollout.NewOrder(steps)).Text + "\n"
}

// showNames returns lines "FOLDER NAME".
func (m *made) showNames() string {
	var text strings.Builder
	for _, b := range m.bundles {
		fmt.Fprintf(&text, "%s %s\n", b.Path, b.Name)
	}
	return text.String()
}

// showFiles returns names; the content of the files must be the content in the repository.
func (m *made) showFiles(t *testing.T, b *bundle.Bundle) string {
	t.Helper()

	var text strings.Builder
	for _, file := range b.Files {
		text.WriteString(file.Name + "\n")
		content, err := os.ReadFile(filepath.Join(m.dir, filepath.FromSlash(b.Path), filepath.FromSlash(file.Name)))
		if err != nil || !bytes.Equal(content, file.Content) {
			t.Errorf("%s of bundle %s is not what it is in the repository: %v", file.Name, b.Name, err)
		}
	}
	return text.String()
}

// showCharts returns the charts to be fetched, lines "REPOSITORY CHART VERSION FOLDER", and the
// folders with charts that lack a dependency.
func showCharts(b *bundle.Bundle) string {
	var text strings.Builder
	for _, chart := range b.Wanted() {
		fmt.Fprintf(&text, "%q %q %q %s\n", chart.Repo, chart.Name, chart.Version, chart.Directory())
	}
	for _, dir := range b.Unmet() {
		fmt.Fprintf(&text, "dependencies of %s\n", dir)
	}
	return text.String()
}

func (m *made) deployments(t *testing.T, bundles ...*bundle.Bundle) target.Result {
	t.Helper()

	result, err := target.Deployments(t.Context(), target.Input{
		Bundles: bundles, Rules: m.settings.Rules, Clusters: m.settings.Clusters, Groups: m.settings.Groups, Evaluator: templates.InProcess{},
	})
	if err != nil {
		t.Fatal(err)
	}
	return result
}

// showClusters returns what each cluster gets.
func (m *made) showClusters(t *testing.T, b *bundle.Bundle) string {
	t.Helper()

	gets := make(map[string]string)
	result := m.deployments(t, b)
	for _, d := range result.Deployments {
		gets[d.Cluster] = fmt.Sprintf("release %s in namespace %s", d.Release, d.Namespace)
		if d.Paused {
			gets[d.Cluster] += ", paused"
		}
	}
	for _, failure := range result.Failures {
		gets[failure.Cluster] = classOf(failure.Err)
	}
	var text strings.Builder
	for _, cluster := range m.settings.Clusters {
		what, in := gets[cluster.Name]
		if !in {
			what = "nothing"
		}
		fmt.Fprintf(&text, "%s: %s\n", cluster.Name, what)
	}
	return text.String()
}

// showCluster returns what one cluster gets of a bundle.
func (m *made) showCluster(t *testing.T, b *bundle.Bundle, cluster, what string) string {
	t.Helper()

	deployments := m.deployments(t, b).Deployments
	i := slices.IndexFunc(deployments, func(d target.Deployment) bool { return d.Cluster == cluster })
	if i < 0 {
		t.Errorf("cluster %q does not get bundle %s", cluster, b.Name)
		return ""
	}
	d := deployments[i]
	switch what {
	case "options.yaml":
		return inYAML(t, normalOptions(asJSON(t, d.Options)))
	case "values.yaml":
		if d.Options.Helm == nil {
			return inYAML(t, nil)
		}
		return inYAML(t, d.Options.Helm.Values)
	}
	charts := &render.Charts{Sandbox: &templates.Renderer{Kustomize: kustomize.Build}}
	manifest, hooks, err := charts.Template(t.Context(), d, kubeVersion)
	switch {
	case err != nil:
		return classOf(err) + "\n"
	case what == "objects":
		return showObjects(t, "", manifest) + showObjects(t, "hook ", hooks)
	case what == "manifest.yaml":
		return showManifest(t, append(parse(t, manifest), parse(t, hooks)...))
	}
	t.Errorf("%s.%s is nothing that can be wanted", cluster, what)
	return ""
}

func showObjects(t *testing.T, prefix, manifest string) string {
	t.Helper()

	var text strings.Builder
	for _, key := range keysOf(t, manifest) {
		text.WriteString(prefix + key + "\n")
	}
	return text.String()
}

// showManifest returns objects in the order of their keys.
func showManifest(t *testing.T, objects []map[string]any) string {
	t.Helper()

	objects = flatten(objects)
	documents := make([]string, len(objects))
	slices.SortStableFunc(objects, func(a, b map[string]any) int { return strings.Compare(key(a), key(b)) })
	for i, object := range objects {
		clean(object)
		documents[i] = inYAML(t, object)
	}
	return strings.Join(documents, "---\n")
}

func inYAML(t *testing.T, value any) string {
	t.Helper()

	text, err := yaml.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
