package status_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/status"
)

// withText wraps an error with another text, as a masker does.
func withText(err error, text string) error { return &textError{err, text} }

type textError struct {
	err  error
	text string
}

func (e *textError) Error() string { return e.text }
func (e *textError) Unwrap() error { return e.err }

// Errors have one template if they differ in names of objects only. Everything else distinguishes
// them.
func TestTemplate(t *testing.T) {
	t.Parallel()
	full, other := errors.New("the disk is full"), errors.New("the network is down")
	installing := func(name string, err error) error {
		return status.Named(err, "installing release %s in namespace %s", name, "ns")
	}
	tests := map[string]struct {
		a, b error
		same bool
	}{
		"names differ":             {installing("x", full), installing("y", full), true},
		"causes differ":            {installing("x", full), installing("x", other), false},
		"without a cause":          {status.Named(nil, "release %s is not ready", "x"), status.Named(nil, "release %s is not ready", "y"), true},
		"operations differ":        {installing("x", full), status.Named(full, "removing release %s in namespace %s", "x", "ns"), false},
		"below a wrapper":          {fmt.Errorf("first: %w", installing("x", full)), fmt.Errorf("first: %w", installing("y", full)), true},
		"below different wrappers": {fmt.Errorf("first: %w", installing("x", full)), fmt.Errorf("second: %w", installing("y", full)), false},
		"masked":                   {withText(installing("x", full), "masked x"), withText(installing("y", full), "masked y"), true},
		"on clusters that deny":    {&status.DeniedError{Cluster: "a", Err: installing("x", full)}, &status.DeniedError{Cluster: "b", Err: installing("y", full)}, true},
		"denied and busy":          {&status.DeniedError{Cluster: "a", Err: installing("x", full)}, &status.BusyError{Cluster: "a", Err: installing("x", full)}, false},
		"joined with a type":       {installing("x", withText(errors.Join(full, errors.New("code 500")), full.Error())), installing("y", full), true},
		"an answer names the object": {
			installing("x", status.Quoting(errors.New(`services "a" is invalid`), "a")), installing("y", status.Quoting(errors.New(`services "b" is invalid`), "b")), true,
		},
		"an answer names another object": {
			installing("x", status.Quoting(errors.New(`services "a" is invalid`), "x")), installing("y", status.Quoting(errors.New(`services "b" is invalid`), "y")), false,
		},
		"an answer names the release":     {installing("x", errors.New(`no "x" in "ns"`)), installing("y", errors.New(`no "y" in "ns"`)), true},
		"several errors":                  {errors.Join(installing("x", full), other), errors.Join(installing("y", full), full), false},
		"on clusters that do not respond": {&status.UnreachableError{Cluster: "a", Err: full}, installing("x", &status.UnreachableError{Cluster: "b", Err: full}), true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if a, b := status.Template(test.a), status.Template(test.b); (a == b) != test.same {
				t.Errorf("templates %q and %q", a, b)
			}
		})
	}
}
