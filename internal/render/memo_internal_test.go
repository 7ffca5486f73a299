package render

import (
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/release"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/status"
)

// All that wait for a rendering that panics get the panic as an error, and its own
// attempt after that as well. Its text, which can contain values, is in neither.
func TestMemoRecovers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var of memo[planned]
		begun, goOn := make(chan struct{}), make(chan struct{})
		var once sync.Once
		create := func() (planned, error) {
			once.Do(func() { close(begun) })
			<-goOn
			panic("password=hunter2")
		}
		errs := make([]error, 2)
		var asking sync.WaitGroup
		for i := range errs {
			asking.Go(status.RecoveringTo(func(err error) { errs[i] = errors.Join(errors.New("it panicked"), err) }, "asking", func() {
				_, errs[i] = of.get(t.Context(), "key", create)
			}))
		}
		<-begun
		synctest.Wait()
		close(goOn)
		asking.Wait()
		for _, err := range errs {
			panicked, ok := errors.AsType[*status.PanicError](err)
			if !ok || panicked.Doing != "rendering" {
				t.Fatalf("error = %v, want the panic of the rendering", err)
			}
			if strings.Contains(panicked.Error()+panicked.Stack, "hunter2") {
				t.Errorf("what the panic was given shows: %v", panicked)
			}
		}
		// Nothing of it is remembered.
		made, err := of.get(t.Context(), "key", func() (planned, error) { return planned{release.Rendering{Chart: "web"}}, nil })
		if err != nil || made.Chart != "web" {
			t.Errorf("got %v, %v", made, err)
		}
	})
}
