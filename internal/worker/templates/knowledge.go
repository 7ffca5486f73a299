package templates

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path"
	"runtime"
	"slices"

	"helm.sh/helm/v3/pkg/chart"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/manifest"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/render"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/target"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/wellknown"
)

// knowledge describes how another rendering of a deployment can differ: the reason, and the keys of
// the objects that can differ.
type knowledge struct {
	reason

	varying map[string]bool
	// namesVary is true if there can be other objects.
	namesVary bool
}

// reason is why a rendering can differ from another one of the same deployment. It is the zero
// value if it cannot differ.
type reason struct {
	cause string
	// dependsOnCluster is true if the rendering can differ only because the capabilities of the cluster
	// are not known.
	dependsOnCluster bool
	// readsCapabilities is true if templates read capabilities that are not known.
	readsCapabilities bool
}

const unexplained = "the result of its templates depends on the cluster or the revision"

// analysis finds out how renderings of one deployment can differ. It renders the deployment with other
// results of the functions that can have other results, see seed. An object that is the same in all of
// these renderings is known. This is no proof: a text that is random can be compared with a constant. So
// an apply compares the objects with the plan once more before it writes the first one.
type analysis struct {
	renderer *Renderer
	d        target.Deployment
	// once is true if no branches may run that a cluster could never run.
	once bool
	ask  func(api string)

	runs    map[variant]*traced
	reached reach
}

// variant names one of the renderings that are compared.
type variant struct {
	seed    int
	install bool
}

// traced is the result of rendering a deployment with a tracer.
type traced struct {
	chart *chart.Chart
	style render.Style
	files map[string]string
	err   error
}

// first returns the rendering that the others are compared with. It is made by Helm's engine, except for
// a chart that makes keys or hashes of passwords: real ones take seconds, and no plan can show them.
func (a *analysis) first() (rendered, error) {
	install := variant{install: true}
	a.run(variant{})
	if a.reached.readsRevision() {
		a.run(install)
	}
	if a.reached.has(isLaborious) {
		if made, err := a.objectsOf(a.run(install)); err == nil {
			return made, nil
		}
	}
	return a.renderer.renderWith(a.d, renderContexts(a.d)[0])
}

// objectsOf returns the objects of a rendering.
func (a *analysis) objectsOf(t *traced) (rendered, error) {
	if t.err != nil {
		return rendered{}, t.err
	}
	made, err := a.renderer.assemble(a.d, t.style, t.chart, t.files)
	if err != nil {
		return rendered{}, err
	}
	return applied(a.d, made)
}

// knowledge finds out how another rendering of a deployment can differ from the result of first.
func (a *analysis) knowledge(first rendered) knowledge {
	// While both charts are in memory, their values have different addresses. So a template that
	// prints an address has different results.
	defer runtime.KeepAlive(first.chart)
	base := a.run(variant{})
	unknown := func(cause string) knowledge { return knowledge{reason: reason{cause: cause}, namesVary: true} }
	for {
		if found, ok := a.unknown(); ok {
			return found
		}
		if !a.reached.needsSeeds() && !a.reached.readsRevision() {
			if a.isSame(base, first) {
				return knowledge{}
			}
			if base.err != nil && a.ask != nil {
				a.ask("") // In the tracing, the API versions are no list.
			}
			return unknown(unexplained)
		}
		if a.once && !a.reached.isOrdered() {
			return unknown(a.reached.cause())
		}
		missing := a.missing()
		if len(missing) == 0 {
			break
		}
		for _, v := range missing {
			a.run(v)
		}
	}
	return a.compare(first)
}

// unknown returns what is known if templates read something that no rendering without a cluster has.
func (a *analysis) unknown() (knowledge, bool) {
	if a.d.Capabilities == nil && a.reached.has(isCapabilities) {
		found, _ := a.reached.first(isCapabilities)
		why := reason{cause: found.String(), dependsOnCluster: true, readsCapabilities: true}
		if a.reached.needsSeeds() {
			why.cause, why.dependsOnCluster = a.reached.cause(), false
		}
		return knowledge{reason: why, namesVary: true}, true
	}
	found, ok := a.reached.first(func(what string) bool { return isForeignLookup(what) || isUnsupported(what) })
	return knowledge{reason: reason{cause: found.String()}, namesVary: true}, ok
}

// missing returns the variants that have not been rendered yet and that can differ from the others.
func (a *analysis) missing() []variant {
	seeds, installs := 1, []bool{false}
	if a.reached.needsSeeds() {
		seeds = seededRenderings
	}
	if a.reached.readsRevision() {
		installs = []bool{false, true}
	}
	var missing []variant
	for _, install := range installs {
		for number := range seeds {
			v := variant{seed: number, install: install}
			if _, done := a.runs[v]; !done {
				missing = append(missing, v)
			}
		}
	}
	return missing
}

// run renders one variant, unless it has been rendered before.
func (a *analysis) run(v variant) *traced {
	if known, ok := a.runs[v]; ok {
		return known
	}
	t, made := a.trace(v)
	for _, place := range t.reached {
		if !slices.Contains(a.reached, place) {
			a.reached = append(a.reached, place)
		}
	}
	if a.runs == nil {
		a.runs = map[variant]*traced{}
	}
	a.runs[v] = &made
	return &made
}

func (a *analysis) trace(v variant) (*tracer, traced) {
	const apart = 16
	places := renderContexts(a.d)
	p := places[1]
	p.Revision += apart * v.seed
	if v.install {
		p = places[0]
	}
	p.ask = a.ask
	return a.renderer.trace(a.d, p, v.seed)
}

// trace renders a deployment with the functions of a seed.
func (r *Renderer) trace(d target.Deployment, p Environment, number int) (*tracer, traced) {
	loaded, style, err := r.load(d)
	if err != nil {
		return &tracer{}, traced{err: err}
	}
	values, err := renderValues(d, loaded, p)
	if err != nil {
		return &tracer{}, traced{err: err}
	}
	t, err := trace(loaded, values, p, number)
	return t, traced{chart: loaded, style: style, files: t.files, err: err}
}

// sameOutputs reports whether templates have the same outputs, except for the notes.
func sameOutputs(a, b map[string]string) bool {
	if len(a) != len(b) {
		return false
	}
	for name, output := range a {
		if other, ok := b[name]; !ok || output != other && !isNotes(name) {
			return false
		}
	}
	return true
}

// isNotes reports whether Helm prints a file and does not apply it.
func isNotes(name string) bool { return path.Base(name) == notesFile }

// isSame reports whether a rendering has the same objects as the first one.
func (a *analysis) isSame(t *traced, first rendered) bool {
	if t.err == nil && sameOutputs(t.files, first.files) { // Parsing them takes longer than rendering.
		return true
	}
	made, err := a.objectsOf(t)
	return err == nil && equality.Semantic.DeepEqual(first.objects, made.objects)
}

// compare returns the objects that are not the same in all variants. A variant that fails does not
// count: an apply in which the templates fail writes nothing.
func (a *analysis) compare(first rendered) knowledge {
	why := reason{cause: a.reached.cause()}
	helms, err := contentsOf(first.objects, a.d.Namespace)
	if err != nil {
		return knowledge{reason: why, namesVary: true}
	}
	varying := map[string]bool{}
	seeds := map[int]bool{}
	sameHooks := true
	for v, run := range a.runs {
		if run.err == nil && sameOutputs(run.files, first.files) {
			seeds[v.seed] = true
			continue
		}
		made, err := a.objectsOf(run)
		if err != nil {
			continue
		}
		contents, err := contentsOf(made.objects, a.d.Namespace)
		sameNames := maps.EqualFunc(helms, contents, func(string, string) bool { return true })
		if err != nil || !sameNames || !slices.Equal(hookEvents(made.hooks), hookEvents(first.hooks)) {
			return knowledge{reason: why, namesVary: true}
		}
		for key, content := range contents {
			if content != helms[key] {
				varying[key] = true
			}
		}
		seeds[v.seed], sameHooks = true, sameHooks && equality.Semantic.DeepEqual(first.hooks, made.hooks)
	}
	const compared = 2
	if len(seeds) == 0 || a.reached.needsSeeds() && len(seeds) < compared {
		return knowledge{reason: why, namesVary: true}
	}
	if len(varying) == 0 && sameHooks && !a.reached.has(isLookup) {
		return knowledge{}
	}
	return knowledge{reason: why, varying: varying}
}

// failureReason returns what a failed rendering depended on. It returns the zero value if the
// rendering always fails, on every cluster. If a chart does not support one cluster, only that
// deployment fails, and not the plan.
func (a *analysis) failureReason(failure error) reason {
	if unfit, ok := errors.AsType[*render.KubeVersionError](failure); ok {
		return reason{cause: unfit.Error()}
	}
	a.run(variant{install: true})
	if found, ok := a.unknown(); ok {
		return found.reason
	}
	if a.reached.needsSeeds() {
		return reason{cause: a.reached.cause()}
	}
	if found, ok := a.reached.first(func(what string) bool { return isLive(fieldOf(what)) }); ok {
		return reason{cause: found.String() + ", and fails: " + failure.Error()}
	}
	return reason{}
}

// contentsOf returns the contents of objects by key. Objects with equal keys are concatenated.
func contentsOf(objects []*unstructured.Unstructured, namespace string) (map[string]string, error) {
	contents := map[string]string{}
	for _, object := range manifest.Flatten(objects) {
		content, err := json.Marshal(object.Object)
		if err != nil {
			return nil, fmt.Errorf("writing %s %s: %w", object.GetKind(), object.GetName(), err)
		}
		contents[manifest.Identify(object, namespace).Key()] += string(content)
	}
	return contents, nil
}

// hookEvents returns the events of hooks, sorted.
func hookEvents(hooks []*unstructured.Unstructured) []string {
	events := make([]string, len(hooks))
	for i, hook := range hooks {
		events[i] = manifest.Annotations(hook)[wellknown.Hook]
	}
	slices.Sort(events)
	return events
}
