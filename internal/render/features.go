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

// capabilitiesWord is in every template that reads the capabilities of its cluster.
const capabilitiesWord = "Capabilities"

// chartFeatures are words in a chart. They are found in no time, and say what a chart could
// do and not what it does.
type chartFeatures struct {
	capabilities bool
	kinds        bool
}

// AsksCluster says whether a deployment could depend on what its cluster can do: its
// chart, or a value that it could run as a template, has the word in it, or it wants
// some version of Kubernetes.
func (c *Charts) AsksCluster(d target.Deployment) (bool, error) {
	found, err := c.featuresOf(d)
	return found.capabilities || valueFeatures(d.Bundle.PlainValues(d.HelmOptions().Values)), err
}

// BringsKinds says whether a deployment could change what its cluster can do.
func (c *Charts) BringsKinds(d target.Deployment) (bool, error) {
	found, err := c.featuresOf(d)
	return found.kinds, err
}

func (c *Charts) featuresOf(d target.Deployment) (chartFeatures, error) {
	made, err := styleOf(d)
	if err != nil {
		return chartFeatures{}, err
	}
	d.WriteOnly = nil // What is found is kept for all deployments of the chart.
	key := chartKey{content: d.Bundle.ContentOf(d.Options.Helm), style: made, overlays: strings.Join(overlays(d), "\n")}
	if kept, ok := c.features.Load(key); ok {
		if found, ok := kept.(chartFeatures); ok {
			return found, nil
		}
	}
	loaded, _, err := c.loader.Load(d)
	if err != nil {
		return chartFeatures{}, err
	}
	var found chartFeatures
	found.read(loaded)
	if made.Kustomize {
		found.readFiles(d.Bundle.PlainFiles())
	}
	c.features.Store(key, found)
	return found, nil
}

func (m *chartFeatures) read(c *chart.Chart) {
	m.capabilities = m.capabilities || c.Metadata.KubeVersion != "" || valueFeatures(c.Values)
	for _, files := range [][]*chart.File{c.Templates, c.Files} {
		for _, file := range files {
			m.capabilities = m.capabilities || bytes.Contains(file.Data, []byte(capabilitiesWord))
			m.kinds = m.kinds || bytes.Contains(file.Data, []byte(manifest.CRDKind)) || bytes.Contains(file.Data, []byte(manifest.APIServiceKind))
		}
	}
	m.kinds = m.kinds || len(c.CRDObjects()) > 0
	for _, child := range c.Dependencies() {
		m.read(child)
	}
}

// readFiles looks at what a kustomization could have among its resources.
func (m *chartFeatures) readFiles(files []bundle.File) {
	for _, file := range files {
		m.kinds = m.kinds || bytes.Contains(file.Content, []byte(manifest.CRDKind)) || bytes.Contains(file.Content, []byte(manifest.APIServiceKind))
	}
}

func valueFeatures(value any) bool {
	switch value := value.(type) {
	case string:
		return strings.Contains(value, capabilitiesWord)
	case map[string]any:
		for _, item := range value {
			if valueFeatures(item) {
				return true
			}
		}
	case []any:
		return slices.ContainsFunc(value, valueFeatures)
	}
	return false
}
