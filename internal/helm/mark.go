package helm

import (
	"strconv"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/release"
)

// Labels of this provider on release records. Helm keeps labels that are not
// its own through upgrades and rollbacks.
const (
	labelPrefix    = "agentless-fleet.github.io/"
	labelMarkedBy  = labelPrefix + "owner"
	labelTarget    = labelPrefix + "target"
	labelInstance  = labelPrefix + "instance"
	labelWorkspace = labelPrefix + "workspace"
	labelBundle    = labelPrefix + "bundle"
	labelDigest    = labelPrefix + "digest"
	labelRevision  = labelPrefix + "revision"
)

// labelsOf writes a mark as labels.
func labelsOf(m release.Mark) map[string]string {
	return map[string]string{
		labelMarkedBy:  m.Owner,
		labelTarget:    m.Target,
		labelInstance:  m.Instance,
		labelWorkspace: m.Workspace,
		labelBundle:    m.Bundle,
		labelDigest:    m.Digest,
		labelRevision:  strconv.Itoa(m.Revision),
	}
}

// markOf reads a mark from labels, the zero mark if there is none.
func markOf(labels map[string]string) release.Mark {
	if labels[labelMarkedBy] == "" {
		return release.Mark{}
	}
	// A revision that is no number was not written here and matches nothing.
	revision, _ := strconv.Atoi(labels[labelRevision])
	return release.Mark{
		Owner:     labels[labelMarkedBy],
		Target:    labels[labelTarget],
		Instance:  labels[labelInstance],
		Workspace: labels[labelWorkspace],
		Bundle:    labels[labelBundle],
		Digest:    labels[labelDigest],
		Revision:  revision,
	}
}
