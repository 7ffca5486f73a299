package release

// Known is the data about a release in Terraform's state. An apply wrote it, or a refresh or an
// import that the user requested. Nothing that others write into a cluster changes it. So Known decides what may be removed, where, and with which identity. The content of
// the release record is not proof of that.
type Known struct {
	Release   string
	Namespace string
	// UID is the identity of the cluster, "" if it could not be read.
	UID string
	// Instance is the id of the target on the record when the record was last read.
	Instance string
	// Digest is the full digest of the deployment.
	Digest string
	// Key is the key that proves who wrote the record of the release.
	Key string
	// Imported reports that the release was imported and this target did not write it since. Then
	// the key has proven nothing yet.
	Imported bool
	// Revision is the newest revision of the release that the target wrote or that was proven, 0 if
	// none is known. An older one is not trusted. It also names the record that is read before the
	// release counts as removed.
	Revision int
	// TargetNamespace is the one namespace of all objects of the release, "" for a release that is
	// not restricted.
	TargetNamespace string
	// Engine reports that a Fleet delivered the release, so that only that Fleet changes it.
	Engine bool
	// UninstallPolicy applies to the removal of the release.
	UninstallPolicy UninstallPolicy
}
