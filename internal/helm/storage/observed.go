package storage

import (
	"fmt"
	"strconv"
	"unique"

	helmrelease "helm.sh/helm/v3/pkg/release"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/release"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/wellknown"
)

// Observe returns a release as the labels of its record describe it.
func Observe(record metav1.Object) release.Observed {
	read := record.GetLabels()
	// Helm did not write a record whose version is not a number. Revision 0 then never matches
	// a mark.
	revision, _ := strconv.Atoi(read[wellknown.RecordVersion])
	return release.Observed{
		Release:   Shared(read[wellknown.RecordName]),
		Namespace: Shared(record.GetNamespace()),
		Revision:  revision,
		Status:    release.Status(Shared(read[wellknown.RecordStatus])),
		Mark:      MarkOf(read),
		Content:   read[labelContent],
		MAC:       read[labelMAC],
	}
}

// ObservedOf returns a release as a record describes it that was read as a whole.
func ObservedOf(record *helmrelease.Release) release.Observed {
	return release.Observed{
		Release: record.Name, Namespace: record.Namespace, Revision: record.Version, Status: release.Status(record.Info.Status),
		Mark: MarkOf(record.Labels), Content: record.Labels[labelContent], MAC: record.Labels[labelMAC],
	}
}

// Shared returns the one copy of a text that the process keeps. A list contains the same few
// texts thousands of times, and each would keep the memory of its response.
func Shared(text string) string { return unique.Make(text).Value() }

// RecordName is the name of the secret that contains a revision.
func RecordName(name string, revision int) string {
	return fmt.Sprintf("%s%s.v%d", wellknown.RecordPrefix, name, revision)
}
