package release

import (
	"time"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/target"
)

// UninstallPolicy say how a release is handled when it goes. They travel with its mark: by
// then the bundle that asked for them can be gone.
type UninstallPolicy struct {
	// KeepResources leaves the objects where they are; only the record goes.
	KeepResources bool
	// DeleteNamespace deletes the namespace with the last release in it.
	DeleteNamespace bool
	// NamespaceKeys says that the release has labels or annotations on its
	// namespace.
	NamespaceKeys bool
	// ServiceAccount is who acts on the release, "" for the identity of the
	// connection.
	ServiceAccount string
	// OwnValues says that no value came from the cluster, was write-only or was decrypted, so
	// that what was rendered contains no other secrets than those of Secrets.
	OwnValues bool
}

// UninstallPolicyOf reads them from the options of a deployment.
func UninstallPolicyOf(d target.Deployment) UninstallPolicy {
	return UninstallPolicy{
		KeepResources:   d.Options.KeepResources,
		DeleteNamespace: d.Options.DeleteNamespace && !d.Options.KeepResources,
		NamespaceKeys:   len(d.Options.NamespaceLabels)+len(d.Options.NamespaceAnnotations) > 0,
		ServiceAccount:  d.Options.ServiceAccount,
		OwnValues:       !d.HidesContent(),
	}
}

// Removal says how one release is removed.
type Removal struct {
	// Mark is that of the target that removes the release, and TakeOwnership its consent to
	// remove what another tool has changed. They decide again before another attempt.
	Mark          Mark
	TakeOwnership bool
	// KeepObjects are the keys of objects that stay because another release owns them.
	KeepObjects map[string]bool
	// Timeout is for objects and hooks together.
	Timeout time.Duration
	// NamespaceUsedBy are other releases that are to be deployed to its namespace, which
	// stays for them.
	NamespaceUsedBy []string
	// Known is what state says of the release. Its terms, its restriction to a namespace
	// and its content decide; what the record says does not.
	Known Known
	// Listener follows the removal, nil for nobody.
	Listener Listener
}

// Removed is what a removal left behind although it went well.
type Removed struct {
	// Kept are the keys of objects that ask to be kept (helm.sh/resource-policy).
	Kept []string
	// InNamespace names some of what keeps a namespace from being deleted that was
	// to go with its release.
	InNamespace []string
	// NotOwned are the keys of objects that the record names and that were left: their
	// live annotations do not name the release, or they are outside of its namespace.
	NotOwned []string
	// Untrusted reports that the record was not the one that state knows, so that its
	// hooks were not run.
	Untrusted bool
}
