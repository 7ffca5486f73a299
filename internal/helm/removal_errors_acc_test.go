package helm_test

import (
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/faulttest"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/helm"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/kube"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/kube/connect"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/render"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/secret"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/testenv"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/worker/templates"
)

// The error of a removal names the object that is not deleted, and has the text of who refuses it.
// Helm's own error names only the release.
func TestAccRefusedRemoval(t *testing.T) {
	t.Parallel()
	if testenv.Shared(t).External() {
		t.Skip("an existing cluster does not reach a webhook of the test")
	}
	o := newOnCluster(t, "refused-removal")
	known := o.install(map[string]string{"a.yaml": configMapFile(o.namespace, "one") + configMapFile(o.namespace, "two")})
	testenv.Shared(t).Cluster(0).RefuseAll(t, o.namespace, "configmaps", admissionregistrationv1.Create, admissionregistrationv1.Delete)
	_, err := o.uninstall(known)
	if err == nil {
		t.Fatal("the release was removed")
	}
	for _, want := range []string{"deleting ConfigMap " + o.namespace + "/one", "deleting ConfigMap " + o.namespace + "/two", "denied the request"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("the error is %q, want one with %q", err, want)
		}
	}
}

// The answer to the deletion of a record is lost. The deletion is repeated, and finds no record.
func TestAccRemovalLosesAnAnswer(t *testing.T) {
	t.Parallel()
	cluster := testenv.Shared(t).Cluster(0)
	if cluster.Token() == "" {
		t.Skip("the cluster of this context is not reached by a token")
	}
	o := newOnCluster(t, "lost-removal")
	known := o.install(map[string]string{"a.yaml": configMapFile(o.namespace, "one")})
	proxy := faulttest.New(t, cluster)
	connected, err := kube.New(connect.Connection{Host: proxy.Host(), ClusterCACertificate: string(proxy.CACertificate()), Token: secret.Hide(cluster.Token())}, nil)
	if err != nil {
		t.Fatal(err)
	}
	o.client = helm.New(connected, &render.Charts{Sandbox: &templates.Renderer{}}, &helm.RecordCache{}, nil)
	var lost atomic.Bool
	proxy.Set(func(request *http.Request) faulttest.Fault {
		isRecord := request.Method == http.MethodDelete && strings.HasSuffix(request.URL.Path, "/"+firstRecord)
		return faulttest.Fault{Lose: isRecord && !lost.Swap(true)}
	})
	if _, err := o.uninstall(known); err != nil {
		t.Errorf("the removal failed: %v", err)
	}
	if !lost.Load() {
		t.Error("no answer was lost")
	}
	if left := o.secrets(); len(left) > 0 {
		t.Errorf("the records %v are left", left)
	}
}
