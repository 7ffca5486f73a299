package render

import (
	"bytes"
	"slices"
	"strings"

	"helm.sh/helm/v3/pkg/chart"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/bundle"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/manifest"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/target"
)

const (
	// capabilitiesWord is in every template that reads the capabilities of its cluster.
	capabilitiesWord = "Capabilities"
	// lookupWord is in every template that reads objects of its cluster.
	lookupWord = "lookup"
)

// chartFeatures are words found in a chart. The search is fast. It finds what a chart could do,
// which is not always what it does.
type chartFeatures struct {
	capabilities bool
	kinds        bool
	lookup       bool
}

// DependsOnCluster reports whether a deployment could depend on the capabilities of its cluster: its
// chart, or a value that the chart could run as a template, contains the word Capabilities, or the
// chart requires some version of Kubernetes.
func (c *Charts) DependsOnCluster(d target.Deployment) (bool, error) {
	found, err := c.featuresOf(d)
	return found.capabilities || mentions(d.Bundle.PlainValues(d.HelmOptions().Values), capabilitiesWord), err
}

// UsesLookup reports in the same way whether a deployment could look up objects of its cluster.
func (c *Charts) UsesLookup(d target.Deployment) (bool, error) {
	found, err := c.featuresOf(d)
	return found.lookup || mentions(d.Bundle.PlainValues(d.HelmOptions().Values), lookupWord), err
}

// BringsKinds reports whether a deployment could add kinds to its cluster.
func (c *Charts) BringsKinds(d target.Deployment) (bool, error) {
	found, err := c.featuresOf(d)
	return found.kinds, err
}

func (c *Charts) featuresOf(d target.Deployment) (chartFeatures, error) {
	made, err := styleOf(d)
	if err != nil {
		return chartFeatures{}, err
	}
	d.WriteOnly = nil // The result is cached for all deployments of the chart.
	key := chartKey{content: d.Bundle.ContentOf(d.Options.Helm), style: made, overlays: strings.Join(overlays(d), "\n")}
	if kept, ok := c.features.Load(key); ok {
		if found, ok := kept.(chartFeatures); ok {
			return found, nil
		}
	}
	loaded, _, err := c.loader.Load(d, nil)
	if err != nil {
		return chartFeatures{}, err
	}
	var found chartFeatures
	found.read(loaded)
	if made.Kustomize {
		found.readFiles(d.Bundle.PlainFiles())
	}
	if names := overlays(d); len(names) > 0 && !made.Helm && !made.Kustomize {
		found.readOverlaid(d.Bundle.PlainFiles(), names)
	}
	c.features.Store(key, found)
	return found, nil
}

func (f *chartFeatures) read(c *chart.Chart) {
	f.capabilities = f.capabilities || c.Metadata.KubeVersion != "" || mentions(c.Values, capabilitiesWord)
	f.lookup = f.lookup || mentions(c.Values, lookupWord)
	for _, files := range [][]*chart.File{c.Templates, c.Files} {
		for _, file := range files {
			f.readText(file.Data)
		}
	}
	f.kinds = f.kinds || len(c.CRDObjects()) > 0
	for _, child := range c.Dependencies() {
		f.read(child)
	}
}

func (f *chartFeatures) readText(text []byte) {
	f.capabilities = f.capabilities || bytes.Contains(text, []byte(capabilitiesWord))
	f.lookup = f.lookup || bytes.Contains(text, []byte(lookupWord))
	f.kinds = f.kinds || bytes.Contains(text, []byte(manifest.CRDKind)) || bytes.Contains(text, []byte(manifest.APIServiceKind))
}

// readOverlaid reads manifests and their overlays as they are, because patches run in workers only.
func (f *chartFeatures) readOverlaid(files []bundle.File, names []string) {
	for _, file := range files {
		name := file.Name
		if overlay, ok := strings.CutPrefix(name, OverlaysDir); ok {
			at := slices.IndexFunc(names, func(name string) bool { return strings.HasPrefix(overlay, name+"/") })
			if at < 0 {
				continue
			}
			name = strings.TrimPrefix(overlay, names[at]+"/")
		}
		if isManifest(name, files) {
			f.readText(file.Content)
		}
	}
}

// readFiles reads the files that a kustomization could have among its resources.
func (f *chartFeatures) readFiles(files []bundle.File) {
	for _, file := range files {
		f.kinds = f.kinds || bytes.Contains(file.Content, []byte(manifest.CRDKind)) ||
			bytes.Contains(file.Content, []byte(manifest.APIServiceKind))
	}
}

// mentions reports whether a text in values contains a word.
func mentions(value any, word string) bool {
	switch value := value.(type) {
	case string:
		return strings.Contains(value, word)
	case map[string]any:
		for _, item := range value {
			if mentions(item, word) {
				return true
			}
		}
	case []any:
		return slices.ContainsFunc(value, func(item any) bool { return mentions(item, word) })
	}
	return false
}
