package wellknown

// ManagedBy is the label that names the tool which manages an object
// (https://kubernetes.io/docs/reference/labels-annotations-taints/).
const ManagedBy = "app.kubernetes.io/managed-by"

// Annotations of kubectl begin with KubectlPrefix. kubectl stores a whole object in LastApplied
// (k8s.io/api, core/v1, annotation_key_constants.go).
const (
	KubectlPrefix = "kubectl.kubernetes.io/"
	LastApplied   = KubectlPrefix + "last-applied-configuration"
)
