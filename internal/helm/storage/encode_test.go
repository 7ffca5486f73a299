package storage

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"helm.sh/helm/v3/pkg/chart"
	helmrelease "helm.sh/helm/v3/pkg/release"
	"helm.sh/helm/v3/pkg/storage/driver"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"
)

// Records are stored byte for byte as Helm stores them.
func TestRecordsAreStoredAsHelmDoes(t *testing.T) {
	t.Parallel()
	tests := map[string]*helmrelease.Release{
		"plain": {Name: "web", Version: 1, Namespace: "apps", Info: &helmrelease.Info{Status: helmrelease.StatusDeployed}},
		"full": {
			Name: "web", Version: 12, Namespace: "apps", Manifest: "kind: ConfigMap\n", Config: map[string]any{"a": 1, "b": "<&>"},
			Info:   &helmrelease.Info{Status: helmrelease.StatusPendingUpgrade, Description: "Preparing"},
			Chart:  &chart.Chart{Metadata: &chart.Metadata{Name: "web", Version: "1.0.0"}, Templates: []*chart.File{{Name: "templates/a", Data: []byte("a")}}},
			Hooks:  []*helmrelease.Hook{{Name: "hook", Kind: "Job"}},
			Labels: map[string]string{"team": "a", "name": "other", "createdAt": "7", "modifiedAt": "8"},
		},
	}
	for name, record := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			secrets := fake.NewClientset().CoreV1().Secrets(record.Namespace)
			byHelm := driver.NewSecrets(secrets)
			for _, stamp := range []string{recordCreatedAt, recordModifiedAt} {
				write := byHelm.Create
				if stamp == recordModifiedAt {
					write = byHelm.Update
				}
				if err := write("key", record); err != nil {
					t.Fatal(err)
				}
				want, err := secrets.Get(context.Background(), "key", metav1.GetOptions{})
				if err != nil {
					t.Fatal(err)
				}
				// A compressor that is used again compresses like a new one.
				for range 2 {
					got, err := secretOfRecord("key", record, stamp, time.Now())
					if err != nil {
						t.Fatal(err)
					}
					if record.Labels[stamp] == "" { // The two records can be made in different seconds.
						delete(want.Labels, stamp)
						delete(got.Labels, stamp)
					}
					if diff := cmp.Diff(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "key", Labels: want.Labels}, Type: want.Type, Data: want.Data}, got); diff != "" {
						t.Errorf("%s (-Helm +here):\n%s", stamp, diff)
					}
				}
			}
		})
	}
}
