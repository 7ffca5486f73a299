package helm

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"helm.sh/helm/v3/pkg/action"
	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chartutil"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/discovery"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/target"
)

// ability is what a cluster answered when it was asked for its capabilities.
type ability struct {
	capabilities *chartutil.Capabilities
	silent       []string // API versions that did not say which kinds they have
}

// discovered is one answer of discovery.
type discovered struct {
	discovery.ServerResourcesInterface

	groups    []*metav1.APIGroup
	resources []*metav1.APIResourceList
	err       error
}

func (d discovered) ServerGroupsAndResources() ([]*metav1.APIGroup, []*metav1.APIResourceList, error) {
	return d.groups, d.resources, d.err
}

// ability asks the cluster once.
func (c *Client) ability() (*ability, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.known != nil {
		return c.known, nil
	}
	client, err := c.getter.ToDiscoveryClient()
	if err != nil {
		return nil, fmt.Errorf("making a discovery client: %w", err)
	}
	version, err := client.ServerVersion()
	if err != nil {
		return nil, fmt.Errorf("reading the version of the API server: %w", err)
	}
	found := discovered{ServerResourcesInterface: client}
	found.groups, found.resources, found.err = client.ServerGroupsAndResources()
	apis, err := action.GetVersionSet(found)
	if err != nil {
		return nil, fmt.Errorf("reading the API groups of the cluster: %w", err)
	}
	slices.Sort(apis) // Charts can show them, and Helm gives them in no order.
	known := &ability{capabilities: &chartutil.Capabilities{
		APIVersions: apis,
		KubeVersion: chartutil.KubeVersion{Version: version.GitVersion, Major: version.Major, Minor: version.Minor},
		HelmVersion: chartutil.DefaultCapabilities.HelmVersion,
	}}
	failed, _ := discovery.GroupDiscoveryFailedErrorGroups(found.err)
	for group := range failed {
		known.silent = append(known.silent, group.String())
	}
	slices.Sort(known.silent)
	c.known = known
	return known, nil
}

// Capabilities are what charts see as .Capabilities on this cluster.
func (c *Client) Capabilities() (target.Capabilities, error) {
	known, err := c.ability()
	if err != nil {
		return target.Capabilities{}, err
	}
	version := known.capabilities.KubeVersion
	return target.Capabilities{
		Version: version.Version, Major: version.Major, Minor: version.Minor,
		APIs: slices.Clone(known.capabilities.APIVersions), Silent: known.silent,
	}, nil
}

// capabilitiesOf is what a chart is rendered with.
func capabilitiesOf(c target.Capabilities) *chartutil.Capabilities {
	return &chartutil.Capabilities{
		APIVersions: slices.Clone(c.APIs),
		KubeVersion: chartutil.KubeVersion{Version: c.Version, Major: c.Major, Minor: c.Minor},
		HelmVersion: chartutil.DefaultCapabilities.HelmVersion,
	}
}

// AsksCluster says whether a deployment can depend on what its cluster can do: its
// chart, or a value that it could run as a template, has the word in it, or it wants
// some version of Kubernetes. It is no for most that do not, and may be yes for one
// that does not either.
func (c *Charts) AsksCluster(d target.Deployment) (bool, error) {
	loaded, made, err := c.load(d)
	if err != nil {
		return false, err
	}
	key := chartKey{content: d.Bundle.ContentOf(d.Options.Helm), style: made}
	kept, ok := c.asking.Load(key)
	if !ok {
		kept, _ = c.asking.LoadOrStore(key, mentions(loaded))
	}
	return kept == true || valueMentions(helmOptions(d).Values), nil
}

func mentions(c *chart.Chart) bool {
	if c.Metadata.KubeVersion != "" || valueMentions(c.Values) {
		return true
	}
	for _, files := range [][]*chart.File{c.Templates, c.Files} {
		for _, file := range files {
			if bytes.Contains(file.Data, []byte(capabilitiesField)) {
				return true
			}
		}
	}
	return slices.ContainsFunc(c.Dependencies(), mentions)
}

func valueMentions(value any) bool {
	switch value := value.(type) {
	case string:
		return strings.Contains(value, capabilitiesField)
	case map[string]any:
		for _, item := range value {
			if valueMentions(item) {
				return true
			}
		}
	case []any:
		return slices.ContainsFunc(value, valueMentions)
	}
	return false
}

// watchedCapabilities tell when a template reads them by another way than their name,
// such as a loop over everything that it is given. What it is given back is of the
// types that Helm gives.
type watchedCapabilities struct {
	of   *chartutil.Capabilities
	note func()
}

// KubeVersion is the version of Kubernetes.
func (w watchedCapabilities) KubeVersion() *chartutil.KubeVersion {
	w.note()
	return &w.of.KubeVersion
}

// APIVersions are the API versions of the cluster.
func (w watchedCapabilities) APIVersions() chartutil.VersionSet {
	w.note()
	return w.of.APIVersions
}

// HelmVersion is that of the SDK in this program, and no matter of the cluster.
func (w watchedCapabilities) HelmVersion() any { return w.of.HelmVersion }

// MarshalJSON is what toYaml and toJson call.
func (w watchedCapabilities) MarshalJSON() ([]byte, error) {
	w.note()
	return json.Marshal(w.of)
}

// String is what printing calls.
func (w watchedCapabilities) String() string {
	w.note()
	return fmt.Sprint(*w.of)
}
