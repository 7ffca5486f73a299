// Package deploy has the types that planning, carrying out and reporting deployments share: keys,
// records, failures, what was observed and how an apply ended.
package deploy

import (
	"cmp"
	"maps"
	"slices"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/release"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/target"
)

// Key names one deployment.
type Key struct {
	Cluster string
	Bundle  string
}

func (k Key) String() string { return target.Key(k.Cluster, k.Bundle) }

// Compare sorts by cluster, then by bundle.
func (k Key) Compare(other Key) int {
	return cmp.Or(cmp.Compare(k.Cluster, other.Cluster), cmp.Compare(k.Bundle, other.Bundle))
}

// KeyOf returns the key of a deployment.
func KeyOf(d target.Deployment) Key { return Key{Cluster: d.Cluster, Bundle: d.Bundle.Name} }

// Failure returns a failure of the deployment. doing is what was being done, such as "installing".
func (k Key) Failure(doing string, err error) Failure {
	return Failure{Cluster: k.Cluster, Bundle: k.Bundle, Doing: doing, Err: err}
}

// Failure is one deployment that did not reach the wanted state.
type Failure struct {
	Cluster string
	Bundle  string
	// Doing is what was being done, such as "installing".
	Doing string
	Err   error
}

// IsRemoval reports whether a deployment was to be removed.
func (f Failure) IsRemoval() bool { return f.Doing == Removing }

// Notice is a fact about a deployment that the user should read although nothing failed.
type Notice struct {
	Cluster string
	Bundle  string
	Removed release.Removed
	// LeftTo names the owner that has taken the release over, so that it was not removed.
	LeftTo string
	// Remains is why the release can still be on the cluster, "" if it is not.
	Remains string
	// Accepted are fields that the cluster changed when they were written, each with its object.
	// They are no drift as long as they stay as they are.
	Accepted []string
	// Waits is what a deployment that was left to Fleet waits for, "" if it is carried out.
	Waits string
}

// Compare sorts by cluster, then by bundle.
func (n Notice) Compare(other Notice) int {
	return cmp.Or(cmp.Compare(n.Cluster, other.Cluster), cmp.Compare(n.Bundle, other.Bundle))
}

// Versions maps objects that values come from to the version of each.
type Versions = map[target.Reference]string

// Removing is Failure.Doing of a removal.
const Removing = "removing"

// ReleaseOn is a key of a release on a cluster.
func ReleaseOn(cluster, namespace, name string) string {
	return cluster + " " + release.Key(namespace, name)
}

// FailuresOf returns errors by deployment as failures, sorted.
func FailuresOf(errs map[Key]error) []Failure {
	failures := make([]Failure, 0, len(errs))
	for _, key := range slices.SortedFunc(maps.Keys(errs), Key.Compare) {
		failures = append(failures, key.Failure("", errs[key]))
	}
	return failures
}

// Compare sorts by cluster, then by bundle.
func (f Failure) Compare(other Failure) int {
	return cmp.Or(cmp.Compare(f.Cluster, other.Cluster), cmp.Compare(f.Bundle, other.Bundle))
}
