package helm

import (
	"slices"
	"strconv"
	"strings"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/release"
)

// Labels of this provider on release records. Helm keeps labels that are not
// its own through upgrades and rollbacks.
const (
	labelPrefix   = "agentless-fleet.github.io/"
	labelMarkedBy = labelPrefix + "owner"
	labelTarget   = labelPrefix + "target"
	labelInstance = labelPrefix + "instance"
	labelAdoption = labelPrefix + "adoption-key"
	labelBundle   = labelPrefix + "bundle"
	labelDigest   = labelPrefix + "digest"
	labelRevision = labelPrefix + "revision"
	// Terms, joined by "_"; always written, since Helm hands labels on to the
	// next revision.
	labelTerms   = labelPrefix + "terms"
	labelAccount = labelPrefix + "service-account"
	// labelSalt is the key of the digest of a record's content, see record.Salt.
	labelSalt = labelPrefix + "content-salt"
)

// The terms as they are written in a label.
const (
	termKeepResources   = "keep-resources"
	termDeleteNamespace = "delete-namespace"
	termNamespaceKeys   = "namespace-keys"
	termOwnValues       = "own-values"
)

// labelsOf writes a mark as labels.
func labelsOf(m release.Mark) map[string]string {
	return map[string]string{
		labelMarkedBy: m.Owner,
		labelTarget:   m.Target,
		labelInstance: m.Instance,
		labelAdoption: m.AdoptionKey,
		labelBundle:   m.Bundle,
		labelDigest:   m.Digest,
		labelRevision: strconv.Itoa(m.Revision),
		labelTerms:    writeTerms(m.Terms),
		labelAccount:  m.Terms.ServiceAccount,
	}
}

func writeTerms(t release.Terms) string {
	var terms []string
	for term, holds := range map[string]bool{
		termKeepResources: t.KeepResources, termDeleteNamespace: t.DeleteNamespace, termNamespaceKeys: t.NamespaceKeys,
		termOwnValues: t.OwnValues,
	} {
		if holds {
			terms = append(terms, term)
		}
	}
	slices.Sort(terms)
	return strings.Join(terms, "_")
}

func readTerms(labels map[string]string) release.Terms {
	terms := strings.Split(labels[labelTerms], "_")
	return release.Terms{
		KeepResources:   slices.Contains(terms, termKeepResources),
		DeleteNamespace: slices.Contains(terms, termDeleteNamespace),
		NamespaceKeys:   slices.Contains(terms, termNamespaceKeys),
		ServiceAccount:  shared(labels[labelAccount]),
		OwnValues:       slices.Contains(terms, termOwnValues),
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
		Owner:    shared(labels[labelMarkedBy]),
		Target:   shared(labels[labelTarget]),
		Instance: shared(labels[labelInstance]),
		Bundle:   shared(labels[labelBundle]),
		Digest:   shared(labels[labelDigest]),
		Terms:    readTerms(labels),
		Revision: revision,

		AdoptionKey: shared(labels[labelAdoption]),
	}
}
