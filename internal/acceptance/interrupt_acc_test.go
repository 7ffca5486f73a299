package acceptance_test

import (
	"context"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/faulttest"
)

// Ctrl-C while a deployment waits for a pod that never gets ready, with two hours to wait: nothing
// new begins, running operations stop soon, and the existing objects are in the state.
func TestAccInterrupt(t *testing.T) {
	t.Parallel()
	o := newFaultSuite(t, 3)
	o.forbidPods(t, 1)
	o.timeout = "2h"
	o.deploy(t, "first")
	var (
		once  sync.Once
		mu    sync.Mutex
		since time.Time
	)
	o.proxies[1].Set(func(request *http.Request) faulttest.Fault {
		if to(http.MethodGet, "deployments")(request) && strings.Contains(request.URL.Path, "/namespaces/") {
			once.Do(func() {
				// Everything that does not depend on the pod is done first.
				eventually(t, "all other releases are deployed", func(context.Context) (bool, error) {
					ready := 0
					for i := range o.proxies {
						for _, newest := range o.releases(t, i) {
							if newest.status == "deployed" {
								ready++
							}
						}
					}
					return ready >= 7, nil
				})
				mu.Lock()
				since = time.Now()
				mu.Unlock()
				o.mu.Lock()
				defer o.mu.Unlock()
				if err := o.terraform.Signal(os.Interrupt); err != nil {
					t.Error(err)
				}
			})
		}
		return faulttest.Fault{}
	})
	output, err := o.begin(t, applying...)
	mu.Lock()
	took := time.Since(since)
	mu.Unlock()
	const bound = 30 * time.Second
	if err == nil || since.IsZero() || took > bound {
		t.Fatalf("the apply ended %v after Ctrl-C (%v), want less than %v:\n%s", took, err, bound, output)
	}
	if o.state.expire() {
		t.Error("the state is still locked")
	}
	// The diagnostics report the result of each deployment and the next step.
	for _, want := range []string{"Target all: the apply was interrupted", "Finished (", "Started and not finished (", "b/b0", "Next: Apply again. The next apply keeps what is finished."} {
		if !strings.Contains(strings.Join(strings.Fields(strings.ReplaceAll(output, "│", " ")), " "), want) {
			t.Errorf("the output does not have %q:\n%s", want, output)
		}
	}
	states := o.states(t)
	if len(states) != 3*o.bundles || states["b/b0"] != "ErrApplied" {
		t.Errorf("saved states: %v", states)
	}
	for key, state := range states {
		// The hook of b1 is a pod as well, so the hook cannot finish on b.
		if state != "Ready" && key != "b/b0" && key != "b/b1" {
			t.Errorf("%s is %s", key, state)
		}
	}
	before := o.observe(t)
	if err := o.client(t, 1).CoreV1().ResourceQuotas(o.namespace).Delete(t.Context(), "no-pods", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	o.set(nil)
	o.timeout = "60s"
	o.deploy(t, "first")
	o.apply(t)
	expectHealthyUntouched(t, before, o.expectWhole(t, "first"))
	o.expectEmptyPlan(t)
}
