package status

import (
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
)

// PanicError says that an operation on a cluster broke off in a panic, as Helm
// does on a release record that it cannot decode
// (helm.sh/helm/v3, pkg/storage/driver/secrets.go, Get). What the operation had
// done until then stays done.
type PanicError struct {
	// Doing is what was being done to what, such as "installing release web in
	// namespace web".
	Doing string
	// Reason is the text of the panic if the Go runtime raised it. Else it is a
	// type: text that somebody made can hold values or credentials.
	Reason string
	// Stack is where it happened, for a debug log. It holds no values.
	Stack string
}

func (e *PanicError) Error() string {
	return fmt.Sprintf("%s: internal error: %s (a damaged release record or file can be the cause)", e.Doing, e.Reason)
}

// Recover is deferred: it makes a panic the error of the function that it ends. A
// goroutine needs one of its own. A panic that is not recovered where it was raised ends
// the process, and with it the work on all clusters.
func Recover(doing string, err *error) {
	raised := recover()
	if raised == nil {
		return
	}
	*err = &PanicError{Doing: doing, Reason: reason(raised), Stack: string(debug.Stack())}
}

// Recovering makes a function for a goroutine whose panics are errors.
func Recovering(doing string, run func() error) func() error {
	return func() (err error) {
		defer Recover(doing, &err)
		return run()
	}
}

// RecoveringTo makes a function for a goroutine that returns nothing. It hands the error of
// a panic to failed.
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
