package connect

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// slow is a command that prints a token after a second.
type slow struct{ begun, ended atomic.Int32 }

func (s *slow) read(ctx context.Context) (*credentials, error) {
	s.begun.Add(1)
	select {
	case <-time.After(time.Second):
		s.ended.Add(1)
		return &credentials{token: "x"}, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// Requests share one reading. A request that ends early gets the reason, and the others their credentials.
func TestCredentialsOfRequestsThatEnd(t *testing.T) {
	t.Parallel()
	for name, patient := range map[string]int{"some wait": 3, "nobody waits": 0} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var (
					from     slow
					requests sync.WaitGroup
				)
				a := newAuthenticator(time.Minute, from.read)
				ending, end := context.WithCancelCause(t.Context())
				over := errors.New("the request is over")
				requests.Go(func() {
					if _, err := a.credentials(ending); !errors.Is(err, over) {
						t.Errorf("the first request: %v", err)
					}
				})
				synctest.Wait()
				for range patient {
					requests.Go(func() {
						if got, err := a.credentials(t.Context()); err != nil || got.token != "x" {
							t.Errorf("another request: %v, %v", got, err)
						}
					})
				}
				synctest.Wait()
				end(over)
				requests.Wait()
				synctest.Wait()
				if want := min(patient, 1); int(from.ended.Load()) != want || from.begun.Load() > 2 {
					t.Errorf("%d readings ended of %d, want %d", from.ended.Load(), from.begun.Load(), want)
				}
			})
		})
	}
}

// A command that takes too long is not waited for twice. A request that takes too long is no such command.
func TestCredentialsThatTakeTooLong(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var from slow
		a := newAuthenticator(500*time.Millisecond, from.read)
		hurried, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		if _, err := a.credentials(hurried); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a request with little time: %v", err)
		}
		for range 3 {
			if _, err := a.credentials(t.Context()); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("error = %v, want that the command takes too long", err)
			}
		}
		if got := from.begun.Load(); got != 2 {
			t.Errorf("the command ran %d times, want once for each of the first two requests", got)
		}
	})
}
