package templates

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

// maxQueried is the maximum number of API versions that a chart queries and that can be added. If there
// are more, the objects are unknown.
const maxQueried = 32

// maxQueryRounds limits how often a chart is rendered to find the API versions that it queries: the
// result of one query can decide which queries follow.
const maxQueryRounds = 5

// planGrowing renders a deployment whose cluster can serve other API versions when the deployment is
// written. Terraform plans a create twice, and both plans have to agree although an API version is added
// in between. So the chart decides what is known, not what the cluster serves. The deployment is
// rendered with all API versions that its templates query and that can be added, and without them. If
// these renderings have other objects, no object is known. If the content of an object depends on an
// API version that the cluster does not serve yet, the content is not known.
func (r *Renderer) planGrowing(d target.Deployment, once bool) (release.Rendering, error) {
	queries := &apiQueries{served: d.Capabilities.APIs}
	plan := func(apis []string) (release.Rendering, error) {
		capabilities := *d.Capabilities
		capabilities.APIs, capabilities.MayGrow = apis, false
		on := d
		on.Capabilities = &capabilities
		return r.planFor(on, &analysis{renderer: r, d: on, once: once, ask: queries.note})
	}
	now, err := plan(queries.served)
	for range maxQueryRounds {
		asked := len(queries.asked)
		if asked == 0 || asked > maxQueried || queries.all {
			break
		}
		same := growthPlan{now, err}
		least, most := same, same
		if apis := queries.least(); len(apis) != len(queries.served) {
			least.Rendering, least.err = plan(apis)
		}
		if apis := queries.most(); len(apis) != len(queries.served) {
			most.Rendering, most.err = plan(apis)
		}
		if len(queries.asked) == asked {
			return r.knownInAll(d, same, least, most, queries.cause())
		}
	}
	if err == nil && (len(queries.asked) > 0 || queries.all) && (!now.NamesVary || now.Irreproducible == unexplained) {
		return withOpenNames(now, "its templates read which API versions the cluster serves"), nil
	}
	return now, err
}

// growthPlan is the rendering of a deployment for one set of API versions.
type growthPlan struct {
	release.Rendering

	err error
}

// knownInAll returns what is the same in the renderings of a deployment: for the cluster as it is, and
// for one that serves the least or the most API versions.
func (r *Renderer) knownInAll(d target.Deployment, now, least, most growthPlan, cause string) (release.Rendering, error) {
	switch {
	case now.err != nil && least.err != nil && most.err != nil:
		return now.Rendering, now.err
	case now.err != nil || least.err != nil || most.err != nil:
		unknown, err := r.described(d, reason{cause: cause})
		return withOpenNames(unknown, cause), err
	case now.NamesVary && least.NamesVary && most.NamesVary:
		return now.Rendering, nil
	case !now.hasNamesOf(least), !now.hasNamesOf(most):
		return withOpenNames(now.Rendering, cause), nil
	}
	return withOpenContent(now.Rendering, most.Rendering, cause), nil
}

func (g growthPlan) hasNamesOf(other growthPlan) bool {
	return g.NamesVary == other.NamesVary && slices.Equal(g.CRDs, other.CRDs) &&
		maps.EqualFunc(g.Hashes(), other.Hashes(), func(string, string) bool { return true })
}

// withOpenContent returns a rendering in which the content of an object varies if it is another one when
// the cluster serves more API versions.
func withOpenContent(now, later release.Rendering, cause string) release.Rendering {
	others, varying := later.Hashes(), maps.Clone(now.Varying)
	for key, hash := range now.Hashes() {
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
	rendering.NamesVary, rendering.RenderEach = true, true
	return rendering
}

// apiQueries collects the API versions that templates query and that can be added to a cluster. all is
// true if templates read the API versions in another way than by querying one.
type apiQueries struct {
	served, asked []string
	all           bool
}

func (a *apiQueries) note(api string) {
	a.all = a.all || api == ""
	if canBeAdded(api) && !slices.Contains(a.asked, api) {
		a.asked = append(a.asked, api)
	}
}

// least returns the API versions of a cluster that serves none of the queried ones, and most those of a
// cluster that serves all of them.
func (a *apiQueries) least() []string {
	return slices.DeleteFunc(slices.Clone(a.served), func(api string) bool { return slices.Contains(a.asked, api) })
}

func (a *apiQueries) most() []string {
	most := slices.Clone(a.served)
	for _, api := range a.asked {
		if !slices.Contains(most, api) {
			most = append(most, api)
		}
	}
	return most
}

func (a *apiQueries) cause() string {
	asked := slices.Sorted(slices.Values(a.asked))
	return "its templates ask whether the cluster serves " + strings.Join(asked, ", ")
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

// tracedCapabilities report what a template reads of them. The methods return values of the same types
// as in Helm, except for API versions that are asked for.
type tracedCapabilities struct {
	of *chartutil.Capabilities
	// ask is called with each API version that a template queries, and with "" for all of them. It is
	// nil for a cluster that is not known: then read is called, whatever a template reads.
	ask  func(api string)
	read func()
}

// KubeVersion returns the version of Kubernetes.
func (t tracedCapabilities) KubeVersion() *chartutil.KubeVersion {
	if t.ask == nil {
		t.read()
	}
	return &t.of.KubeVersion
}

// HelmVersion returns the version of the SDK in this program. It does not depend on the cluster.
func (t tracedCapabilities) HelmVersion() any { return t.of.HelmVersion }

// APIVersions returns the API versions of the cluster.
func (t tracedCapabilities) APIVersions() any {
	if t.ask == nil {
		t.read()
		return t.of.APIVersions
	}
	return tracedVersions{of: t.of.APIVersions, ask: t.ask}
}

// MarshalJSON is called by toYaml and toJson.
func (t tracedCapabilities) MarshalJSON() ([]byte, error) {
	t.readAll()
	return json.Marshal(t.of)
}

// String is called by functions that print.
func (t tracedCapabilities) String() string {
	t.readAll()
	return fmt.Sprint(*t.of)
}

func (t tracedCapabilities) readAll() {
	if t.ask == nil {
		t.read()
		return
	}
	t.ask("")
}

// tracedVersions are the API versions of a cluster.
type tracedVersions struct {
	of  chartutil.VersionSet
	ask func(api string)
}

// Has is called by templates to query an API version.
func (t tracedVersions) Has(api string) bool {
	if api != "" {
		t.ask(api)
	}
	return t.of.Has(api)
}

// MarshalJSON is called by toYaml and toJson.
func (t tracedVersions) MarshalJSON() ([]byte, error) {
	t.ask("")
	return json.Marshal(t.of)
}

// String is called by join and by functions that print.
func (t tracedVersions) String() string {
	t.ask("")
	return fmt.Sprint(t.of)
}
