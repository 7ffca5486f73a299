// Package retry repeats requests to clusters, operations on clusters and downloads that failed
// for a temporary reason. No other package of this module counts tries or pauses. The caller
// decides what may be repeated and after which failure.
package retry

import (
	"context"
	"errors"
	"time"

	"github.com/cenkalti/backoff/v5"
)

// Policy defines how long the pauses between tries are and when the tries end.
type Policy struct {
	// First is the pause after the first try. Each following pause is longer by Factor, up to
	// Longest.
	First, Longest time.Duration
	Factor         float64
	// Jitter is the part of a pause by which it is longer or shorter at random.
	Jitter float64
	// Tries is the maximum number of tries, 0 for no limit.
	Tries uint
	// Limit is the time in which a try may start, 0 for no limit.
	Limit time.Duration
}

// Within returns the policy with another Limit.
func (p Policy) Within(limit time.Duration) Policy {
	p.Limit = limit
	return p
}

// Pauses returns a function that returns one pause after the other.
func (p Policy) Pauses() func() time.Duration { return p.backOff().NextBackOff }

func (p Policy) backOff() *backoff.ExponentialBackOff {
	pauses := &backoff.ExponentialBackOff{
		InitialInterval: p.First, MaxInterval: p.Longest, Multiplier: p.Factor, RandomizationFactor: p.Jitter,
	}
	pauses.Reset()
	return pauses
}

// Permanent marks an error after which Do does not try again. Do returns it without the mark.
func Permanent(err error) error { return backoff.Permanent(err) }

// IsPermanent reports whether an error has the mark of Permanent.
func IsPermanent(err error) bool {
	_, is := errors.AsType[*backoff.PermanentError](err)
	return is
}

// Do calls operation until it succeeds, its error is Permanent, or the policy or ctx ends. The
// operation is called at least once. Do returns its last result and error, or the cause of ctx
// if that has ended.
func Do[T any](ctx context.Context, p Policy, operation func() (T, error)) (T, error) {
	return DoNotify(ctx, p, operation, nil)
}

// DoNotify is Do, but it also calls notify before each pause, with the error and the length of
// the pause.
func DoNotify[T any](ctx context.Context, p Policy, operation func() (T, error), notify func(error, time.Duration)) (T, error) {
	result, err := backoff.Retry(ctx, operation,
		backoff.WithBackOff(p.backOff()), backoff.WithMaxTries(p.Tries), backoff.WithMaxElapsedTime(p.Limit), backoff.WithNotify(notify))
	if marked, ok := errors.AsType[*backoff.PermanentError](err); ok { // The error of the last allowed try still has the mark.
		err = marked.Unwrap()
	}
	return result, err
}

// Until calls done until it returns true, or the policy or ctx ends. Until calls done at least
// once and reports whether done returned true.
func Until(ctx context.Context, p Policy, done func() bool) bool {
	_, err := Do(ctx, p, func() (struct{}, error) {
		if !done() {
			return struct{}{}, errNotDone
		}
		return struct{}{}, nil
	})
	return err == nil
}

var errNotDone = errors.New("not done yet")

// While calls operation until it succeeds, its error need not be tried again, or the policy or ctx
// ends. It returns the last error.
func While(ctx context.Context, p Policy, isTemporary func(error) bool, operation func() error) error {
	_, err := Do(ctx, p, func() (struct{}, error) {
		err := operation()
		if err != nil && !isTemporary(err) {
			err = Permanent(err)
		}
		return struct{}{}, err
	})
	return err
}
