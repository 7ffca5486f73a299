// Package wellknown contains the names of labels and annotations by which Helm, Kubernetes, Fleet
// and Rancher identify objects. Each name is there once, with its source. Names that this provider
// itself defines are with the code that writes them.
package wellknown

// Annotations of objects of a release, and the value of ManagedBy on them
// (helm.sh/helm/v3, pkg/action/validate.go).
const (
	ReleaseName      = "meta.helm.sh/release-name"
	ReleaseNamespace = "meta.helm.sh/release-namespace"
	ManagedByHelm    = "Helm"
)

// Annotation of objects that Helm does not delete when a release no longer has them, and its value
// (helm.sh/helm/v3, pkg/kube/resource_policy.go).
const (
	ResourcePolicy = "helm.sh/resource-policy"
	KeepPolicy     = "keep"
)

// Hook is the annotation that makes an object a hook (helm.sh/helm/v3, pkg/release/hook.go).
const Hook = "helm.sh/hook"

// Labels of release records; RecordOwnerHelm is the value of RecordOwner on all of them
// (helm.sh/helm/v3, pkg/storage/driver/secrets.go).
const (
	RecordOwner     = "owner"
	RecordOwnerHelm = "helm"
	RecordName      = "name"
	RecordStatus    = "status"
	RecordVersion   = "version"
)

// Names of release records begin with RecordPrefix (helm.sh/helm/v3, pkg/storage/storage.go). Their
// Secrets have the type RecordType, with the record under RecordKey
// (pkg/storage/driver/secrets.go).
const (
	RecordPrefix = "sh.helm.release.v1."
	RecordType   = "helm.sh/release.v1"
	RecordKey    = "release"
)
