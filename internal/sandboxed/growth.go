package sandboxed

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"

	"helm.sh/helm/v3/pkg/chartutil"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/release"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/target"
)

// maxQueried is the maximum number of queried and missing API versions of a chart. If there are more,
// the objects are unknown.
const maxQueried = 32

// maxQueryRounds limits how often a chart is traced to find the API versions that it queries: the
// result of one query can decide which queries follow.
const maxQueryRounds = 5

// planGrowing renders a deployment whose cluster can serve more API versions when the deployment is
// written. It is rendered with the API versions that the cluster serves. It is rendered again with
// all API versions that its templates query and that can still be added. Objects that differ are
// not known.
func (r *Renderer) planGrowing(d target.Deployment, find varyingFinder) (release.Rendering, error) {
	d = withCapabilities(d, nil)
	now, err := r.plan(d, find)
	missing, ok := analysis{renderer: r, d: d}.missingAPIs()
	switch {
	case !ok && err == nil && !now.NamesVary:
		return withOpenNames(now, "its templates read which API versions the cluster serves"), nil
	case len(missing) == 0:
		return now, err
	}
	cause := "its templates ask for " + strings.Join(missing, ", ") + ", which the cluster does not serve yet"
	later, laterErr := r.plan(withCapabilities(d, missing), find)
	switch {
	case err != nil && laterErr != nil:
		return now, err
	case err != nil || laterErr != nil:
		return r.described(d, reason{cause: cause, dependsOnCluster: true})
	}
	return knownInBoth(now, later, cause), nil
}

// withCapabilities returns a deployment on a cluster that serves more API versions, and to which no
// others are added later.
func withCapabilities(d target.Deployment, more []string) target.Deployment {
	capabilities := d.Capabilities.With(more)
	capabilities.MayGrow = false
	d.Capabilities = &capabilities
	return d
}

// knownInBoth returns what two renderings of a deployment have in common. One of them is the
// rendering that an apply makes.
func knownInBoth(now, later release.Rendering, cause string) release.Rendering {
	hashes, others := now.Hashes(), later.Hashes()
	sameNames := maps.EqualFunc(hashes, others, func(string, string) bool { return true })
	switch {
	case now.NamesVary && later.NamesVary:
		return now
	case now.NamesVary, later.NamesVary, !sameNames, !slices.Equal(now.CRDs, later.CRDs):
		return withOpenNames(now, cause)
	}
	varying := maps.Clone(now.Varying)
	for key, hash := range hashes {
		if hash == others[key] && !later.Varying[key] || varying[key] {
			continue
		}
		if varying == nil {
			varying = map[string]bool{}
		}
		varying[key] = true
	}
	if len(varying) > len(now.Varying) {
		now.DependsOnCluster = now.Irreproducible == ""
		now.Irreproducible, now.Varying = cause, varying
	}
	now.RenderEach = true
	return now
}

// withOpenNames returns a rendering in which the names of objects depend on the API versions that
// the cluster will serve.
func withOpenNames(rendering release.Rendering, cause string) release.Rendering {
	rendering.DependsOnCluster = true
	rendering.Irreproducible, rendering.Varying = cause, nil
	rendering.NamesVary, rendering.NamesDependOnCluster, rendering.RenderEach = true, true, true
	return rendering
}

// missingAPIs returns the sorted API versions that the templates of a deployment query, that its
// cluster does not serve, and that can be added. ok is false if templates read the API versions in
// another way than by querying one, or if they query too many.
func (a analysis) missingAPIs() (missing []string, ok bool) {
	for range maxQueryRounds {
		asked, all := analysis{renderer: a.renderer, d: withCapabilities(a.d, missing)}.queriedAPIs()
		more := slices.DeleteFunc(asked, func(api string) bool {
			return slices.Contains(missing, api) || slices.Contains(a.d.Capabilities.APIs, api) || !canBeAdded(api)
		})
		if len(more) == 0 && !all {
			slices.Sort(missing)
			return missing, true
		}
		missing = append(missing, more...)
		if all || len(missing) > maxQueried {
			return nil, false
		}
	}
	return nil, false
}

// queriedAPIs returns the API versions that the templates of a deployment query, each once. all is
// true if templates read all API versions, or if they cannot be traced.
func (a analysis) queriedAPIs() (asked []string, all bool) {
	for _, place := range renderContexts(a.d) {
		place.ask = func(api string) {
			all = all || api == ""
			if !slices.Contains(asked, api) {
				asked = append(asked, api)
			}
		}
		// Templates that fail can have queried API versions before. A template that fails only in
		// the tracing reads the API versions as a list. In the tracing they are not a list.
		if traced := a.renderer.trace(a.d, place); traced.err != nil {
			_, err := a.renderer.renderWith(a.d, place)
			all = all || err == nil
		}
	}
	return asked, all
}

// groupVersion matches an API version of a group, with or without a kind. It has no counted
// repetitions: it is compiled at each start of the provider, and such repetitions make it large.
var groupVersion = regexp.MustCompile(`^([a-z0-9][a-z0-9.-]*)/v[a-z0-9]+(/[A-Za-z0-9]+)?$`)

// maxGroupVersion is larger than the total length of the names of a group, a version and a kind.
const maxGroupVersion = 350

// canBeAdded reports whether custom resource definitions can add an API version to a cluster. API
// versions of Kubernetes and of OpenShift are part of a cluster and cannot be added.
func canBeAdded(api string) bool {
	parts := groupVersion.FindStringSubmatch(api)
	if parts == nil || len(api) > maxGroupVersion {
		return false
	}
	group := parts[1]
	return !builtInGroups()[group] && group != "openshift.io" && !strings.HasSuffix(group, ".openshift.io")
}

// builtInGroups returns the API groups of Kubernetes.
//
//nolint:gochecknoglobals // made once
var builtInGroups = sync.OnceValue(func() map[string]bool {
	// The client has no types for these.
	groups := map[string]bool{"apiextensions.k8s.io": true, "apiregistration.k8s.io": true}
	for _, version := range scheme.Scheme.PrioritizedVersionsAllGroups() {
		groups[version.Group] = true
	}
	return groups
})

// tracedCapabilities report which API versions a template queries.
type tracedCapabilities struct {
	of  *chartutil.Capabilities
	ask func(api string)
}

// KubeVersion returns the version of Kubernetes.
func (c tracedCapabilities) KubeVersion() *chartutil.KubeVersion { return &c.of.KubeVersion }

// HelmVersion returns the version of the SDK in this program.
func (c tracedCapabilities) HelmVersion() any { return c.of.HelmVersion }

// APIVersions returns the API versions of the cluster, which report each query.
func (c tracedCapabilities) APIVersions() tracedVersions {
	return tracedVersions{of: c.of.APIVersions, ask: c.ask}
}

// MarshalJSON is called by toYaml and toJson.
func (c tracedCapabilities) MarshalJSON() ([]byte, error) {
	c.ask("")
	return json.Marshal(c.of)
}

// String is called by functions that print.
func (c tracedCapabilities) String() string {
	c.ask("")
	return fmt.Sprint(*c.of)
}

// tracedVersions are the API versions of a cluster.
type tracedVersions struct {
	of  chartutil.VersionSet
	ask func(api string)
}

// Has is called by templates to query an API version.
func (v tracedVersions) Has(api string) bool {
	if api != "" {
		v.ask(api)
	}
	return v.of.Has(api)
}

// MarshalJSON is called by toYaml and toJson.
func (v tracedVersions) MarshalJSON() ([]byte, error) {
	v.ask("")
	return json.Marshal(v.of)
}

// String is called by join and by functions that print.
func (v tracedVersions) String() string {
	v.ask("")
	return fmt.Sprint(v.of)
}
