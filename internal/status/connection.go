package status

import (
	"fmt"
	"strings"
)

// MissingClusterError reports that the provider's configuration has no such cluster.
type MissingClusterError struct {
	Name  string
	Known []string
}

func (e *MissingClusterError) Error() string {
	if len(e.Known) == 0 {
		return fmt.Sprintf("the provider has no clusters, and cluster %q is needed", e.Name)
	}
	return fmt.Sprintf("the provider's clusters do not contain %q, only %s", e.Name, strings.Join(e.Known, ", "))
}

// UnknownConnectionError reports a cluster whose connection is not known before an apply.
type UnknownConnectionError struct{ Cluster string }

func (e *UnknownConnectionError) Error() string {
	return fmt.Sprintf("the connection of cluster %s is not known yet", e.Cluster)
}

// ConnectionError reports a connection that cannot be created from its configuration, such as
// a kubeconfig file that does not exist.
type ConnectionError struct {
	Cluster string
	// Invalid is set if the configuration itself is wrong, whatever its files contain later.
	Invalid bool
	Err     error
}

func (e *ConnectionError) Error() string {
	return fmt.Sprintf("reading the connection of cluster %s: %v", e.Cluster, e.Err)
}

func (e *ConnectionError) Unwrap() error { return e.Err }
