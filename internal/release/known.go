package release

// Known is the data about a release in Terraform's state. An apply wrote it, or a refresh or an
// import that the user requested. Nothing that others write into a cluster changes it. So Known decides what may be removed, where, and with which identity. The content of
// the release record is not proof of that.
type Known struct {
	Release   string `json:"release"`
	Namespace string `json:"namespace"`
	// UID is the identity of the cluster, "" if it could not be read.
	UID string `json:"cluster_uid,omitempty"`
	// Instance is the id of the target on the record when the record was last read.
	Instance string `json:"instance,omitempty"`
	// Digest is the full digest of the deployment.
	Digest string `json:"digest,omitempty"`
	// Key is the key that proves who wrote the record of the release.
	Key string `json:"key,omitempty"`
	// Imported reports that the release was imported and this target did not write it since. Then
	// the key has proven nothing yet.
	Imported bool `json:"imported,omitempty"`
	// Revision is the newest revision of the release that the target wrote or that was proven, 0 if
	// none is known. An older one is not trusted. It also names the record that is read before the
	// release counts as removed.
	Revision int `json:"revision,omitempty"`
	// TargetNamespace is the one namespace of all objects of the release, "" for a release that is
	// not restricted.
	TargetNamespace string `json:"target_namespace,omitempty"`
	// Engine reports that a Fleet delivered the release, so that only that Fleet changes it.
	Engine bool `json:"engine,omitempty"`
	// UninstallPolicy applies to the removal of the release.
	UninstallPolicy
}
