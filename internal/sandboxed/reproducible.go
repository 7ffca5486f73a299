package sandboxed

import (
	"errors"
	"runtime"

	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/render"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/target"
)

// traced is a deployment as a tracing renders it.
type traced struct {
	*tracing

	objects rendered
	err     error
}

// doubt is why a rendering can differ from another one of the same deployment; zero
// when it cannot.
type doubt struct {
	cause string
	// asks says that nothing is missing but what the cluster can do.
	asks bool
}

// trace renders a deployment and notes what its templates reach.
func (r *Renderer) trace(d target.Deployment, p Environment) traced {
	result := traced{tracing: &tracing{}}
	loaded, made, err := r.loader.Load(d)
	if err != nil {
		result.err = err
		return result
	}
	values, err := renderValues(d, loaded, p)
	if err != nil {
		result.err = err
		return result
	}
	result.tracing, result.err = trace(loaded, values, p)
	if result.err != nil {
		return result
	}
	if result.objects, result.err = r.assemble(d, made, loaded, result.files); result.err == nil {
		result.objects = applied(d, result.objects)
	}
	return result
}

// doubt looks for what can make another rendering of a deployment differ from the
// first one.
func (r *Renderer) doubt(d target.Deployment, first rendered) doubt {
	// The addresses of what both work on differ as long as both are there, and show
	// should a template print them.
	defer runtime.KeepAlive(first.chart)
	places := places(d)
	later := r.trace(d, places[1])
	if found := later.doubt(d); found.cause != "" {
		return found
	}
	asks, isAsked := later.first(func(what string) bool { return isFirst(fieldOf(what)) })
	switch {
	case later.gives(first) && !isAsked:
		return doubt{}
	case isAsked && !later.gives(first):
		return doubt{cause: asks.String()}
	case !isAsked:
		return doubt{cause: "the result of its templates depends on the cluster or the revision"}
	}
	// Both values of IsInstall give the same objects. What
	// else the other one makes templates read has to be seen, too.
	sooner := r.trace(d, places[0])
	if found := sooner.doubt(d); found.cause != "" {
		return found
	}
	if !sooner.gives(first) {
		return doubt{cause: asks.String()}
	}
	return doubt{}
}

// gives says whether a tracing came to the same objects.
func (t traced) gives(objects rendered) bool {
	return t.err == nil && equality.Semantic.DeepEqual(objects.objects, t.objects.objects)
}

// doubt is what a tracing has met that can return something else.
func (t traced) doubt(d target.Deployment) doubt {
	found, moody := t.first(func(what string) bool { return isMoody(what) || isHistory(fieldOf(what)) })
	if moody {
		return doubt{cause: found.String()}
	}
	if d.Capabilities != nil {
		return doubt{}
	}
	if found, asks := t.first(func(what string) bool { return fieldOf(what) == capabilitiesField }); asks {
		return doubt{cause: found.String(), asks: true}
	}
	if found, asks := t.first(func(what string) bool { return what == peekedField }); asks {
		return doubt{cause: found.String(), asks: true}
	}
	return doubt{}
}

// excuse says what a rendering that failed depended on; zero if it fails everywhere
// and always. A cluster that a chart does not fit costs one deployment, and not the
// plan.
func (r *Renderer) excuse(d target.Deployment, failure error) doubt {
	if unfit, ok := errors.AsType[*render.KubeVersionError](failure); ok {
		return doubt{cause: unfit.Error()}
	}
	failed := r.trace(d, places(d)[0])
	if found := failed.doubt(d); found.cause != "" {
		return found
	}
	if found, ok := failed.first(func(what string) bool { return isLive(fieldOf(what)) }); ok {
		return doubt{cause: found.String() + ", and fails: " + failure.Error()}
	}
	return doubt{}
}
