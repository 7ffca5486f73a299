package helm_test

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	helmrelease "helm.sh/helm/v3/pkg/release"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/bundle"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/faulttest"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/helm"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/kube"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/kube/connect"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/release"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/render"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/target"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/testenv"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/worker/templates"
)

// onCluster is a test in a namespace of a real cluster, in which other clients write objects.
type onCluster struct {
	*testing.T
	env       *testenv.Env
	namespace string
	objects   kubernetes.Interface
	client    *helm.Client
}

func newOnCluster(t *testing.T, namespace string) *onCluster {
	t.Helper()
	return newOnClusterOf(t, testenv.Shared(t), namespace)
}

func newOnClusterOf(t *testing.T, env *testenv.Env, namespace string) *onCluster {
	t.Helper()
	objects, err := kubernetes.NewForConfig(env.Cluster(0).RESTConfig())
	if err != nil {
		t.Fatal(err)
	}
	o := &onCluster{T: t, env: env, namespace: namespace, objects: objects}
	o.client = o.newClient()
	o.makeNamespace(namespace)
	return o
}

// newClient returns a client that has not read the cluster before.
func (o *onCluster) newClient() *helm.Client {
	o.Helper()
	client, err := kube.New(connect.Connection{ConfigPaths: []string{o.env.Kubeconfig()}, ConfigContext: o.env.Cluster(0).Context()}, nil)
	if err != nil {
		o.Fatal(err)
	}
	return helm.New(client, &render.Charts{Sandbox: &templates.Renderer{}}, &helm.RecordCache{}, nil)
}

func (o *onCluster) makeNamespace(name string) {
	o.Helper()
	o.env.RemoveAfter(o.T, name)
	made := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
	if _, err := o.objects.CoreV1().Namespaces().Create(o.Context(), made, metav1.CreateOptions{}); err != nil {
		o.Fatal(err)
	}
}

// deployment returns a deployment of the release web with these files.
func (o *onCluster) deployment(files map[string]string) target.Deployment {
	var held []bundle.File
	for _, name := range slices.Sorted(maps.Keys(files)) {
		held = append(held, bundle.File{Name: name, Content: []byte(files[name])})
	}
	content := fmt.Sprint(files)
	return target.Deployment{
		Cluster: o.env.Contexts()[0], Release: "web", Namespace: o.namespace, Digest: "v1-" + release.ShortHash([]byte(content)),
		Bundle: &bundle.Bundle{Name: "web", Content: "v1-" + release.ShortHash([]byte(o.namespace+content)), Files: held},
	}
}

func (o *onCluster) observed() *release.Observed {
	o.Helper()
	observed, err := o.client.Release(o.Context(), o.namespace, "web")
	if err != nil {
		o.Fatal(err)
	}
	return observed
}

func (o *onCluster) write(action release.Action, d target.Deployment, known *release.Known, change ...func(*release.Write)) (release.Written, error) {
	o.Helper()
	w := release.Write{Mark: release.NewMark("owner", "target", "instance", "web", d.Digest), Proof: proof(), Timeout: 20 * time.Second, MaxHistory: 5, Known: known}
	for _, change := range change {
		change(&w)
	}
	return o.client.Write(o.Context(), action, d, o.observed(), w)
}

// install installs files and returns the known data of the release.
func (o *onCluster) install(files map[string]string) release.Known {
	o.Helper()
	written, err := o.write(release.Install, o.deployment(files), nil)
	if err != nil {
		o.Fatal(err)
	}
	return o.known(written.Revision)
}

// proof is the proof of the target that writes the release.
func proof() release.Proof { return release.Proof{Key: "secret", UID: "uid"} }

// known returns what the state has of the release.
func (o *onCluster) known(revision int) release.Known {
	return release.Known{Release: "web", Namespace: o.namespace, UID: proof().UID, Instance: "instance", Key: proof().Key, Revision: revision}
}

func (o *onCluster) uninstall(known release.Known) (release.Removed, error) {
	o.Helper()
	return o.client.Uninstall(o.Context(), *o.observed(), release.Removal{Mark: release.NewMark("owner", "target", "instance", "web", ""), Proof: proof(), Timeout: 20 * time.Second, Known: known})
}

// configMapFile returns a file with a config map.
func configMapFile(namespace, name string) string {
	return fmt.Sprintf("---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: %s, namespace: %s}\n", name, namespace)
}

// make creates a config map that has no owner, or names another release as its owner.
func (o *onCluster) make(namespace, name, of string) {
	o.Helper()
	made := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}}
	if in, release, ok := strings.Cut(of, "/"); ok {
		made.Annotations = map[string]string{"meta.helm.sh/release-name": release, "meta.helm.sh/release-namespace": in}
		made.Labels = map[string]string{"app.kubernetes.io/managed-by": "Helm"}
	}
	if _, err := o.objects.CoreV1().ConfigMaps(namespace).Create(o.Context(), made, metav1.CreateOptions{}); err != nil {
		o.Fatal(err)
	}
}

// left returns the config maps in a namespace.
func (o *onCluster) left(namespace string) []string {
	o.Helper()
	list, err := o.objects.CoreV1().ConfigMaps(namespace).List(o.Context(), metav1.ListOptions{})
	if err != nil {
		o.Fatal(err)
	}
	var names []string
	for _, item := range list.Items {
		if item.Name != "kube-root-ca.crt" && item.DeletionTimestamp == nil {
			names = append(names, item.Name)
		}
	}
	return names
}

func (o *onCluster) secrets() []string {
	o.Helper()
	list, err := o.objects.CoreV1().Secrets(o.namespace).List(o.Context(), metav1.ListOptions{})
	if err != nil {
		o.Fatal(err)
	}
	var names []string
	for _, item := range list.Items {
		names = append(names, item.Name)
	}
	return names
}

// firstRecord is the name of the first record of the release.
const firstRecord = "sh.helm.release.v1.web.v1"

// record reads a record of the release.
func (o *onCluster) record(name string) helmrelease.Release {
	o.Helper()
	secret, err := o.objects.CoreV1().Secrets(o.namespace).Get(o.Context(), name, metav1.GetOptions{})
	if err != nil {
		o.Fatal(err)
	}
	packed, err := base64.StdEncoding.DecodeString(string(secret.Data["release"]))
	if err != nil {
		o.Fatal(err)
	}
	reader, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		o.Fatal(err)
	}
	var held helmrelease.Release
	if err := json.NewDecoder(reader).Decode(&held); err != nil {
		o.Fatal(err)
	}
	return held
}

// tamper changes the content of the first record of the release, and keeps its labels.
func (o *onCluster) tamper(change func(*helmrelease.Release)) {
	o.Helper()
	o.tamperWith(firstRecord, change)
}

// tamperWith changes the content of a record of the release, and keeps its labels.
func (o *onCluster) tamperWith(name string, change func(*helmrelease.Release)) {
	o.Helper()
	held := o.record(name)
	change(&held)
	content, err := json.Marshal(held)
	if err != nil {
		o.Fatal(err)
	}
	o.patchRecord(name, map[string]any{"data": map[string]any{"release": pack(content)}})
}

// label changes a label of the first record of the release.
func (o *onCluster) label(name, value string) {
	o.Helper()
	o.patch(map[string]any{"metadata": map[string]any{"labels": map[string]any{"agentless-fleet.github.io/" + name: value}}})
}

// patch changes the first record of the release.
func (o *onCluster) patch(change map[string]any) { o.Helper(); o.patchRecord(firstRecord, change) }

// patchRecord changes a record of the release.
func (o *onCluster) patchRecord(name string, change map[string]any) {
	o.Helper()
	body, err := json.Marshal(change)
	if err != nil {
		o.Fatal(err)
	}
	if _, err := o.objects.CoreV1().Secrets(o.namespace).Patch(o.Context(), name, types.MergePatchType, body, metav1.PatchOptions{}); err != nil {
		o.Fatal(err)
	}
}

func pack(content []byte) []byte {
	return []byte(base64.StdEncoding.EncodeToString(faulttest.Gzip(string(content), "", 0, "")))
}

// bomb returns a record whose manifest has size MiB.
func bomb(size int) []byte {
	zipped := faulttest.Gzip(`{"name":"web","version":1,"info":{},"manifest":"`, strings.Repeat("#", 1<<20), size, `"}`)
	return []byte(base64.StdEncoding.EncodeToString(zipped))
}

// hookThat returns a hook that creates a config map with the name ran.
func (o *onCluster) hookThat(event helmrelease.HookEvent) *helmrelease.Hook {
	return &helmrelease.Hook{Name: "ran", Kind: "ConfigMap", Path: "h", Manifest: configMapFile(o.namespace, "ran"), Events: []helmrelease.HookEvent{event}}
}
