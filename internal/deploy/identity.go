package deploy

import (
	"cmp"
	"fmt"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/release"
)

// TargetIdentity identifies the target whose deployments are read.
type TargetIdentity struct {
	Owner, Target, Instance string
	// AdoptionKey is a hash of the target's adoption key, "" if it has none.
	AdoptionKey string
	// Key proves which release records the target wrote; see release.RecordKey.
	Key string
}

// Mark returns the mark that the target writes on the record of a bundle's release.
func (i TargetIdentity) Mark(bundle, digest string) release.Mark {
	mark := release.NewMark(i.Owner, i.Target, i.Instance, bundle, digest)
	mark.AdoptionKey = i.AdoptionKey
	return mark
}

// Claimant returns the target in relation to a release. uid is the identity of the cluster as it
// was read, and known is what state has of the release, nil for nothing.
func (i TargetIdentity) Claimant(bundle, digest, uid string, known *release.Known) release.Claimant {
	if known != nil {
		uid = cmp.Or(uid, known.UID)
	}
	return release.Claimant{Mark: i.Mark(bundle, digest), Proof: release.Proof{Key: i.Key, UID: uid}, Known: known}
}

// Existing returns releases with the owner and the name of the target that are in no state of the
// target, sorted. A release with its adoption key is its own.
func (i TargetIdentity) Existing(snapshot release.Snapshot) []release.Observed {
	return snapshot.Owned(i.Claimant("", "", snapshot.UID, nil), release.SameName)
}

// OtherClusterError reports that a connection leads to another cluster than the planned one.
type OtherClusterError struct {
	Cluster string
	// Want and Got are UIDs of the namespace kube-system. Got is "" if the cluster does not return
	// it.
	Want, Got string
}

func (e *OtherClusterError) Error() string {
	if e.Got == "" {
		return fmt.Sprintf("the cluster does not return the UID of its namespace kube-system, which has to be %s", e.Want)
	}
	return fmt.Sprintf("the connection reaches another cluster: the UID of its namespace kube-system is %s, and has to be %s", e.Got, e.Want)
}
