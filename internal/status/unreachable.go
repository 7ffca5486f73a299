package status

import "fmt"

// UnreachableError says that a cluster did not answer. It tells nothing about
// what is on the cluster.
type UnreachableError struct {
	Cluster string
	Err     error
}

func (e *UnreachableError) Error() string {
	return fmt.Sprintf("cluster %s does not answer: %v", e.Cluster, e.Err)
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
	return fmt.Sprintf("cluster %s refuses the request: %v", e.Cluster, e.Err)
}

// Unwrap gives the cause.
func (e *DeniedError) Unwrap() error { return e.Err }
