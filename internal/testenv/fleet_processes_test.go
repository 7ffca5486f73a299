//go:build unix

package testenv

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
)

// An agent ends, with status 0, when an object that it reads is missing for a moment.
func TestStartUntilReady(t *testing.T) {
	t.Parallel()
	errUnready := errors.New("it has not checked in")
	tests := map[string]struct {
		// runsFrom is the start from which on the program keeps running.
		runsFrom int
		// never is true for a program that runs and does not become ready.
		never      bool
		wantStarts int
		wantErrors []string
	}{
		"runs":                    {runsFrom: 1, wantStarts: 1},
		"ends once":               {runsFrom: 2, wantStarts: 2},
		"ends always":             {runsFrom: maxStarts + 1, wantStarts: maxStarts, wantErrors: []string{"start 1 says goodbye", "start 5 says goodbye", "exit status 0"}},
		"runs and is never ready": {runsFrom: 2, never: true, wantStarts: 2, wantErrors: []string{"start 1 says goodbye", errUnready.Error()}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			processes := &fleetProcesses{dir: t.TempDir(), running: map[string]*process{}}
			if err := os.Symlink("/bin/sh", processes.file("sh")); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() {
				if err := processes.endAll(context.WithoutCancel(t.Context())); err != nil {
					t.Error(err)
				}
			})
			starts := 0
			start := func(ctx context.Context) error {
				starts++
				script := fmt.Sprintf("echo start %d says goodbye", starts)
				if starts >= test.runsFrom {
					script = "exec sleep 600"
				}
				return processes.launch(ctx, "one", "sh", processes.file("kubeconfig"), nil, "-c", script)
			}
			ready := func(ctx context.Context) error {
				if starts >= test.runsFrom {
					if test.never {
						return errUnready
					}
					return nil
				}
				select {
				case <-processes.running["one"].exited:
					return processes.failureOf("one")
				case <-ctx.Done():
					return ctx.Err()
				}
			}
			err := processes.startUntilReady(t.Context(), "one", start, ready)
			if starts != test.wantStarts || (err == nil) != (test.wantErrors == nil) {
				t.Errorf("got %d starts and error %v, want %d starts and errors %q", starts, err, test.wantStarts, test.wantErrors)
			}
			for _, want := range test.wantErrors {
				if err != nil && !strings.Contains(err.Error(), want) {
					t.Errorf("got error %v, want %q in it", err, want)
				}
			}
		})
	}
}
