package helm_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/faulttest"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/fleetyaml"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/helm"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/kube"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/kube/connect"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/release"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/render"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/secret"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/testenv"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/worker/templates"
)

// The last release of a namespace is removed while another one is installed and has no object
// yet. The namespace stays, with one identity or two.
func TestAccRemovalBesideAnInstallLeavesTheNamespace(t *testing.T) {
	t.Parallel()
	env := testenv.Shared(t)
	if env.Cluster(0).Token() == "" {
		t.Skip("the cluster of this context is not reached by a token")
	}
	for name, other := range map[string]bool{"by the same identity": false, "by another": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := newOnCluster(t, "beside-"+map[bool]string{false: "same", true: "other"}[other])
			o.namespace += "-made" // The first release creates this namespace.
			o.env.RemoveAfter(t, o.namespace)
			proxy := faulttest.New(t, env.Cluster(0))
			connection, err := kube.New(connect.Connection{Host: proxy.Host(), ClusterCACertificate: string(proxy.CACertificate()), Token: secret.Hide(env.Cluster(0).Token())}, nil)
			if err != nil {
				t.Fatal(err)
			}
			o.client = helm.New(connection, &render.Charts{Sandbox: &templates.Renderer{}}, &helm.RecordCache{}, nil)
			installing := o.client
			if other {
				installing = o.client.As(connection)
			}
			first := o.deployment(map[string]string{"one.yaml": configMapFile(o.namespace, "one")})
			first.Options = fleetyaml.Options{DeleteNamespace: true}
			written, err := o.write(release.Install, first, nil)
			if err != nil {
				t.Fatal(err)
			}

			second := o.deployment(map[string]string{"two.yaml": configMapFile(o.namespace, "two")})
			second.Release = "later"
			reached, proceed := make(chan struct{}), make(chan struct{})
			proxy.Set(func(request *http.Request) faulttest.Fault {
				if request.Method != http.MethodPost || !strings.HasSuffix(request.URL.Path, o.namespace+"/secrets") {
					return faulttest.Fault{}
				}
				return faulttest.Fault{Before: func(*http.Request) {
					close(reached)
					<-proceed
				}}
			})
			installed := make(chan error, 1)
			go func() {
				w := release.Write{Mark: release.NewMark("owner", "target", "instance", "later", second.Digest), Timeout: 20 * time.Second, MaxHistory: 5}
				_, err := installing.Write(t.Context(), release.Install, second, nil, w)
				installed <- err
			}()
			<-reached
			known := o.known(written.Revision)
			known.DeleteNamespace = true
			removed, err := o.uninstall(known)
			close(proceed)
			if err != nil {
				t.Error(err)
			}
			if err := <-installed; err != nil {
				t.Errorf("the install beside it: %v", err)
			}
			if diff := cmp.Diff([]string{"a release that is being deployed"}, removed.InNamespace); diff != "" {
				t.Errorf("what keeps the namespace (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff([]string{"two"}, o.left(o.namespace)); diff != "" {
				t.Errorf("config maps (-want +got):\n%s", diff)
			}
			found, err := o.objects.CoreV1().Namespaces().Get(t.Context(), o.namespace, metav1.GetOptions{})
			if err != nil || found.DeletionTimestamp != nil {
				t.Errorf("the namespace: %+v, %v", found, err)
			}
		})
	}
}
