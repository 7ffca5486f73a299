package fleet

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/bundle"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/testenv"
)

// rejectedIngress is an object that API servers refuse. Helm writes it after Deployments.
const rejectedIngress = "apiVersion: networking.k8s.io/v1\nkind: Ingress\nmetadata: {name: bad}\nspec: {rules: [{host: 'a b'}]}\n"

// webWith returns a Deployment with a label in its selector, and with more fields in its pods.
func webWith(tier, fields string) string {
	labels := "{app: web, tier: " + tier + "}"
	return "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec: {selector: {matchLabels: " + labels + "}, " +
		"template: {metadata: {labels: " + labels + "}, spec: {" + fields + " containers: [{name: web, image: web}]}}}\n"
}

// What agents do after a failed upgrade, at an immutable field and without an ownership annotation is
// what the guide says of helm.atomic, helm.force and drift.
func TestAccGoingBack(t *testing.T) {
	t.Parallel()
	fleet := testenv.SharedFleet(t)
	type left struct {
		HostNetwork bool
		Extra       string
	}
	tests := map[string]struct {
		options string
		left    left
	}{
		"plain":  {left: left{Extra: "x"}},
		"forced": {options: "helm: {force: true}\n", left: left{Extra: "x"}},
		"atomic": {options: "helm: {atomic: true}\n"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			namespace := "going-back-" + name
			d := newDelivery(realEngine(t, fleet, Settings{}), namespace, "instance-"+namespace)
			d.settings.Wait = false // A pod that needs a node of its own is never ready here.
			clusters := inventory(t, fleet)[:1]
			deployments := client0(t, fleet, clusters[0].Name).AppsV1().Deployments(namespace)
			apply := func(files map[string]string, refusal string) {
				t.Helper()
				made := []*bundle.Bundle{newBundle(t, "web", "defaultNamespace: "+namespace+"\n"+test.options, files)}
				failures := d.apply(t, deploymentsFor(t, made, clusters)).Failures
				if refusal == "" {
					noFailures(t, failures)
				} else if len(failures) != 1 || !strings.Contains(failures[0].Err.Error(), refusal) {
					t.Fatalf("failures: %v, want one with %q", failures, refusal)
				}
			}
			good := map[string]string{"a.yaml": webWith("a", "")}
			apply(good, "")
			apply(map[string]string{"a.yaml": webWith("a", "hostNetwork: true,"), "b.yaml": configMap("extra", "x"), "c.yaml": rejectedIngress}, `"bad" is invalid`)
			apply(good, "")
			live, err := deployments.Get(t.Context(), "web", metav1.GetOptions{})
			if err != nil {
				t.Fatal(err)
			}
			got := left{HostNetwork: live.Spec.Template.Spec.HostNetwork, Extra: valueOf(t, fleet, clusters[0].Name, namespace, "extra", "value")}
			if diff := cmp.Diff(test.left, got); diff != "" {
				t.Errorf("left of the failed upgrade (-want +got):\n%s", diff)
			}

			apply(map[string]string{"a.yaml": webWith("b", "")}, "field is immutable")
			apply(good, "")

			const owner = "meta.helm.sh/release-name"
			if _, err := deployments.Patch(t.Context(), "web", types.MergePatchType, []byte(`{"metadata": {"annotations": {"`+owner+`": null}}}`), metav1.PatchOptions{}); err != nil {
				t.Fatal(err)
			}
			err = wait.PollUntilContextTimeout(t.Context(), 200*time.Millisecond, time.Minute, true, func(context.Context) (bool, error) {
				noFailures(t, d.refresh(t).Failures) // NotReady for a moment: what went back is still rolled out.
				return d.states()[clusters[0].Name+"/web"] == "Ready", nil
			})
			if err != nil {
				t.Errorf("states without the ownership annotation: %v: %v", d.states(), err)
			}
			apply(map[string]string{"a.yaml": webWith("a", ""), "b.yaml": configMap("more", "x")}, "")
			if live, err = deployments.Get(t.Context(), "web", metav1.GetOptions{}); err != nil || live.Annotations[owner] != "web" {
				t.Errorf("the release of the object is %q: %v", live.Annotations[owner], err)
			}
			noFailures(t, d.apply(t, nil).Failures)
			noBundles(t, d)
		})
	}
}
