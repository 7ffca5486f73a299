package helm_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/fleetyaml"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/release"
)

// unschedulable is a Deployment that never becomes ready, because no node has the label.
const unschedulable = `apiVersion: apps/v1
kind: Deployment
metadata: {name: never}
spec:
  selector: {matchLabels: {app: never}}
  template:
    metadata: {labels: {app: never}}
    spec:
      nodeSelector: {"example.com/no-such": node}
      containers: [{name: never, image: never}]
`

// With helm.atomic, the operation waits for the objects, as in Helm, even if the target does
// not wait.
func TestAccAtomicWaitsWithoutWait(t *testing.T) {
	t.Parallel()
	within := func(w *release.Write) { w.Timeout = 5 * time.Second }
	t.Run("an install is removed", func(t *testing.T) {
		t.Parallel()
		o := newOnCluster(t, "atomic-install")
		d := o.deployment(map[string]string{"one.yaml": configMapFile(o.namespace, "one"), "never.yaml": unschedulable})
		d.Options.Helm = &fleetyaml.Helm{Atomic: true}
		if _, err := o.write(release.Install, d, nil, within); err == nil {
			t.Error("the install went well")
		}
		if diff := cmp.Diff([]string(nil), o.left(o.namespace)); diff != "" {
			t.Errorf("config maps (-want +got):\n%s", diff)
		}
		if newest := o.observed(); newest != nil {
			t.Errorf("the record of revision %d is left", newest.Revision)
		}
	})
	t.Run("an upgrade is rolled back", func(t *testing.T) {
		t.Parallel()
		o := newOnCluster(t, "atomic-upgrade")
		known := o.install(map[string]string{"one.yaml": configMapFile(o.namespace, "one")})
		d := o.deployment(map[string]string{"two.yaml": configMapFile(o.namespace, "two"), "never.yaml": unschedulable})
		d.Options.Helm = &fleetyaml.Helm{Atomic: true}
		if _, err := o.write(release.Upgrade, d, &known, within); err == nil {
			t.Error("the upgrade went well")
		}
		if diff := cmp.Diff([]string{"one"}, o.left(o.namespace)); diff != "" {
			t.Errorf("config maps (-want +got):\n%s", diff)
		}
		if newest := o.observed(); newest.Revision != 3 || newest.Status != release.StatusDeployed {
			t.Errorf("newest revision: %+v, want revision 3, deployed by the rollback", newest)
		}
	})
}
