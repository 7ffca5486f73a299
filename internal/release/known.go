package release

// Known is the data about a release in Terraform's state. An apply wrote it, or a refresh or an
// import that the user requested. Except for Revision, nothing that is written into a cluster
// changes it. So Known decides what may be removed, where, and with which identity. The content of
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
	// Content covers the manifest and the hooks of the newest record that this target
	// wrote or verified; "" if none is known. A record with other content is not trusted:
	// none of its hooks runs and no rollback uses it.
	Content string
	// Revision is the newest revision of the release that was read, 0 in a state of an earlier
	// version. It is only used to read that record by its name before the release counts as
	// removed.
	Revision int
	// TargetNamespace is the one namespace of all objects of the release, "" for a release that is
	// not restricted.
	TargetNamespace string
	// Engine reports that a Fleet delivered the release, so that only that Fleet changes it.
	Engine bool
	// UninstallPolicy applies to the removal of the release.
	UninstallPolicy UninstallPolicy
}

// Trusts reports whether the content of a record is the content recorded in state. It is safe to
// call on nil, which trusts nothing.
func (k *Known) Trusts(content string) bool {
	return k != nil && k.Content != "" && k.Content == content
}
