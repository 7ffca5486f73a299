//go:build !race

package helm_test

import (
	"errors"
	"slices"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/helm/storage"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/release"
)

// A record that unpacks to gigabytes affects only its own release.
func TestAccAttackRecordBomb(t *testing.T) {
	t.Parallel()
	o := newOnCluster(t, "bomb")
	known := o.install(map[string]string{"one.yaml": configMapFile(o.namespace, "one")})
	secrets := o.objects.CoreV1().Secrets(o.namespace)
	secret, err := secrets.Get(t.Context(), firstRecord, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	secret.Data["release"] = bomb(700)
	if _, err := secrets.Update(t.Context(), secret, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	_, err = o.uninstall(known)
	if _, ok := errors.AsType[*storage.RecordTooLargeError](err); !ok {
		t.Errorf("uninstall: error = %.300v", err)
	}
	findings := o.newClient().Inspect(t.Context(), []release.Inspection{{Observed: *o.observed()}})
	if _, ok := errors.AsType[*release.CorruptRecordError](findings[0].Err); !ok {
		t.Errorf("inspect: error = %.300v", findings[0].Err)
	}
	if _, _, err := o.client.Origin(t.Context(), *o.observed()); err == nil {
		t.Error("its origin is known")
	}
	_, err = o.write(release.Upgrade, o.deployment(map[string]string{"two.yaml": configMapFile(o.namespace, "two")}), &known)
	if _, ok := errors.AsType[*storage.RecordTooLargeError](err); !ok {
		t.Errorf("upgrade: error = %.300v", err)
	}
	if !slices.Equal(o.left(o.namespace), []string{"one"}) {
		t.Errorf("left: %q", o.left(o.namespace))
	}
}
