package release

// Known is what Terraform's state says of a release. An apply wrote it, or a refresh or an
// import that the user asked for. Nothing that is written into a cluster changes it, but
// for Revision, so it decides what may be removed, where, and as whom. What the release record says is a claim.
type Known struct {
	Release   string
	Namespace string
	// UID is the identity of the cluster, "" where the cluster did not show it.
	UID string
	// Instance is the id of the target that the record was last seen with.
	Instance string
	// Digest is that of the deployment, in full.
	Digest string
	// Content covers the manifest and the hooks of the newest record that this target
	// wrote or verified; "" if none is known. A record with other content is not trusted:
	// none of its hooks runs and no rollback uses it.
	Content string
	// Revision is the newest that was seen of the release, 0 in a state of an earlier version.
	// It says only which record to ask for by its name, before the release counts as gone.
	Revision int
	// TargetNamespace is the one namespace that all objects of the release are in, "" for
	// a release that is not restricted.
	TargetNamespace string
	// Engine reports that a Fleet delivered the release, so that only that Fleet changes it.
	Engine bool
	// UninstallPolicy hold for the removal of the release.
	UninstallPolicy UninstallPolicy
}

// Trusts reports whether a record with this content is the one that state knows. It is
// safe to call on nil, which trusts nothing.
func (k *Known) Trusts(content string) bool {
	return k != nil && k.Content != "" && k.Content == content
}
