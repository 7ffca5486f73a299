package storage

import (
	"slices"
	"strconv"
	"strings"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/release"
)

// Labels of this provider on release records. Helm keeps foreign labels through upgrades and
// rollbacks.
const (
	labelPrefix = "agentless-fleet.github.io/"
	// LabelOwner is also a label of namespaces that were created for a release.
	LabelOwner  = labelPrefix + "owner"
	labelTarget = labelPrefix + "target"
	// LabelInstance selects the records of one target.
	LabelInstance = labelPrefix + "instance"
	labelAdoption = labelPrefix + "adoption-key"
	labelBundle   = labelPrefix + "bundle"
	labelDigest   = labelPrefix + "digest"
	labelRevision = labelPrefix + "revision"
	// The terms are joined by "_". The label is always written, because Helm copies labels to
	// the next revision.
	labelUninstallPolicy = labelPrefix + "terms"
	labelAccount         = labelPrefix + "service-account"
	// labelText is a release.TextOrigin.
	labelText = labelPrefix + "text"
	// labelContent proves the content of a record, and labelMAC its labels.
	labelContent = labelPrefix + "content"
	labelMAC     = labelPrefix + "mac"
)

// Terms as they are written in the label.
const (
	policyKeepResources   = "keep-resources"
	policyDeleteNamespace = "delete-namespace"
	policyNamespaceKeys   = "namespace-keys"
	policyOwnValues       = "own-values"
)

// ProvenLabels returns the labels of a record with this mark and content, and the codes that prove
// them.
func ProvenLabels(of release.Observed, proof release.Proof) map[string]string {
	labels := Labels(of.Mark)
	labels[labelContent], labels[labelMAC] = of.Content, proof.OfLabels(of)
	return labels
}

// Labels returns a mark as labels.
func Labels(m release.Mark) map[string]string {
	return map[string]string{
		LabelOwner:           m.Owner,
		labelTarget:          m.Target,
		LabelInstance:        m.Instance,
		labelAdoption:        m.AdoptionKey,
		labelBundle:          m.Bundle,
		labelDigest:          m.Digest,
		labelRevision:        strconv.Itoa(m.Revision),
		labelUninstallPolicy: writeUninstallPolicy(m.UninstallPolicy),
		labelAccount:         m.UninstallPolicy.ServiceAccount,
		labelText:            string(m.Text),
	}
}

func writeUninstallPolicy(t release.UninstallPolicy) string {
	var policies []string
	for term, holds := range map[string]bool{
		policyKeepResources: t.KeepResources, policyDeleteNamespace: t.DeleteNamespace, policyNamespaceKeys: t.NamespaceKeys,
		policyOwnValues: t.OwnValues,
	} {
		if holds {
			policies = append(policies, term)
		}
	}
	slices.Sort(policies)
	return strings.Join(policies, "_")
}

func readUninstallPolicy(labels map[string]string) release.UninstallPolicy {
	policies := strings.Split(labels[labelUninstallPolicy], "_")
	return release.UninstallPolicy{
		KeepResources:   slices.Contains(policies, policyKeepResources),
		DeleteNamespace: slices.Contains(policies, policyDeleteNamespace),
		NamespaceKeys:   slices.Contains(policies, policyNamespaceKeys),
		ServiceAccount:  Shared(labels[labelAccount]),
		OwnValues:       slices.Contains(policies, policyOwnValues),
	}
}

// MarkOf reads a mark from labels. It returns the zero mark if the labels contain none.
func MarkOf(labels map[string]string) release.Mark {
	if labels[LabelOwner] == "" {
		return release.Mark{}
	}
	// A revision that is not a number was not written by this provider, and matches nothing.
	revision, _ := strconv.Atoi(labels[labelRevision])
	return release.Mark{
		Owner:           Shared(labels[LabelOwner]),
		Target:          Shared(labels[labelTarget]),
		Instance:        Shared(labels[LabelInstance]),
		Bundle:          Shared(labels[labelBundle]),
		Digest:          Shared(labels[labelDigest]),
		UninstallPolicy: readUninstallPolicy(labels),
		Text:            release.TextOrigin(Shared(labels[labelText])),
		Revision:        revision,

		AdoptionKey: Shared(labels[labelAdoption]),
	}
}
