package helm_test

import (
	"errors"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/kube/connect"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/release"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/status"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/testenv"
)

// A real API server without a free address gives the answers that TestAllocation expects. The test
// fills the range of a cluster, so it needs one of its own.
func TestAccNoAddressLeft(t *testing.T) {
	testenv.RequireSoak(t)
	t.Parallel()
	o := newOnClusterOf(t, testenv.New(t, 1), "no-address")
	services := o.objects.CoreV1().Services(o.namespace)
	filler := &corev1.Service{ObjectMeta: metav1.ObjectMeta{GenerateName: "filler-"}, Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 80}}}}
	var last string
	for {
		made, err := services.Create(t.Context(), filler, metav1.CreateOptions{})
		if apierrors.IsInternalError(err) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		last = made.Name
	}
	d := o.deployment(map[string]string{"web.yaml": "apiVersion: v1\nkind: Service\nmetadata: {name: web}\nspec: {ports: [{port: 80}]}\n"})
	_, err := o.write(release.Install, d, nil)
	if classified := connect.Classify("c1", err); !errors.As(classified, new(*status.ExhaustedError)) || errors.As(classified, new(*status.BusyError)) {
		t.Fatalf("the error is %v, want that it lasts", classified)
	}
	if err := services.Delete(t.Context(), last, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := o.write(release.Upgrade, d, nil); err != nil {
		t.Error(err)
	}
}
