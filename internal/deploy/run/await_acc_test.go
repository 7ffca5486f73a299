package run_test

import (
	"context"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/deploy/run"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/faulttest"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/helm"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/kube"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/kube/connect"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/release"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/render"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/secret"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/target"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/testenv"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/worker/templates"
)

// If a cluster does not respond while a deployment waits for a release, the request is repeated.
// Missing objects can be created again in the meantime.
func TestAccAwaitThroughAnOutage(t *testing.T) {
	t.Parallel()
	env := testenv.Shared(t)
	if env.Cluster(0).Token() == "" {
		t.Skip("the cluster of this context is not reached by a token")
	}
	const namespace = "await-outage"
	makeNamespace(t, env, namespace)
	asked := request(nil)
	asked.Write = []target.Deployment{raw(env.Contexts()[0], namespace, "db", configMapOf("db")+configMapOf("other"))}
	expectNoFailures(t, run.New(realClusters(env), 1).Apply(t.Context(), asked).Failures)
	typed, err := kubernetes.NewForConfig(env.Cluster(0).RESTConfig())
	if err != nil {
		t.Fatal(err)
	}
	made := typed.CoreV1().ConfigMaps(namespace)
	db, err := made.Get(t.Context(), "db", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if err := made.Delete(t.Context(), "db", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}

	proxy := faulttest.New(t, env.Cluster(0))
	client, err := kube.New(connect.Connection{Host: proxy.Host(), Token: secret.Hide(env.Cluster(0).Token()), ClusterCACertificate: string(proxy.CACertificate())}, nil)
	if err != nil {
		t.Fatal(err)
	}
	cluster := helm.New(client, &render.Charts{Sandbox: &templates.Renderer{}}, &helm.RecordCache{}, nil)
	unavailable := faulttest.Fault{Status: http.StatusServiceUnavailable}
	proxy.Set(func(*http.Request) faulttest.Fault { return unavailable })
	observed := release.Observed{Release: "db", Namespace: namespace, Revision: 1}
	soon, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	if finding, err := cluster.Await(soon, release.Inspection{Observed: observed}); err == nil {
		t.Errorf("found %+v while the cluster did not answer", finding)
	}

	const away = 8 // requests, more than are repeated automatically
	var asking atomic.Int32
	proxy.Set(func(*http.Request) faulttest.Fault {
		if asking.Add(1) <= away {
			return unavailable
		}
		return faulttest.Fault{}
	})
	var restoring sync.WaitGroup
	restoring.Go(func() {
		for asking.Load() < away+3 && t.Context().Err() == nil {
			time.Sleep(time.Millisecond)
		}
		db.ResourceVersion, db.UID = "", ""
		if _, err := made.Create(t.Context(), db, metav1.CreateOptions{}); err != nil {
			t.Error(err)
		}
	})
	defer restoring.Wait()
	later, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	finding, err := cluster.Await(later, release.Inspection{Observed: observed})
	if err != nil || !finding.Settled() || finding.Ready != 2 {
		t.Errorf("found %+v, %v; want that it is ready", finding, err)
	}
}
