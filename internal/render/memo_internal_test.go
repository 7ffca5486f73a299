package render

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/panics"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/release"
)

// If a rendering panics, all callers that wait for it get the panic as an error. No error contains
// the text of the panic, which can contain values.
func TestMemoRecovers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var of memo[planned]
		begun, goOn := make(chan struct{}), make(chan struct{})
		var once sync.Once
		create := func(context.Context) (planned, error) {
			once.Do(func() { close(begun) })
			<-goOn
			panic("password=hunter2")
		}
		errs := make([]error, 2)
		var asking sync.WaitGroup
		for i := range errs {
			asking.Go(panics.RecoveringTo(func(err error) { errs[i] = errors.Join(errors.New("it panicked"), err) }, "asking", func() {
				_, errs[i] = of.get(t.Context(), "key", create)
			}))
		}
		<-begun
		synctest.Wait()
		close(goOn)
		asking.Wait()
		for _, err := range errs {
			panicked, ok := errors.AsType[*panics.Error](err)
			if !ok || panicked.Doing != "rendering" {
				t.Fatalf("error = %v, want the panic of the rendering", err)
			}
			if strings.Contains(panicked.Error()+panicked.Stack, "hunter2") {
				t.Errorf("what the panic was given shows: %v", panicked)
			}
		}
		// Nothing is cached.
		made, err := of.get(t.Context(), "key", func(context.Context) (planned, error) { return planned{release.Rendering{Chart: "web"}}, nil })
		if err != nil || made.Chart != "web" {
			t.Errorf("got %v, %v", made, err)
		}
	})
}
