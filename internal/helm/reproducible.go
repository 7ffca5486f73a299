package helm

import (
	"errors"
	"runtime"

	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/target"
)

// traced is a deployment as a tracing renders it.
type traced struct {
	*tracing

	objects rendered
	// peeked says that templates read capabilities by another way than their name.
	peeked bool
	err    error
}

// trace renders a deployment and notes what its templates reach.
func (c *Charts) trace(d target.Deployment, p place) traced {
	loaded, made, err := c.load(d)
	if err != nil {
		return traced{tracing: &tracing{}, err: err}
	}
	values, err := renderValues(d, loaded, p)
	if err != nil {
		return traced{tracing: &tracing{}, err: err}
	}
	var result traced
	var capabilities any = p.capabilities
	if d.Capabilities == nil {
		capabilities = watchedCapabilities{of: p.capabilities, note: func() { result.peeked = true }}
	}
	result.tracing, result.err = trace(loaded, values, capabilities, !helmOptions(d).DisableDNS)
	if result.err != nil {
		return result
	}
	if result.objects, result.err = c.assemble(d, made, loaded, result.files, p); result.err == nil {
		result.objects = applied(d, result.objects)
	}
	return result
}

// doubt names what can make another rendering of a deployment differ from the first
// one, "" if nothing can.
func (c *Charts) doubt(d target.Deployment, first rendered) string {
	// The addresses of what both work on differ as long as both are there, and show
	// should a template print them.
	defer runtime.KeepAlive(first.chart)
	places := places(d)
	later := c.trace(d, places[1])
	if cause := later.cause(d); cause != "" {
		return cause
	}
	asks, differs := later.first(func(what string) bool { return isFirst(fieldOf(what)) })
	if later.err != nil || !equality.Semantic.DeepEqual(first.objects, later.objects.objects) {
		if differs {
			return asks.String()
		}
		return "its templates give another result on another cluster, or for another revision"
	}
	if !differs {
		return ""
	}
	// Both answers to whether it is the first revision give the same objects. What
	// else the other one makes templates read has to be seen, too.
	sooner := c.trace(d, places[0])
	if cause := sooner.cause(d); cause != "" {
		return cause
	}
	if sooner.err != nil || !equality.Semantic.DeepEqual(first.objects, sooner.objects.objects) {
		return asks.String()
	}
	return ""
}

// cause is what a tracing has met that can answer differently.
func (t traced) cause(d target.Deployment) string {
	found, moody := t.first(func(what string) bool { return isMoody(what) || isHistory(fieldOf(what)) })
	if moody {
		return found.String()
	}
	if d.Capabilities != nil {
		return ""
	}
	if found, asks := t.first(func(what string) bool { return fieldOf(what) == capabilitiesField }); asks {
		return found.String() + unknownCapabilities
	}
	if t.peeked {
		return "a template reads ." + capabilitiesField + unknownCapabilities
	}
	return ""
}

const unknownCapabilities = ", and what the cluster can do was not known when it was last looked at"

// excuse says what a rendering that failed depended on, "" if it fails everywhere and
// always. A cluster that a chart does not fit costs one deployment, and not the plan.
func (c *Charts) excuse(d target.Deployment, failure error) string {
	if unfit, ok := errors.AsType[*KubeVersionError](failure); ok {
		return unfit.Error()
	}
	failed := c.trace(d, places(d)[0])
	if cause := failed.cause(d); cause != "" {
		return cause
	}
	if found, ok := failed.first(func(what string) bool { return isLive(fieldOf(what)) }); ok {
		return found.String() + ", and failed: " + failure.Error()
	}
	return ""
}
