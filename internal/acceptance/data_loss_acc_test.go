package acceptance_test

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/faulttest"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/testenv"
)

// disturbOnce makes the second cluster respond wrongly from its nth request on.
func (o *faultSuite) disturbOnce(n int, fault func(*http.Request) faulttest.Fault) {
	var asked atomic.Int64
	o.proxies[1].Set(func(request *http.Request) faulttest.Fault {
		if asked.Add(1) <= int64(n) {
			return faulttest.Fault{}
		}
		return fault(request)
	})
}

// disturbAfterReads makes the second cluster respond wrongly after its releases were listed n
// times.
func (o *faultSuite) disturbAfterReads(n int, fault func(*http.Request) faulttest.Fault) {
	var looked atomic.Int64
	o.proxies[1].Set(func(request *http.Request) faulttest.Fault {
		if looked.Load() >= int64(n) {
			return fault(request)
		}
		if request.URL.Path == "/api/v1/secrets" {
			looked.Add(1)
		}
		return faulttest.Fault{}
	})
}

// An API server sends responses that are not true for its cluster. The provider must never treat
// them as removed objects. Revisions and UIDs of everything that is not planned for removal stay,
// whichever request of whichever command gets the first wrong response.
func TestAccWipeOut(t *testing.T) {
	t.Parallel()
	refuses := func(code int) func(*http.Request) faulttest.Fault {
		return func(*http.Request) faulttest.Fault { return faulttest.Fault{Status: code} }
	}
	// The first number is after the releases were listed, the second while the apply writes.
	const listed, writing = 1, 15
	tests := map[string]struct {
		fault func(*http.Request) faulttest.Fault
		// from is the number of requests after which the test of each change begins. make soak
		// tests both.
		from int
	}{
		"stopped":     {from: writing, fault: func(*http.Request) faulttest.Fault { return faulttest.Fault{Cut: true} }},
		"401":         {from: listed, fault: refuses(http.StatusUnauthorized)},
		"403":         {from: writing, fault: refuses(http.StatusForbidden)},
		"500":         {from: listed, fault: refuses(http.StatusInternalServerError)},
		"empty lists": {from: writing, fault: func(r *http.Request) faulttest.Fault { return faulttest.Fault{Empty: faulttest.IsList(r, "")} }},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := newFaultSuite(t, 3)
			o.timeout = "5s"
			if o.env0().External() {
				o.timeout = "30s" // Containers have to start.
			}
			o.deploy(t, "first")
			o.apply(t)
			for _, n := range []int{listed, writing} {
				t.Run(fmt.Sprintf("from request %d", n+1), func(t *testing.T) {
					if n != test.from {
						testenv.RequireSoak(t)
					}
					o.throughDataLoss(t, n, test.fault)
				})
			}
			o.disturbAfterReads(2, test.fault) // One list is of the refresh, and one of the apply.
			output, err := o.try(t, "destroy", "-auto-approve")
			o.set(nil)
			// Releases whose removal was not confirmed stay in the state, and the next destroy
			// removes them.
			left := len(o.releases(t, 1))
			if (err == nil) != (left == 0) {
				t.Errorf("%d releases are left, and destroy says %v:\n%s", left, err, output)
			}
			o.run(t, "destroy", "-auto-approve")
			for i := range o.proxies {
				o.expectNothing(t, i)
			}
		})
	}
}

// throughDataLoss runs every command while the second cluster responds wrongly.
func (o *faultSuite) throughDataLoss(t *testing.T, n int, fault func(*http.Request) faulttest.Fault) {
	t.Helper()
	before := o.observe(t)

	o.disturbOnce(n, fault)
	if output, err := o.try(t, "plan", "-input=false"); err != nil {
		t.Errorf("planning fails: %v\n%s", err, output)
	}
	o.disturbOnce(n, fault)
	if output, err := o.try(t, "apply", "-refresh-only", "-auto-approve", "-input=false"); err != nil {
		t.Errorf("refreshing fails: %v\n%s", err, output)
	}
	if states := slices.Sorted(maps.Keys(o.states(t))); len(states) != 3*o.bundles {
		t.Errorf("the state has forgotten deployments: %v", states)
	}
	if diff := cmp.Diff(before, o.observe(t), cmp.AllowUnexported(view{}, revision{})); diff != "" {
		t.Errorf("something was touched (-before +after):\n%s", diff)
	}
	// Everything changes.
	value := fmt.Sprintf("through %d", n)
	o.deploy(t, value)
	o.disturbOnce(n, fault)
	_, _ = o.try(t, applying...)
	o.set(nil)
	expectSameObjects(t, before, o.observe(t))
	o.apply(t)
	after := o.expectWhole(t, value)
	expectSameObjects(t, before, after)
	o.expectEmptyPlan(t)

	// Another cluster is removed, and the cluster with the wrong responses stays.
	o.deploy(t, value, "a")
	o.disturbOnce(n, fault)
	_, _ = o.try(t, applying...)
	o.set(nil)
	o.apply(t)
	expectHealthyUntouched(t, after, o.expectWhole(t, value, "a"), "a")
	o.deploy(t, value)
	o.apply(t)
	expectHealthyUntouched(t, after, o.expectWhole(t, value), "a")
}
