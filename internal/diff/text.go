package diff

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// sharedDiff is a diff that several clusters share.
type sharedDiff struct {
	diff     DeploymentDiff
	clusters []string
}

// Join returns one text for many diffs. It contains each diff once, with its clusters. Removed
// deployments are listed first. Lines that must stay as they are begin with a space.
func Join(diffs []DeploymentDiff) string {
	var (
		text  []string
		lines int
	)
	shared := share(diffs)
	for i, of := range shared {
		body := of.diff.lines
		if room := maxTotal - lines - 1; len(body) > room {
			if room < 1 {
				text = append(text, omittedText(shared[i:]))
				break
			}
			body = append(slices.Clone(body[:room]), moreText(len(body)-room))
		}
		lines += 1 + len(body)
		text = append(text, strings.Join(append([]string{of.head()}, indented(body)...), "\n"))
	}
	return strings.Join(text, "\n\n")
}

// share merges equal diffs, in the order of their kinds, bundles and first clusters.
func share(diffs []DeploymentDiff) []sharedDiff {
	sorted := slices.SortedFunc(slices.Values(diffs), func(a, b DeploymentDiff) int {
		return cmp.Or(int(a.kind-b.kind), strings.Compare(a.Bundle, b.Bundle), strings.Compare(a.Cluster, b.Cluster))
	})
	var shared []sharedDiff
	at := map[string]int{}
	for _, diff := range sorted {
		key := strings.Join(append([]string{fmt.Sprint(diff.kind), diff.Bundle, diff.title}, diff.lines...), "\n")
		i, known := at[key]
		if !known {
			i = len(shared)
			at[key] = i
			shared = append(shared, sharedDiff{diff: diff})
		}
		shared[i].clusters = append(shared[i].clusters, diff.Cluster)
	}
	return shared
}

func (d sharedDiff) head() string {
	return d.diff.Bundle + " on " + Clusters(d.clusters) + d.diff.title
}

// Clusters lists the names of clusters, at most maxClusters and the number of the others.
func Clusters(names []string) string {
	if more := len(names) - maxClusters; more > 1 {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:maxClusters], ", "), more)
	}
	return strings.Join(names, ", ")
}

// omittedText states how much is left out.
func omittedText(left []sharedDiff) string {
	deployments, lines := 0, 0
	for _, of := range left {
		deployments += len(of.clusters)
		lines += len(of.diff.lines)
	}
	return fmt.Sprintf("Left out: %s, with %s.", counted(deployments, "more deployment"), counted(lines, "line"))
}

func indented(lines []string) []string {
	moved := make([]string, len(lines))
	for i, line := range lines {
		if strings.TrimSpace(line) != "" {
			moved[i] = "    " + line
		}
	}
	return moved
}
