package acceptance_test

import (
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/faulttest"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/testenv"
)

// moment is when a process is killed: at the first request that matches.
type moment struct {
	name string
	is   func(request *http.Request) bool
	// answered is true if the API server carries the request out before the process is killed.
	answered bool
}

func to(method, resource string) func(*http.Request) bool {
	return func(request *http.Request) bool {
		return request.Method == method && strings.Contains(request.URL.Path+"/", "/"+resource+"/")
	}
}

func watching(resource string) func(*http.Request) bool {
	return func(request *http.Request) bool {
		return faulttest.IsWatch(request) && strings.Contains(request.URL.Path+"/", "/"+resource+"/")
	}
}

func moments(write string) []moment {
	return []moment{
		{name: "before the first write", is: faulttest.IsWrite},
		{name: "after the pending record", is: to(http.MethodPost, "secrets"), answered: true},
		{name: "in a hook", is: watching("jobs")},
		{name: "between two objects", is: to(write, "services")},
		{name: "while waiting", is: func(request *http.Request) bool {
			return to(http.MethodGet, "deployments")(request) && strings.Contains(request.URL.Path, "/namespaces/")
		}},
		{name: "after the last object and before the record is final", is: to(http.MethodPut, "secrets")},
		{name: "while the record is made final", is: to(http.MethodPut, "secrets"), answered: true},
	}
}

// momentsFor returns the moments at which each change tests a kill. The provider ends when
// Terraform ends, so both kills leave the same. Only make soak kills Terraform at all moments.
func momentsFor(who victim, all []moment) []moment {
	if who == theProvider || testenv.Soaking() {
		return all
	}
	var some []moment
	for i := 1; i < len(all); i += 3 {
		some = append(some, all[i])
	}
	return some
}

// killedBundles returns the number of bundles while processes are killed. Seven on three clusters
// are more than the provider deploys at a time. So some releases are done, some are being made, and
// some have not begun.
func killedBundles() int {
	if testenv.Soaking() {
		return 10
	}
	return 7
}

// killAt sets rules that kill a process at a moment. The returned function reports whether the
// process was killed.
func (o *faultSuite) killAt(t *testing.T, who victim, at moment) func() bool {
	t.Helper()
	var (
		once   sync.Once
		killed bool
	)
	strike := func(request *http.Request) {
		once.Do(func() {
			killed = true
			o.kill(t, who)
		})
		faulttest.Hold(request)
	}
	o.set(func(request *http.Request) faulttest.Fault {
		switch {
		case !at.is(request):
			return faulttest.Fault{}
		case at.answered && !faulttest.IsWatch(request):
			return faulttest.Fault{After: strike}
		}
		return faulttest.Fault{Before: strike, Cut: true}
	})
	return func() bool {
		o.set(nil)
		once.Do(func() {})
		return killed
	}
}

// interrupted runs an apply that is killed; then the lease on the state ends.
func (o *faultSuite) interrupted(t *testing.T, who victim, at moment, args ...string) []view {
	t.Helper()
	killed := o.killAt(t, who, at)
	output, err := o.begin(t, args...)
	if !killed() || err == nil {
		t.Fatalf("the %s was not killed %s (%v):\n%s", who, at.name, err, output)
	}
	if held := o.state.expire(); held != (who == theCLI) {
		t.Errorf("the state is locked: %t", held)
	}
	return o.observe(t)
}

var applying = []string{"apply", "-auto-approve", "-input=false"} //nolint:gochecknoglobals // arguments of a command

// A process that is killed during the first apply only costs time.
func TestAccKillDuringInstall(t *testing.T) {
	t.Parallel()
	for _, who := range []victim{theProvider, theCLI} {
		for _, at := range momentsFor(who, moments(http.MethodPost)) {
			t.Run(string(who)+" "+at.name, func(t *testing.T) {
				t.Parallel()
				o := newFaultSuite(t, killedBundles())
				before := o.interrupted(t, who, at, applying...)
				o.apply(t)
				expectHealthyUntouched(t, before, o.expectWhole(t, "first"))
				o.expectEmptyPlan(t)
			})
		}
	}
}

// The same with existing releases: all kills hit one fleet, one after the other.
func TestAccKillDuringUpgrade(t *testing.T) {
	t.Parallel()
	for _, who := range []victim{theProvider, theCLI} {
		t.Run(string(who), func(t *testing.T) {
			t.Parallel()
			o := newFaultSuite(t, killedBundles())
			o.apply(t)
			for _, at := range momentsFor(who, moments(http.MethodPatch)) {
				t.Run(at.name, func(t *testing.T) {
					o.deploy(t, at.name)
					before := o.interrupted(t, who, at, applying...)
					o.apply(t)
					expectHealthyUntouched(t, before, o.expectWhole(t, at.name))
					o.expectEmptyPlan(t)
				})
			}
		})
	}
}

// The same while a cluster is removed, and at the end while all deployments are destroyed.
func TestAccKillDuringUninstall(t *testing.T) {
	t.Parallel()
	moments := []moment{
		{name: "in a hook before the first object goes", is: watching("jobs")},
		{name: "between two objects", is: to(http.MethodDelete, "services"), answered: true},
		{name: "before the record goes", is: to(http.MethodDelete, "secrets")},
		{name: "after a record went", is: to(http.MethodDelete, "secrets"), answered: true},
	}
	for _, who := range []victim{theProvider, theCLI} {
		t.Run(string(who), func(t *testing.T) {
			t.Parallel()
			o := newFaultSuite(t, killedBundles())
			for _, at := range momentsFor(who, moments) {
				t.Run("one cluster "+at.name, func(t *testing.T) {
					o.deploy(t, "first")
					o.apply(t)
					o.deploy(t, "first", "b")
					before := o.interrupted(t, who, at, applying...)
					o.apply(t)
					expectHealthyUntouched(t, before, o.expectWhole(t, "first", "b"), "b")
					o.expectEmptyPlan(t)
				})
			}
			t.Run("destroy between two objects", func(t *testing.T) {
				o.interrupted(t, who, moments[1], "destroy", "-auto-approve")
				o.run(t, "destroy", "-auto-approve")
				for i := range o.proxies {
					o.expectNothing(t, i)
				}
			})
		})
	}
}

// Terraform is killed while it sends the state, so all changes of the run are lost. Or it is killed
// before it gets the response that the state was stored.
func TestAccKillWhileStateIsWritten(t *testing.T) {
	t.Parallel()
	tests := map[string]func(o *faultSuite, strike func()){
		"the state is lost":   func(o *faultSuite, strike func()) { o.state.onWrite(strike, nil) },
		"the state is stored": func(o *faultSuite, strike func()) { o.state.onWrite(nil, strike) },
	}
	for name, arm := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := newFaultSuite(t, killedBundles())
			for _, step := range []string{"install", "upgrade"} {
				o.deploy(t, step)
				var once sync.Once
				arm(o, func() { once.Do(func() { o.kill(t, theCLI) }) })
				if output, err := o.begin(t, applying...); err == nil {
					t.Fatalf("Terraform was not killed:\n%s", output)
				}
				o.state.onWrite(nil, nil)
				o.fail(t, applying, "state lock")
				if !o.state.expire() {
					t.Error("the state was not locked")
				}
				before := o.observe(t)
				o.apply(t)
				expectHealthyUntouched(t, before, o.expectWhole(t, step))
				o.expectEmptyPlan(t)
			}
		})
	}
}
