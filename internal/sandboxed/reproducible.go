package sandboxed

import (
	"errors"
	"runtime"

	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/render"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/target"
)

// traced is the result of rendering a deployment with a tracer.
type traced struct {
	*tracer

	objects rendered
	err     error
}

// reason is why a rendering can differ from another one of the same deployment. It is the zero
// value if it cannot differ.
type reason struct {
	cause string
	// dependsOnCluster is true if the rendering can differ only because the capabilities of the cluster
	// are not known.
	dependsOnCluster bool
	// readsRevision is true if templates read which revision they make. readsCapabilities is true
	// if they read capabilities that are not known.
	readsRevision, readsCapabilities bool
}

// trace renders a deployment and records what its templates reach.
func (r *Renderer) trace(d target.Deployment, p Environment) traced {
	result := traced{tracer: &tracer{}}
	loaded, made, err := r.load(d)
	if err != nil {
		result.err = err
		return result
	}
	values, err := renderValues(d, loaded, p)
	if err != nil {
		result.err = err
		return result
	}
	result.tracer, result.err = trace(loaded, values, p)
	if result.err != nil {
		return result
	}
	if result.objects, result.err = r.assemble(d, made, loaded, result.files); result.err == nil {
		result.objects, result.err = applied(d, result.objects)
	}
	return result
}

// knowledge describes how another rendering of a deployment can differ: the reason, and the keys of
// the objects that can differ.
type knowledge struct {
	reason

	varying map[string]bool
	// namesVary is true if there can be other objects.
	namesVary bool
}

// analysis finds out how renderings of one deployment can differ.
type analysis struct {
	renderer *Renderer
	d        target.Deployment
}

// knowledge finds out how another rendering of a deployment can differ from the first one.
func (a analysis) knowledge(first rendered, find varyingFinder) knowledge {
	why := a.nonDeterminism(first)
	if why.cause == "" {
		return knowledge{}
	}
	if why.dependsOnCluster || why.readsCapabilities {
		return knowledge{reason: why, namesVary: true}
	}
	varying, ok := find(a.d, first, why.readsRevision)
	if !ok {
		return knowledge{reason: why, namesVary: true}
	}
	return knowledge{reason: why, varying: varying}
}

// nonDeterminism returns the reason why another rendering of a deployment can differ from the first
// one.
func (a analysis) nonDeterminism(first rendered) reason {
	tracings, found := a.compareTracings(first)
	for _, one := range tracings {
		_, reads := one.first(func(what string) bool { return isHistory(fieldOf(what)) || isFirst(fieldOf(what)) })
		found.readsRevision = found.readsRevision || reads
		found.readsCapabilities = found.readsCapabilities || one.readsCapabilities(a.d)
	}
	return found
}

// compareTracings traces a deployment in the environment that differs most from that of the first
// rendering.
func (a analysis) compareTracings(first rendered) ([]traced, reason) {
	// While both charts are in memory, their values have different addresses. So a template that
	// prints an address has different results.
	defer runtime.KeepAlive(first.chart)
	places := renderContexts(a.d)
	later := a.renderer.trace(a.d, places[1])
	tracings := []traced{later}
	if found := later.reason(a.d); found.cause != "" {
		return tracings, found
	}
	query, isQueried := later.first(func(what string) bool { return isFirst(fieldOf(what)) })
	switch {
	case later.hasSameObjects(first) && !isQueried:
		return tracings, reason{}
	case isQueried && !later.hasSameObjects(first):
		return tracings, reason{cause: query.String()}
	case !isQueried:
		return tracings, reason{cause: "the result of its templates depends on the cluster or the revision"}
	}
	// Both values of IsInstall result in the same objects. With the other value, templates can read
	// other things, so that rendering is traced, too.
	sooner := a.renderer.trace(a.d, places[0])
	tracings = append(tracings, sooner)
	if found := sooner.reason(a.d); found.cause != "" {
		return tracings, found
	}
	if !sooner.hasSameObjects(first) {
		return tracings, reason{cause: query.String()}
	}
	return tracings, reason{}
}

// hasSameObjects reports whether a tracing rendered the same objects.
func (t traced) hasSameObjects(objects rendered) bool {
	return t.err == nil && equality.Semantic.DeepEqual(objects.objects, t.objects.objects)
}

// reason returns the first thing reached by a tracing that can have another result.
func (t traced) reason(d target.Deployment) reason {
	found, moody := t.first(func(what string) bool { return isNonDeterministic(what) || isHistory(fieldOf(what)) })
	if moody {
		return reason{cause: found.String()}
	}
	if d.Capabilities != nil {
		return reason{}
	}
	if found, isRead := t.first(func(what string) bool { return fieldOf(what) == capabilitiesField }); isRead {
		return reason{cause: found.String(), dependsOnCluster: true}
	}
	if found, isRead := t.first(func(what string) bool { return what == readIndirectlyField }); isRead {
		return reason{cause: found.String(), dependsOnCluster: true}
	}
	return reason{}
}

// readsCapabilities reports whether templates have read capabilities that are not known.
func (t traced) readsCapabilities(d target.Deployment) bool {
	_, reads := t.first(func(what string) bool { return fieldOf(what) == capabilitiesField || what == readIndirectlyField })
	return reads && d.Capabilities == nil
}

// failureReason returns what a failed rendering depended on. It returns the zero value if the
// rendering always fails, on every cluster. If a chart does not support one cluster, only that
// deployment fails, and not the plan.
func (a analysis) failureReason(failure error) reason {
	if unfit, ok := errors.AsType[*render.KubeVersionError](failure); ok {
		return reason{cause: unfit.Error()}
	}
	failed := a.renderer.trace(a.d, renderContexts(a.d)[0])
	if found := failed.reason(a.d); found.cause != "" {
		found.readsCapabilities = failed.readsCapabilities(a.d)
		return found
	}
	if found, ok := failed.first(func(what string) bool { return isLive(fieldOf(what)) }); ok {
		return reason{cause: found.String() + ", and fails: " + failure.Error()}
	}
	return reason{}
}
