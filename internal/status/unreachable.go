package status

import "fmt"

// UnreachableError says that a cluster did not answer. It tells nothing about
// what is on the cluster.
type UnreachableError struct {
	Cluster string
	Err     error
}

func (e *UnreachableError) Error() string {
	return fmt.Sprintf("cluster %s does not respond: %v", e.Cluster, e.Err)
}

// Unwrap gives the cause.
func (e *UnreachableError) Unwrap() error { return e.Err }

// DeniedError says that a cluster answered and refused a request: wrong
// credentials, missing rights, a quota or a policy.
type DeniedError struct {
	Cluster string
	Err     error
}

func (e *DeniedError) Error() string {
	return fmt.Sprintf("cluster %s denies the request: %v", e.Cluster, e.Err)
}

// Unwrap gives the cause.
func (e *DeniedError) Unwrap() error { return e.Err }

// BusyError says that a cluster answered and could not carry a request out just
// then: too many requests, a conflict with somebody else's change, an internal
// error, an answer that broke off. The same request can succeed a moment later.
type BusyError struct {
	Cluster string
	Err     error
}

func (e *BusyError) Error() string {
	return fmt.Sprintf("cluster %s cannot process the request now: %v", e.Cluster, e.Err)
}

// Unwrap gives the cause.
func (e *BusyError) Unwrap() error { return e.Err }
