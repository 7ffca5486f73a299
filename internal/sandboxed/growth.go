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

// maxAsked bounds for how many API versions that are not there a chart is followed.
const maxAsked = 32

// maxAskRounds bounds how often a chart is traced for what it asks for: what it asks for first
// can decide what it asks for next.
const maxAskRounds = 5

// planGrowing renders a deployment whose cluster can serve more API versions when it is written.
// It is rendered with what the cluster serves, and once more with all that its templates ask for
// and that can still be added. What differs is not known.
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
		return r.described(d, reason{cause: cause, asksCluster: true})
	}
	return knownInBoth(now, later, cause), nil
}

// withCapabilities is a deployment on a cluster that serves more API versions, and no others
// later.
func withCapabilities(d target.Deployment, more []string) target.Deployment {
	capabilities := d.Capabilities.With(more)
	capabilities.MayGrow = false
	d.Capabilities = &capabilities
	return d
}

// knownInBoth is what is known of two renderings of a deployment, of which one is true.
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
		now.AsksCluster = now.Irreproducible == ""
		now.Irreproducible, now.Varying = cause, varying
	}
	now.RenderEach = true
	return now
}

// withOpenNames is a rendering whose names of objects depend on what the cluster is going to serve.
func withOpenNames(rendering release.Rendering, cause string) release.Rendering {
	rendering.AsksCluster = true
	rendering.Irreproducible, rendering.Varying = cause, nil
	rendering.NamesVary, rendering.NamesAskCluster, rendering.RenderEach = true, true, true
	return rendering
}

// missingAPIs are the API versions that the templates of a deployment ask for, that its cluster
// does not serve and that something else can add, sorted. ok is false where templates read them
// in another way than by asking for one.
func (a analysis) missingAPIs() (missing []string, ok bool) {
	for range maxAskRounds {
		asked, all := analysis{renderer: a.renderer, d: withCapabilities(a.d, missing)}.askedAPIs()
		more := slices.DeleteFunc(asked, func(api string) bool {
			return slices.Contains(missing, api) || slices.Contains(a.d.Capabilities.APIs, api) || !canBeAdded(api)
		})
		if len(more) == 0 && !all {
			slices.Sort(missing)
			return missing, true
		}
		missing = append(missing, more...)
		if all || len(missing) > maxAsked {
			return nil, false
		}
	}
	return nil, false
}

// askedAPIs are the API versions that the templates of a deployment ask for, each once. all
// reports that templates read all API versions, or that they cannot be traced.
func (a analysis) askedAPIs() (asked []string, all bool) {
	for _, place := range renderContexts(a.d) {
		place.ask = func(api string) {
			all = all || api == ""
			if !slices.Contains(asked, api) {
				asked = append(asked, api)
			}
		}
		// Templates that fail have asked before. One that fails here alone reads the API versions
		// as the list that they are not here.
		if traced := a.renderer.trace(a.d, place); traced.err != nil {
			_, err := a.renderer.renderWith(a.d, place)
			all = all || err == nil
		}
	}
	return asked, all
}

// groupVersion is an API version of a group, with or without a kind. It has no counts: each start of
// the provider compiles it, and counts make it large.
var groupVersion = regexp.MustCompile(`^([a-z0-9][a-z0-9.-]*)/v[a-z0-9]+(/[A-Za-z0-9]+)?$`)

// maxGroupVersion is more than the names of a group, a version and a kind take together.
const maxGroupVersion = 350

// canBeAdded reports whether definitions can add an API version to a cluster. Those of Kubernetes
// and of OpenShift only come with a cluster.
func canBeAdded(api string) bool {
	parts := groupVersion.FindStringSubmatch(api)
	if parts == nil || len(api) > maxGroupVersion {
		return false
	}
	group := parts[1]
	return !builtInGroups()[group] && group != "openshift.io" && !strings.HasSuffix(group, ".openshift.io")
}

// builtInGroups are the API groups of Kubernetes.
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

// askedCapabilities report which API versions a template asks for.
type askedCapabilities struct {
	of  *chartutil.Capabilities
	ask func(api string)
}

// KubeVersion is the version of Kubernetes.
func (c askedCapabilities) KubeVersion() *chartutil.KubeVersion { return &c.of.KubeVersion }

// HelmVersion is that of the SDK in this program.
func (c askedCapabilities) HelmVersion() any { return c.of.HelmVersion }

// APIVersions can be asked for one.
func (c askedCapabilities) APIVersions() askedVersions {
	return askedVersions{of: c.of.APIVersions, ask: c.ask}
}

// MarshalJSON is what toYaml and toJson call.
func (c askedCapabilities) MarshalJSON() ([]byte, error) {
	c.ask("")
	return json.Marshal(c.of)
}

// String is what printing calls.
func (c askedCapabilities) String() string {
	c.ask("")
	return fmt.Sprint(*c.of)
}

// askedVersions are the API versions of a cluster.
type askedVersions struct {
	of  chartutil.VersionSet
	ask func(api string)
}

// Has is what templates call.
func (v askedVersions) Has(api string) bool {
	if api != "" {
		v.ask(api)
	}
	return v.of.Has(api)
}

// MarshalJSON is what toYaml and toJson call.
func (v askedVersions) MarshalJSON() ([]byte, error) {
	v.ask("")
	return json.Marshal(v.of)
}

// String is what printing and join call.
func (v askedVersions) String() string {
	v.ask("")
	return fmt.Sprint(v.of)
}
