package policy

import (
	"path"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/bundle"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/diff"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/fleetyaml"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/release"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/target"
)

// Files reads the files of a deployment.
type Files interface {
	// CRDDocuments returns the objects in files below crds/, which are in no rendering.
	CRDDocuments(d target.Deployment, rendering release.Rendering) ([]diff.Document, error)
	// Locate returns the file of an object and its line, 0 if the line is not known.
	Locate(d target.Deployment, place, kind, name string) (file string, line int)
}

// Checker checks the deployments of one target.
type Checker struct {
	Set *Set
	// Repositories are the URLs of the bundles' repositories, by the names of the bundles.
	Repositories map[string]string
	Files        Files
	// HasEngine is true if a Fleet delivers. It decides about new namespaces by its own policies.
	HasEngine bool
}

// Defaults sets options of a deployment that are not set and that policies have a default for: the
// service account, and whether the namespace is created.
func (c Checker) Defaults(cluster string, b *bundle.Bundle, options fleetyaml.Options) fleetyaml.Options {
	d := c.factsOf(target.Deployment{Cluster: cluster, Bundle: b, Options: options}, "")
	if options.ServiceAccount == "" {
		options.ServiceAccount = c.Set.ServiceAccount(d)
	}
	if options.CreateNamespace == nil && !c.HasEngine && c.Set.RefusesNewNamespaces(d) {
		options.CreateNamespace = new(bool)
	}
	return options
}

// Planned checks a deployment and what a plan has of its objects. The rest is checked before the
// objects are written.
func (c Checker) Planned(d target.Deployment, rendering release.Rendering) ([]Violation, error) {
	facts := c.factsOf(d, rendering.Version)
	var content Content
	if c.Set.NeedsObjects(facts) {
		crds, err := c.crds(d, rendering)
		if err != nil {
			return nil, err
		}
		content = contentOf(rendering, crds)
	}
	return c.located(d, c.Set.Check(facts, content)), nil
}

// crds returns the objects below crds/ that a deployment can create.
func (c Checker) crds(d target.Deployment, rendering release.Rendering) ([]diff.Document, error) {
	if d.HelmOptions().CRDs == fleetyaml.CRDsSkip {
		return nil, nil
	}
	return c.Files.CRDDocuments(d, rendering)
}

// contentOf returns the objects of a rendering, without those that can differ in the apply.
func contentOf(rendering release.Rendering, crds []diff.Document) Content {
	content := Content{Documents: crds, Varying: rendering.Varying}
	if rendering.NamesVary {
		return content
	}
	for _, document := range rendering.Documents {
		if !document.Hook || !rendering.RenderEach {
			content.Documents = append(content.Documents, document)
		}
	}
	return content
}

// Written checks the objects that are about to be written.
func (c Checker) Written(d target.Deployment, documents []diff.Document) []Violation {
	return c.located(d, c.Set.CheckObjects(c.factsOf(d, ""), Content{Documents: documents}))
}

// NeedsObjects reports whether the objects of a deployment have to be checked.
func (c Checker) NeedsObjects(d target.Deployment) bool { return c.Set.NeedsObjects(c.factsOf(d, "")) }

// located adds lines. Only violations need them.
func (c Checker) located(d target.Deployment, violations []Violation) []Violation {
	const most = 50 // Reports show no more.
	for i := range violations {
		if v := &violations[i]; v.Object != "" && i < most {
			v.File, v.Line = c.Files.Locate(d, v.File, v.kind, v.name)
		}
	}
	return violations
}

func (c Checker) factsOf(d target.Deployment, version string) Deployment {
	options := d.Options
	return Deployment{
		Cluster: d.Cluster, Bundle: d.Bundle.Name, Labels: d.Bundle.Definition.Labels, Repository: c.Repositories[d.Bundle.Name],
		Charts: chartsOf(d, version), Namespace: d.Namespace, ServiceAccount: options.ServiceAccount,
		CreateNamespace: options.CreatesNamespace(), IsConfined: options.Namespace != "",
	}
}

// chartsOf returns the charts of a deployment that are not in its bundle, and the dependencies of
// charts in its bundle.
func chartsOf(d target.Deployment, version string) []ChartSource {
	chart, isRemote := d.Bundle.RemoteChart(d.Options.Helm)
	if isRemote {
		return []ChartSource{{Address: addressOf(chart), Repo: chart.Repo, Name: chart.Name, Version: version}}
	}
	dir, isChart := d.Bundle.ChartDirectory(d.Options.Helm)
	if !isChart {
		return nil
	}
	var found []ChartSource
	for _, file := range d.Bundle.Files {
		base := path.Base(file.Name)
		if (base == "Chart.yaml" || base == "requirements.yaml") && (dir == "." || strings.HasPrefix(file.Name, dir+"/")) {
			found = append(found, dependenciesIn(file.Content)...)
		}
	}
	return found
}

// addressOf returns the URL of a chart with its name. If the URL cannot be read, it returns the
// text of the configuration.
func addressOf(chart bundle.Chart) string {
	at, err := chart.Location()
	if err != nil {
		return strings.TrimPrefix(chart.Repo+"/"+chart.Name, "/")
	}
	if at.Name != "" {
		return at.URL + "/" + at.Name
	}
	return at.URL
}

// dependenciesIn returns the dependencies of a chart that have an address. Errors in the file are
// reported when the chart is loaded.
func dependenciesIn(file []byte) []ChartSource {
	var chart struct {
		Dependencies []struct {
			Name       string `json:"name"`
			Repository string `json:"repository"`
		} `json:"dependencies"`
	}
	if yaml.Unmarshal(file, &chart) != nil {
		return nil
	}
	var found []ChartSource
	for _, dependency := range chart.Dependencies {
		if strings.Contains(dependency.Repository, "://") && !strings.HasPrefix(dependency.Repository, "file://") {
			found = append(found, ChartSource{Address: strings.TrimSuffix(dependency.Repository, "/") + "/" + dependency.Name, IsDependency: true})
		}
	}
	return found
}
