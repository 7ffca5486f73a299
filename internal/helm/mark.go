package helm

import (
	"slices"
	"strconv"
	"strings"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/release"
)

// Labels of this provider on release records. Helm keeps foreign labels through upgrades and
// rollbacks.
const (
	labelPrefix   = "agentless-fleet.github.io/"
	labelMarkedBy = labelPrefix + "owner"
	labelTarget   = labelPrefix + "target"
	labelInstance = labelPrefix + "instance"
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

// provenLabelsOf returns the labels of a record with this mark and content, and the codes that prove
// them.
func provenLabelsOf(of release.Observed, proof release.Proof) map[string]string {
	labels := labelsOf(of.Mark)
	labels[labelContent], labels[labelMAC] = of.Content, proof.OfLabels(of)
	return labels
}

// labelsOf returns a mark as labels.
func labelsOf(m release.Mark) map[string]string {
	return map[string]string{
		labelMarkedBy:        m.Owner,
		labelTarget:          m.Target,
		labelInstance:        m.Instance,
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
		ServiceAccount:  shared(labels[labelAccount]),
		OwnValues:       slices.Contains(policies, policyOwnValues),
	}
}

// markOf reads a mark from labels. It returns the zero mark if the labels contain none.
func markOf(labels map[string]string) release.Mark {
	if labels[labelMarkedBy] == "" {
		return release.Mark{}
	}
	// A revision that is not a number was not written by this provider, and matches nothing.
	revision, _ := strconv.Atoi(labels[labelRevision])
	return release.Mark{
		Owner:           shared(labels[labelMarkedBy]),
		Target:          shared(labels[labelTarget]),
		Instance:        shared(labels[labelInstance]),
		Bundle:          shared(labels[labelBundle]),
		Digest:          shared(labels[labelDigest]),
		UninstallPolicy: readUninstallPolicy(labels),
		Text:            release.TextOrigin(shared(labels[labelText])),
		Revision:        revision,

		AdoptionKey: shared(labels[labelAdoption]),
	}
}
