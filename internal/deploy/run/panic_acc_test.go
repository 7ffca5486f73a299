package run_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/bundle"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/deploy"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/deploy/run"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/helm"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/kube"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/kube/connect"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/release"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/render"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/status"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/target"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/testenv"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/worker/templates"
)

// realCluster is a real cluster, read as the provider reads it.
type realCluster struct {
	*helm.Client
	kube *kube.Client
}

func (g realCluster) Snapshot(ctx context.Context) (release.Snapshot, error) {
	releases, leftOut, err := g.Releases(ctx)
	if err != nil {
		return release.Snapshot{}, err
	}
	uid, err := g.kube.UID(ctx)
	return release.Snapshot{UID: uid, Releases: releases, LeftOut: leftOut}, err
}

func (g realCluster) Inspect(ctx context.Context, releases []release.Inspection) ([]release.Finding, error) {
	return g.Client.Inspect(ctx, releases), nil
}

func (g realCluster) Creator(ctx context.Context, observed release.Observed) (release.Creator, error) {
	name, isFleet, err := g.Origin(ctx, observed)
	return release.Creator{Name: name, Fleet: isFleet}, err
}

func (g realCluster) Objects(ctx context.Context, releases []release.Observed) ([][]string, error) {
	claimed := make([]release.Claimed, len(releases))
	for i, observed := range releases {
		claimed[i].Observed = observed
	}
	objects := make([][]string, len(releases))
	for i, found := range g.Deployed(ctx, claimed) {
		for _, document := range found.Documents {
			objects[i] = append(objects[i], document.Key())
		}
	}
	return objects, nil
}

func realClusters(env *testenv.Env) run.Clusters {
	charts := &render.Charts{Sandbox: &templates.Renderer{}}
	return func(name string) (run.Cluster, error) {
		client, err := kube.New(connect.Connection{ConfigPaths: []string{env.Kubeconfig()}, ConfigContext: name}, nil)
		if err != nil {
			return nil, err
		}
		return realCluster{Client: helm.New(client, charts, &helm.RecordCache{}, nil), kube: client}, nil
	}
}

// damage adds a release record that Helm cannot decode. The record has the labels of an
// interrupted operation of this target.
func damage(t *testing.T, cluster *testenv.Cluster, namespace, name string, status release.Status) {
	t.Helper()
	client, err := kubernetes.NewForConfig(cluster.RESTConfig())
	if err != nil {
		t.Fatal(err)
	}
	system, err := client.CoreV1().Namespaces().Get(t.Context(), metav1.NamespaceSystem, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	made := signed(release.Observed{Release: name, Namespace: namespace, Revision: 1, Mark: mark(name, "v1-old", 1)}, release.Proof{Key: recordKey, UID: string(system.UID)})
	const prefix = "agentless-fleet.github.io/"
	damaged := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: "sh.helm.release.v1." + name + ".v1", Labels: map[string]string{
			"owner": "helm", "name": name, "status": string(status), "version": "1",
			prefix + "owner": owner, prefix + "target": of, prefix + "instance": instance,
			prefix + "bundle": name, prefix + "digest": "v1-old", prefix + "revision": "1", prefix + "mac": made.MAC,
		}},
		Type: "helm.sh/release.v1",
		Data: map[string][]byte{"release": []byte("garbage")},
	}
	if _, err := client.CoreV1().Secrets(namespace).Create(t.Context(), damaged, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

func TestAccDamagedRecordCostsOneDeployment(t *testing.T) {
	t.Parallel()
	env := testenv.Shared(t)
	second := env.Contexts()[1]
	const namespace = "damaged-record"
	makeNamespace(t, env, namespace)
	on := func(cluster, name string) target.Deployment {
		d := deployment(cluster, name, "v1-0123456789abcdef0123456789abcdef")
		d.Namespace = namespace
		d.Bundle = &bundle.Bundle{Name: name, Content: "v1-" + name, Files: []bundle.File{
			{Name: "a.yaml", Content: []byte("apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: " + name + "\n")},
		}}
		return d
	}
	damage(t, env.Cluster(1), namespace, "web", release.StatusPendingInstall)
	damage(t, env.Cluster(1), namespace, "waiting", release.StatusDeployed)
	engine := run.New(realClusters(env), 4)
	asked := request(nil)
	asked.Settings.Timeout = 20 * time.Second
	var want []string
	for _, cluster := range env.Contexts() {
		for _, name := range []string{"web", "other"} {
			asked.Write = append(asked.Write, on(cluster, name))
			want = append(want, cluster+"/"+name)
		}
	}

	outcome := engine.Apply(t.Context(), asked)

	if diff := cmp.Diff([]string{second + "/web recovering"}, failed(outcome.Failures)); diff != "" {
		t.Fatalf("failures (-want +got):\n%s\n%v", diff, outcome.Failures)
	}
	if _, ok := errors.AsType[*release.CorruptRecordError](outcome.Failures[0].Err); !ok {
		t.Errorf("error = %v, want a CorruptRecordError", outcome.Failures[0].Err)
	}
	for _, name := range want {
		cluster, bundle, _ := strings.Cut(name, "/")
		wanted := status.Ready
		if name == second+"/web" {
			wanted = status.ErrApplied
		}
		if got := outcome.Records[key(cluster, bundle)].State; got != wanted {
			t.Errorf("%s is %q, want %s", name, got, wanted)
		}
	}

	// A refresh that reads the objects of a damaged record does not end in a panic either.
	waiting := recordOfWrite(on(second, "waiting"))
	waiting.State, waiting.Message, waiting.Known = status.NotReady, "as before", release.Known{}
	records := map[deploy.Key]deploy.Record{key(second, "waiting"): waiting, key(second, "other"): outcome.Records[key(second, "other")]}
	observed := engine.Observe(t.Context(), identity(), deploy.DriftRelease, records)
	if diff := cmp.Diff(outcome.Records[key(second, "other")], observed.Records[key(second, "other")]); diff != "" {
		t.Errorf("the other record (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(waiting, observed.Records[key(second, "waiting")]); diff != "" {
		t.Errorf("the record of what could not be looked at (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{second + "/waiting reading the objects"}, failed(observed.Failures)); diff != "" {
		t.Errorf("failures (-want +got):\n%s", diff)
	}
}

// makeNamespace creates a namespace on all clusters for the time of a test.
func makeNamespace(t *testing.T, env *testenv.Env, name string) {
	t.Helper()
	env.RemoveAfter(t, name)
	for i := range env.Contexts() {
		client, err := kubernetes.NewForConfig(env.Cluster(i).RESTConfig())
		if err != nil {
			t.Fatal(err)
		}
		made := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
		if _, err := client.CoreV1().Namespaces().Create(t.Context(), made, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
}
