// Package panics turns a panic into an error of the function or the goroutine that it happened in.
package panics

import (
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
)

// Error reports that an operation on a cluster ended in a panic. Helm panics on a release
// record that it cannot decode (helm.sh/helm/v3, pkg/storage/driver/secrets.go, Get). What the
// operation had done before stays done.
type Error struct {
	// Doing describes the operation, such as "installing release web in namespace web".
	Doing string
	// Reason is the text of a panic of the Go runtime. For any other panic it is a type,
	// because the text can contain values or credentials.
	Reason string
	// Stack is the stack of the panic, for a debug log. It contains no values.
	Stack string
}

func (e *Error) Error() string {
	return fmt.Sprintf("%s: internal error: %s (a damaged release record or file can be the cause)", e.Doing, e.Reason)
}

// Recover is deferred: it turns a panic into the error of the function that defers it. Each
// goroutine needs its own deferred call. A panic that no function of its goroutine recovers
// ends the process, and all work on clusters.
func Recover(doing string, err *error) {
	raised := recover()
	if raised == nil {
		return
	}
	*err = &Error{Doing: doing, Reason: reason(raised), Stack: string(debug.Stack())}
}

// Recovering returns a function for a goroutine that returns a panic as an error.
func Recovering(doing string, run func() error) func() error {
	return func() (err error) {
		defer Recover(doing, &err)
		return run()
	}
}

// RecoveringTo returns a function for a goroutine that has no result. It passes the error of a
// panic to failed.
func RecoveringTo(failed func(error), doing string, run func()) func() {
	return func() {
		if err := Recovering(doing, func() error {
			run()
			return nil
		})(); err != nil {
			failed(err)
		}
	}
}

func reason(raised any) string {
	if raised, ok := raised.(error); ok {
		if fault, ok := errors.AsType[runtime.Error](raised); ok {
			return fault.Error()
		}
	}
	return fmt.Sprintf("a panic with a %T", raised)
}
