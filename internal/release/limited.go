package release

import (
	"fmt"
	"strings"
)

// CheckNamespace returns an *OutsideError if the configuration of a cluster names the namespaces of
// its releases, and not this one.
func CheckNamespace(cluster string, namespaces []string, namespace string) error {
	if isListed(namespaces, namespace) {
		return nil
	}
	return &OutsideError{Cluster: cluster, Namespaces: namespaces, Namespace: namespace}
}

// OutsideError reports a release outside the namespaces that the configuration permits on a cluster.
type OutsideError struct {
	Cluster    string
	Namespaces []string
	Namespace  string
}

func (e *OutsideError) Error() string {
	return fmt.Sprintf("the attribute namespaces of cluster %s does not contain the namespace %s; "+
		"add it if the user of the cluster may list Secrets there, or use one of: %s",
		e.Cluster, e.Namespace, strings.Join(e.Namespaces, ", "))
}

// Template is the text without names, see status.Template.
func (e *OutsideError) Template() string { return "outside the namespaces of the cluster" }

// ListDeniedError reports that a cluster refuses to list release records.
type ListDeniedError struct {
	// Namespaces are those that the configuration names, nil for all.
	Namespaces []string
	// Others are further namespaces of them with the same error.
	Others []string
	Err    error
}

func (e *ListDeniedError) Error() string {
	text := e.Err.Error()
	if len(e.Others) > 0 {
		text += ", and so in: " + strings.Join(e.Others, ", ")
	}
	return text
}

// Unwrap returns the first error.
func (e *ListDeniedError) Unwrap() error { return e.Err }
