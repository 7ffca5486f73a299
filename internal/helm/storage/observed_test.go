package storage

import (
	"strings"
	"testing"
	"unsafe"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/release"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/wellknown"
)

// A list of a fleet has thousands of records with mostly the same texts.
func TestObservedTextsAreShared(t *testing.T) {
	t.Parallel()
	list := func() release.Observed { // It has its own copies of the texts, like each response of an API server.
		own := strings.Clone
		labels := Labels(release.Mark{Owner: "acme", Target: "web", Instance: "i", AdoptionKey: "k", Bundle: "b", Digest: "d", UninstallPolicy: release.UninstallPolicy{ServiceAccount: "s"}})
		labels[wellknown.RecordName], labels[wellknown.RecordStatus] = "app", "deployed"
		for name, value := range labels {
			labels[name] = own(value)
		}
		return Observe(&metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Namespace: own("apps"), Labels: labels}})
	}
	texts := func(o release.Observed) map[string]string {
		return map[string]string{
			"release": o.Release, "namespace": o.Namespace, "status": string(o.Status), "owner": o.Mark.Owner, "target": o.Mark.Target,
			"instance": o.Mark.Instance, "adoption key": o.Mark.AdoptionKey, "bundle": o.Mark.Bundle, "digest": o.Mark.Digest,
			"service account": o.Mark.UninstallPolicy.ServiceAccount,
		}
	}
	first, second := texts(list()), texts(list())
	for name, text := range first {
		if text == "" || second[name] != text {
			t.Errorf("the %s is %q and %q, want the same text", name, text, second[name])
		} else if unsafe.StringData(text) != unsafe.StringData(second[name]) { //nolint:gosec // The addresses are only compared.
			t.Errorf("the %s of two records is in memory twice", name)
		}
	}
}
