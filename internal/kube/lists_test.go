package kube

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/panics"
)

// shelf contains the objects of a list. Reading it takes a second.
type shelf struct {
	readings atomic.Int32
	version  atomic.Int32
	err      error
}

func (s *shelf) read(ctx context.Context, _ sharedKey, wanted map[string]bool) (map[string]*unstructured.Unstructured, bool, error) {
	s.readings.Add(1)
	seen := fmt.Sprint(s.version.Load())
	select {
	case <-time.After(time.Second):
	case <-ctx.Done():
		return nil, false, context.Cause(ctx)
	}
	found := map[string]*unstructured.Unstructured{}
	for name := range wanted {
		object := &unstructured.Unstructured{Object: map[string]any{}}
		object.SetResourceVersion(seen)
		found[name] = object
	}
	return found, true, s.err
}

func TestListsAreShared(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var (
			shared  lists
			from    shelf
			readers sync.WaitGroup
		)
		const many = 50
		for i := range many {
			readers.Go(func() {
				name := fmt.Sprint(i)
				found, complete, err := shared.read(t.Context(), sharedKey{}, []string{name}, from.read)
				if err != nil || !complete || found[name] == nil {
					t.Errorf("reader %d got %v, complete %t (%v)", i, found[name], complete, err)
				}
			})
		}
		readers.Wait()
		if got := from.readings.Load(); got != 2 {
			t.Errorf("%d readers took %d readings, want the first one's and one for all others", many, got)
		}
	})
}

// A caller that reads after a change sees the change, even if the list of another caller is
// running.
func TestListsAreReadAfterTheQuestion(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var (
			shared lists
			from   shelf
			first  sync.WaitGroup
		)
		first.Go(func() { _, _, _ = shared.read(t.Context(), sharedKey{}, []string{"a"}, from.read) })
		synctest.Wait() // The first one is reading.
		from.version.Add(1)
		found, _, err := shared.read(t.Context(), sharedKey{}, []string{"a"}, from.read)
		if err != nil || found["a"].GetResourceVersion() != "1" {
			t.Errorf("got version %q (%v), want what there was when it was asked", found["a"].GetResourceVersion(), err)
		}
		first.Wait()
	})
}

func TestListsOfOthers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var shared lists
		from, failing := &shelf{}, &shelf{err: errors.New("no")}
		var readers sync.WaitGroup
		readers.Go(func() {
			if _, _, err := shared.read(t.Context(), sharedKey{depth: onlyMetadata}, []string{"a"}, failing.read); err == nil {
				t.Error("an error is lost")
			}
		})
		readers.Go(func() {
			if _, _, err := shared.read(t.Context(), sharedKey{}, []string{"a"}, from.read); err != nil {
				t.Errorf("the error of another group: %v", err)
			}
		})
		readers.Wait()
	})
}

// A caller that stops waiting does not end the list for others. When the last caller stops, the
// list ends.
func TestListsAreGivenUp(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var (
			shared  lists
			from    shelf
			readers sync.WaitGroup
		)
		leaving, leave := context.WithCancel(t.Context())
		for _, ctx := range []context.Context{leaving, t.Context(), leaving} {
			readers.Go(func() {
				_, _, err := shared.read(ctx, sharedKey{}, []string{"a"}, from.read)
				if (err != nil) != (ctx == leaving) {
					t.Errorf("leaves: %t, error %v", ctx == leaving, err)
				}
			})
			synctest.Wait()
		}
		leave()
		readers.Wait()
		began := time.Now()
		gone, end := context.WithCancel(t.Context())
		end()
		if _, _, err := shared.read(gone, sharedKey{}, []string{"a"}, from.read); !errors.Is(err, context.Canceled) {
			t.Errorf("error = %v, want that it was given up", err)
		}
		synctest.Wait()
		if took := time.Since(began); took != 0 || len(shared.running) != 0 || len(shared.next) != 0 {
			t.Errorf("a list that nobody waits for goes on: %v, %v", shared.running, shared.next)
		}
	})
}

// All callers that wait for a list get an error if reading it panics. A caller that has requested
// the next list in the meantime gets that list, read with its own function.
func TestListThatPanics(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var (
			shared  lists
			readers sync.WaitGroup
		)
		begun, end := make(chan struct{}), make(chan struct{})
		readers.Go(func() {
			_, _, err := shared.read(t.Context(), sharedKey{}, []string{"a"}, func(context.Context, sharedKey, map[string]bool) (map[string]*unstructured.Unstructured, bool, error) {
				close(begun)
				<-end
				panic("broken")
			})
			if panicked := new(panics.Error); !errors.As(err, &panicked) {
				t.Errorf("error = %v, want a panic", err)
			}
		})
		<-begun
		readers.Go(func() {
			found := func(context.Context, sharedKey, map[string]bool) (map[string]*unstructured.Unstructured, bool, error) {
				return nil, true, nil
			}
			if _, complete, err := shared.read(t.Context(), sharedKey{}, []string{"a"}, found); err != nil || !complete {
				t.Errorf("the next list: complete %t, %v", complete, err)
			}
		})
		synctest.Wait()
		close(end)
		readers.Wait()
	})
}
