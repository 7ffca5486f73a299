package deploy

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/release"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/target"
)

// PanicError says that an operation on a cluster broke off in a panic, as Helm
// does on a release record that it cannot decode
// (helm.sh/helm/v3, pkg/storage/driver/secrets.go, Get). What the operation had
// done until then stays done.
type PanicError struct {
	// Doing is what was being done to what, such as "installing release web in
	// namespace web".
	Doing string
	// Reason is the text of the panic if the Go runtime raised it. Else it is a
	// type: text that somebody made can hold values or credentials.
	Reason string
	// Stack is where it happened, for a debug log. It holds no values.
	Stack string
}

func (e *PanicError) Error() string {
	return fmt.Sprintf("%s: internal error: %s (a damaged release record can be the cause)", e.Doing, e.Reason)
}

// guarded is a cluster whose panics are errors: what goes wrong on one cluster
// must not end the process that works on all of them. It cannot help where a
// library panics in a goroutine of its own.
type guarded struct{ next Cluster }

// guard gives clusters whose panics are errors, also those on the way to them.
func guard(clusters Clusters) Clusters {
	return func(name string) (cluster Cluster, err error) {
		defer catch("reading the connection of the cluster", &err)
		found, err := clusters(name)
		if err != nil {
			return nil, err
		}
		return guarded{next: found}, nil
	}
}

func (g guarded) Look(ctx context.Context) (snapshot release.Snapshot, err error) {
	defer catch("listing the releases", &err)
	return g.next.Look(ctx)
}

func (g guarded) Release(ctx context.Context, namespace, name string) (observed *release.Observed, err error) {
	defer catch(to("reading", namespace, name), &err)
	return g.next.Release(ctx, namespace, name)
}

func (g guarded) Inspect(ctx context.Context, releases []release.Inspection) (findings []release.Finding, err error) {
	defer catch("looking at the objects", &err)
	return g.next.Inspect(ctx, releases)
}

func (g guarded) Await(ctx context.Context, of release.Inspection) (finding release.Finding, err error) {
	defer catch("waiting for the objects", &err)
	return g.next.Await(ctx, of)
}

func (g guarded) Versions(ctx context.Context, references []target.Reference) (versions map[target.Reference]string, err error) {
	defer catch("reading the objects that values come from", &err)
	return g.next.Versions(ctx, references)
}

func (g guarded) Capabilities(ctx context.Context) (found target.Capabilities, err error) {
	defer catch("reading what the cluster can do", &err)
	return g.next.Capabilities(ctx)
}

func (g guarded) Maker(ctx context.Context, observed release.Observed) (maker release.Maker, err error) {
	defer catch(to("reading who made", observed.Namespace, observed.Release), &err)
	return g.next.Maker(ctx, observed)
}

func (g guarded) Objects(ctx context.Context, releases []release.Observed) (objects [][]string, err error) {
	defer catch("reading release records", &err)
	return g.next.Objects(ctx, releases)
}

func (g guarded) Write(ctx context.Context, action release.Action, d target.Deployment, observed *release.Observed, w release.Write) (written release.Written, err error) {
	defer catch(to(action.Doing(), d.Namespace, d.Release), &err)
	return g.next.Write(ctx, action, d, observed, w)
}

func (g guarded) Uninstall(ctx context.Context, observed release.Observed, removal release.Removal) (removed release.Removed, err error) {
	defer catch(to("removing", observed.Namespace, observed.Release), &err)
	return g.next.Uninstall(ctx, observed, removal)
}

func to(doing, namespace, name string) string {
	return fmt.Sprintf("%s release %s in namespace %s", doing, name, namespace)
}

// catch is deferred: it makes a panic the error of the function that it ends.
func catch(doing string, err *error) {
	raised := recover()
	if raised == nil {
		return
	}
	*err = &PanicError{Doing: doing, Reason: reason(raised), Stack: string(debug.Stack())}
}

func reason(raised any) string {
	if raised, ok := raised.(error); ok {
		if fault, ok := errors.AsType[runtime.Error](raised); ok {
			return fault.Error()
		}
	}
	return fmt.Sprintf("a panic with a %T", raised)
}
