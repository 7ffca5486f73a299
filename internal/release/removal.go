package release

import (
	"time"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/target"
)

// Terms say how a release is handled when it goes. They travel with its mark: by
// then the bundle that asked for them can be gone.
type Terms struct {
	// KeepResources leaves the objects where they are; only the record goes.
	KeepResources bool
	// DeleteNamespace deletes the namespace with the last release in it.
	DeleteNamespace bool
	// NamespaceKeys says that the release has labels or annotations on its
	// namespace.
	NamespaceKeys bool
	// HidesObjects says that values come from Secrets or ConfigMaps, so that nothing
	// about the content of an object may show.
	HidesObjects bool
	// ServiceAccount is who acts on the release, "" for the identity of the
	// connection.
	ServiceAccount string
}

// TermsOf reads them from the options of a deployment.
func TermsOf(d target.Deployment) Terms {
	return Terms{
		KeepResources:   d.Options.KeepResources,
		DeleteNamespace: d.Options.DeleteNamespace && !d.Options.KeepResources,
		NamespaceKeys:   len(d.Options.NamespaceLabels)+len(d.Options.NamespaceAnnotations) > 0,
		HidesObjects:    len(d.ValuesFrom()) > 0,
		ServiceAccount:  d.Options.ServiceAccount,
	}
}

// Removal says how one release is removed.
type Removal struct {
	// Spare are the keys of objects that stay because another release holds them.
	Spare map[string]bool
	// Timeout is for objects and hooks together.
	Timeout time.Duration
}

// Removed is what a removal left behind although it went well.
type Removed struct {
	// Kept are the keys of objects that ask to be kept (helm.sh/resource-policy).
	Kept []string
	// InNamespace names some of what keeps a namespace from being deleted that was
	// to go with its release.
	InNamespace []string
}
