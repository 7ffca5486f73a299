package status

import "fmt"

// UnreachableError reports that a cluster did not respond. What is on the cluster is then
// unknown.
type UnreachableError struct {
	Cluster string
	Err     error
}

func (e *UnreachableError) Error() string {
	return fmt.Sprintf("cluster %s does not respond: %v", e.Cluster, e.Err)
}

// Unwrap returns the cause.
func (e *UnreachableError) Unwrap() error { return e.Err }

// DeniedError reports that a cluster responded and refused a request: wrong credentials,
// missing permissions, a quota or a policy.
type DeniedError struct {
	Cluster string
	Err     error
}

func (e *DeniedError) Error() string {
	return fmt.Sprintf("cluster %s denies the request: %v", e.Cluster, e.Err)
}

// Unwrap returns the cause.
func (e *DeniedError) Unwrap() error { return e.Err }

// ExhaustedError reports that a cluster has no address or port left for a Service. The same request
// fails until somebody makes room.
type ExhaustedError struct{ Err error }

func (e *ExhaustedError) Error() string {
	return fmt.Sprintf("the cluster has no address or port left for a Service: %v", e.Err)
}

// Unwrap returns the cause.
func (e *ExhaustedError) Unwrap() error { return e.Err }

// BusyError reports that a cluster responded and could not process a request at that time.
// Causes are too many requests, a conflict with another change, an internal error, or an
// incomplete response. The same request can succeed a moment later.
type BusyError struct {
	Cluster string
	Err     error
}

func (e *BusyError) Error() string {
	return fmt.Sprintf("cluster %s cannot process the request now: %v", e.Cluster, e.Err)
}

// Unwrap returns the cause.
func (e *BusyError) Unwrap() error { return e.Err }
