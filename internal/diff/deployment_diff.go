package diff

import "strings"

// Cluster returns the cluster of the deployment.
func (d DeploymentDiff) Cluster() string { return d.cluster }

// Bundle returns the bundle of the deployment.
func (d DeploymentDiff) Bundle() string { return d.bundle }

// Parts returns the diff for a report that shows the deployment separately: the notes of the diff,
// and its lines.
func (d DeploymentDiff) Parts() (notes []string, text string) {
	lines := d.lines
	for len(lines) > 0 && strings.HasPrefix(lines[0], "(") {
		notes = append(notes, strings.TrimSuffix(strings.TrimPrefix(lines[0], "("), ")"))
		lines = lines[1:]
	}
	return notes, strings.Join(lines, "\n")
}
