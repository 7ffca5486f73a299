package release

import (
	"time"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/target"
)

// UninstallPolicy describes how a release is handled when it is removed. It is stored with the
// mark, because the bundle that set it may no longer exist then.
type UninstallPolicy struct {
	// ServiceAccount is the service account that removes the release, "" for the identity of the
	// connection.
	ServiceAccount string `json:"service_account,omitempty"`
	// KeepResources keeps the objects; only the record is removed.
	KeepResources bool `json:"keep_resources,omitempty"`
	// DeleteNamespace deletes the namespace with the last release in it.
	DeleteNamespace bool `json:"delete_namespace,omitempty"`
	// NamespaceKeys is true if the release sets labels or annotations on its namespace.
	NamespaceKeys bool `json:"namespace_keys,omitempty"`
	// OwnValues is true if no value came from the cluster, was write-only or was decrypted. Then
	// only Secrets among the rendered objects contain secrets.
	OwnValues bool `json:"own_values,omitempty"`
}

// UninstallPolicyOf reads the policy from the options of a deployment.
func UninstallPolicyOf(d target.Deployment) UninstallPolicy {
	return UninstallPolicy{
		KeepResources:   d.Options.KeepResources,
		DeleteNamespace: d.Options.DeleteNamespace && !d.Options.KeepResources,
		NamespaceKeys:   len(d.Options.NamespaceLabels)+len(d.Options.NamespaceAnnotations) > 0,
		ServiceAccount:  d.Options.ServiceAccount,
		OwnValues:       !d.HidesContent(),
	}
}

// Removal describes how one release is removed.
type Removal struct {
	// Mark and Proof are those of the target that removes the release. TakeOwnership permits it to
	// remove a release that another tool has changed. All are checked again before another attempt.
	Mark          Mark
	Proof         Proof
	TakeOwnership bool
	// KeepObjects are the keys of objects that are kept because another release owns them.
	KeepObjects map[string]bool
	// Timeout is for objects and hooks together.
	Timeout time.Duration
	// NamespaceUsedBy are other releases that are to be deployed to its namespace. The namespace is
	// kept for them.
	NamespaceUsedBy []string
	// Known is the data about the release in state. Its uninstall policy and its restriction to a
	// namespace are used, and not those of the record.
	Known Known
	// Objects are the keys of the objects of the release in state, none if it does not have them.
	// They count if the content of the record is not trusted.
	Objects []string
	// Listener follows the removal, nil for none.
	Listener Listener
}

// Claimant returns the target that removes the release.
func (r Removal) Claimant() Claimant { return Claimant{Mark: r.Mark, Proof: r.Proof, Known: &r.Known} }

// Removed is what a successful removal left behind.
type Removed struct {
	// Kept are the keys of objects that have the annotation helm.sh/resource-policy and were kept
	// for that reason.
	Kept []string
	// InNamespace names some of what prevents the deletion of a namespace that was to be deleted
	// with its release.
	InNamespace []string
	// NotOwned are the keys of objects in the record that were not deleted: their live annotations
	// do not name the release, or they are outside of its namespace.
	NotOwned []string
	// Untrusted reports that the record was not proven to be as the target wrote it, so that its
	// hooks were not run.
	Untrusted bool
}
