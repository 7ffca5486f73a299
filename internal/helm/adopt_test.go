package helm

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/release"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/wellknown"
)

func TestHolderOf(t *testing.T) {
	t.Parallel()
	of := func(name, namespace string) map[string]string {
		return map[string]string{wellknown.ReleaseName: name, wellknown.ReleaseNamespace: namespace}
	}
	managed := map[string]string{wellknown.ManagedBy: "Helm"}
	tests := map[string]struct {
		labels, annotations map[string]string
		want                string
		other               bool
	}{
		"its own":                       {labels: managed, annotations: of("web", "ns")},
		"its own, without Helm's label": {annotations: of("web", "ns"), want: "release web in namespace ns", other: true},
		"of the release it moves from":  {labels: managed, annotations: of("former", "ns")},
		"of another release":            {labels: managed, annotations: of("db", "ns"), want: "release db in namespace ns", other: true},
		"of that name elsewhere":        {labels: managed, annotations: of("web", "other"), want: "release web in namespace other", other: true},
		"of nobody":                     {want: "no release", other: true},
		"of Fleet without a release":    {labels: map[string]string{wellknown.ObjectSetHash: "c0fae6"}, want: "Fleet's agent", other: true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			object := &metav1.ObjectMeta{Labels: test.labels, Annotations: test.annotations}
			got, _, other := ownerOf(object, release.Wanted{Release: "web", Namespace: "ns", Former: "ns/former"})
			if got != test.want || other != test.other {
				t.Errorf("got %q, %t, want %q, %t", got, other, test.want, test.other)
			}
		})
	}
}
