package kube_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/http/httputil"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/cli-runtime/pkg/resource"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/kube"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/kube/connect"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/release"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/secret"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/status"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/testenv"
)

// lab is one namespace of a real cluster.
type lab struct {
	*kube.Client
	namespace string
	cluster   *testenv.Cluster
	typed     *kubernetes.Clientset
}

func newLab(t *testing.T, namespace string) lab {
	t.Helper()
	return newLabIn(t, testenv.Shared(t), namespace)
}

func newLabIn(t *testing.T, env *testenv.Env, namespace string) lab {
	t.Helper()
	client := clientOf(t, connect.Connection{ConfigPaths: []string{env.Kubeconfig()}, ConfigContext: env.Contexts()[0]})
	typed, err := kubernetes.NewForConfig(env.Cluster(0).RESTConfig())
	if err != nil {
		t.Fatal(err)
	}
	env.RemoveAfter(t, namespace)
	made := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}
	if _, err := typed.CoreV1().Namespaces().Create(t.Context(), made, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	return lab{Client: client, namespace: namespace, cluster: env.Cluster(0), typed: typed}
}

// user creates a user with a few rights for the time of the test.
func (l lab) user(t *testing.T, name string, rules ...rbacv1.PolicyRule) testenv.User {
	t.Helper()
	t.Cleanup(func() {
		if err := l.cluster.RemoveUser(context.WithoutCancel(t.Context()), name); err != nil {
			t.Error(err)
		}
	})
	user, err := l.cluster.User(t.Context(), name, rules)
	if err != nil {
		t.Fatal(err)
	}
	return user
}

// infos reads manifests as Helm does.
func (l lab) infos(t *testing.T, manifests ...string) []*resource.Info {
	t.Helper()
	infos, err := resource.NewBuilder(l.Client).Unstructured().NamespaceParam(l.namespace).DefaultNamespace().Flatten().
		Stream(strings.NewReader(strings.Join(manifests, "\n---\n")), "test").Do().Infos()
	if err != nil {
		t.Fatal(err)
	}
	for _, info := range infos {
		l.own(t, info)
	}
	return infos
}

// own lets an object belong to the release r, unless it names another owner.
func (l lab) own(t *testing.T, info *resource.Info) {
	t.Helper()
	object, err := meta.Accessor(info.Object)
	if err != nil {
		t.Fatal(err)
	}
	annotations := map[string]string{"meta.helm.sh/release-name": "r", "meta.helm.sh/release-namespace": l.namespace}
	maps.Copy(annotations, object.GetAnnotations())
	object.SetAnnotations(annotations)
}

func (l lab) create(t *testing.T, infos []*resource.Info) {
	t.Helper()
	for _, info := range infos {
		if _, err := resource.NewHelper(info.Client, info.Mapping).Create(info.Namespace, true, info.Object); err != nil {
			t.Fatal(err)
		}
	}
}

func (l lab) remove(t *testing.T, infos []*resource.Info) {
	t.Helper()
	for _, info := range infos {
		policy := metav1.DeletePropagationBackground
		if _, err := resource.NewHelper(info.Client, info.Mapping).DeleteWithOptions(info.Namespace, info.Name, &metav1.DeleteOptions{PropagationPolicy: &policy}); err != nil {
			t.Fatal(err)
		}
	}
}

func (l lab) patch(t *testing.T, info *resource.Info, change, subresource string) {
	t.Helper()
	helper := resource.NewHelper(info.Client, info.Mapping).WithSubresource(subresource)
	if _, err := helper.Patch(info.Namespace, info.Name, types.MergePatchType, []byte(change), nil); err != nil {
		t.Error(err)
	}
}

// image is on every node, because pods need it. Its program ends at once with the argument -v, and
// otherwise runs until it is stopped.
const image = "registry.k8s.io/pause:3.10"

const pods = "template: {metadata: {labels: {app: %[1]s}}, spec: {%[2]scontainers: [{name: main, image: \"" + image + "\"}]}}"

func webDeployment() string {
	return fmt.Sprintf("apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: %[1]s}\nspec: {replicas: 2, selector: {matchLabels: {app: %[1]s}}, "+pods+"}", "web", "")
}

func job(name string) string {
	ends := strings.Replace(pods, "name: main", "name: main, args: [-v]", 1)
	return fmt.Sprintf("apiVersion: batch/v1\nkind: Job\nmetadata: {name: %[1]s}\nspec: {"+ends+"}", name, "restartPolicy: Never, ")
}

func configMap(name, meta string) string {
	return fmt.Sprintf("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: %s%s}", name, meta)
}

// claim is never bound: the clusters have no storage.
func claim(name string) string {
	return fmt.Sprintf("apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: %s}\nspec: {accessModes: [ReadWriteOnce], storageClassName: none, resources: {requests: {storage: 1Gi}}}", name)
}

const (
	held  = `, finalizers: [example.com/hold]`
	freed = `{"metadata":{"finalizers":null}}`
)

func soon(t *testing.T, patience time.Duration) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	return ctx
}

//nolint:gochecknoglobals // a constant struct
var withJobs = release.Readiness{Jobs: true}

const (
	long  = 20 * time.Second
	short = time.Second
)

func TestAccWaitReady(t *testing.T) {
	t.Parallel()
	l := newLab(t, "wait-ready")
	infos := l.infos(t, webDeployment(), configMap("settings", ""), configMap("more", ""), job("migrate"))
	var missing *kube.NotReadyError
	if err := l.Ready(t.Context(), infos, withJobs); !errors.As(err, &missing) || len(missing.Objects) != len(infos) {
		t.Fatalf("before anything is there: %v", err)
	}
	l.create(t, infos)
	if err := l.WaitReady(soon(t, long), infos, withJobs); err != nil {
		t.Fatal(err)
	}
	if err := l.Ready(t.Context(), infos, withJobs); err != nil {
		t.Errorf("ready before, but now: %v", err)
	}
}

func TestAccWaitReadyNamesWhatIsMissing(t *testing.T) {
	t.Parallel()
	l := newLab(t, "wait-missing")
	infos := l.infos(t, claim("data"), configMap("settings", ""))
	l.create(t, infos)
	began := time.Now()
	err := l.WaitReady(soon(t, short), infos, withJobs)
	var notReady *kube.NotReadyError
	if !errors.As(err, &notReady) {
		t.Fatalf("error = %v, want a NotReadyError", err)
	}
	want := []kube.Condition{{Object: "PersistentVolumeClaim wait-missing/data", Status: "InProgress"}}
	if diff := cmp.Diff(want, notReady.Objects, cmpopts.IgnoreFields(kube.Condition{}, "Message"), cmpopts.IgnoreUnexported(kube.Condition{})); diff != "" {
		t.Errorf("what is not ready (-want +got):\n%s", diff)
	}
	if took := time.Since(began); took > time.Minute {
		t.Errorf("it took %s to give up after %s", took, short)
	}
}

func TestAccWaitReadyOfJobs(t *testing.T) {
	t.Parallel()
	l := newLab(t, "wait-jobs")
	// A suspended job, whose pods are never started.
	waiting := strings.Replace(job("waiting"), "spec: {template", "spec: {suspend: true, template", 1)
	infos := l.infos(t, waiting)
	l.create(t, infos)
	if err := l.WaitReady(soon(t, long), infos, release.Readiness{}); err != nil {
		t.Errorf("jobs do not count, but: %v", err)
	}
	if err := l.WaitReady(soon(t, short), infos, withJobs); !errors.As(err, new(*kube.NotReadyError)) {
		t.Errorf("a job that does not run: %v", err)
	}
	// A job after its deadline has failed, and waiting ends at once.
	failing := l.infos(t, strings.Replace(job("failing"), "spec: {template", "spec: {suspend: true, activeDeadlineSeconds: 1, template", 1))
	l.create(t, failing)
	l.patch(t, failing[0], `{"spec":{"parallelism":0,"suspend":false}}`, "")
	ctx := soon(t, time.Minute)
	var notReady *kube.NotReadyError
	if err := l.WaitReady(ctx, failing, withJobs); !errors.As(err, &notReady) || notReady.Objects[0].Status != "Failed" {
		t.Errorf("a failed job: %v", err)
	}
	if ctx.Err() != nil {
		t.Error("nobody has seen that the job has failed")
	}
}

const widgets = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.wait.example.com}
spec:
  group: wait.example.com
  scope: Namespaced
  names: {kind: Widget, plural: widgets}
  versions:
  - name: v1
    served: true
    storage: true
    subresources: {status: {}}
    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
`

// Discovery lists about half of all kinds only a moment after they are established.
func TestAccWaitReadyOfDefinitions(t *testing.T) {
	t.Parallel()
	l := newLab(t, "wait-definitions")
	const number = 10
	for i := range number {
		group := fmt.Sprintf("wait%d.example.com", i)
		definition := l.infos(t, strings.ReplaceAll(widgets, "wait.example.com", group))
		l.create(t, definition)
		if err := l.WaitReady(soon(t, long), definition, withJobs); err != nil {
			t.Fatal(err)
		}
		_, told, err := l.typed.Discovery().ServerGroupsAndResources()
		if !slices.ContainsFunc(told, func(list *metav1.APIResourceList) bool { return list.GroupVersion == group+"/v1" }) {
			t.Errorf("%s is ready, and discovery does not tell of it (%v)", definition[0].Name, err)
		}
		l.remove(t, definition)
	}
}

func TestAccWaitReadyOfCustomResources(t *testing.T) {
	t.Parallel()
	l := newLab(t, "wait-custom")
	definition := l.infos(t, widgets)
	l.create(t, definition)
	if err := l.WaitReady(soon(t, long), definition, withJobs); err != nil {
		t.Fatal(err)
	}
	widget := l.infos(t, "apiVersion: wait.example.com/v1\nkind: Widget\nmetadata: {name: w}")
	l.create(t, widget)
	if err := l.Ready(t.Context(), widget, withJobs); err != nil {
		t.Errorf("what has no status is ready, but: %v", err)
	}
	const stalled, ready = `{"status":{"conditions":[{"type":"Stalled","status":"True","message":"no quota"}]}}`, `{"status":{"conditions":[{"type":"Ready","status":"True"}]}}`
	l.patch(t, widget[0], stalled, "status")
	var notReady *kube.NotReadyError
	if err := l.Ready(t.Context(), widget, withJobs); !errors.As(err, &notReady) || !strings.Contains(err.Error(), "Widget wait-custom/w is Failed: no quota") {
		t.Errorf("stalled: %v", err)
	}
	ignoring := release.Readiness{Ignore: []map[string]string{{"type": "Stalled", "message": "no quota"}}}
	if err := l.WaitReady(soon(t, long), widget, ignoring); err != nil {
		t.Errorf("stalled, which is to be ignored: %v", err)
	}
	// An object that is failed before an upgrade can recover through it.
	var recovering sync.WaitGroup
	recovering.Go(func() {
		<-time.After(short)
		l.patch(t, widget[0], ready, "status")
	})
	if err := l.WaitReady(soon(t, long), widget, withJobs); err != nil {
		t.Errorf("it recovers, but: %v", err)
	}
	recovering.Wait()

	// When its kind is deleted, a resource is deleted too.
	l.remove(t, definition)
	if err := l.WaitDeleted(soon(t, long), append(slices.Clone(widget), definition...)); err != nil {
		t.Errorf("the definition was removed, but: %v", err)
	}
}

func TestAccWaitDeleted(t *testing.T) {
	t.Parallel()
	l := newLab(t, "wait-gone")
	if err := l.WaitDeleted(soon(t, short), l.infos(t, configMap("never", ""))); err != nil {
		t.Errorf("what never was is gone, but: %v", err)
	}
	infos := l.infos(t, configMap("a", ""), configMap("held", held), configMap("also-held", held), webDeployment())
	l.create(t, infos)
	l.remove(t, infos)

	err := l.WaitDeleted(soon(t, 3*short), infos)
	want := "not deleted: ConfigMap wait-gone/held (waiting for the finalizers example.com/hold); " +
		"ConfigMap wait-gone/also-held (waiting for the finalizers example.com/hold)"
	if err == nil || err.Error() != want {
		t.Fatalf("error = %v, want %q", err, want)
	}

	l.patch(t, infos[1], freed, "")
	l.patch(t, infos[2], freed, "")
	if err := l.WaitDeleted(soon(t, long), infos); err != nil {
		t.Error(err)
	}
}

func TestAccWaitDeletedWhenRecreated(t *testing.T) {
	t.Parallel()
	l := newLab(t, "wait-again")
	infos := l.infos(t, configMap("a", ""))
	l.create(t, infos)
	l.remove(t, infos)
	l.create(t, infos)
	err := l.WaitDeleted(soon(t, short), infos)
	if err == nil || !strings.Contains(err.Error(), "it was created again") {
		t.Errorf("error = %v, want it to say that the object was made again", err)
	}
}

// Neither a refused request nor a missing response proves that an object does not exist.
func TestAccWaitDeletedNeedsNotFound(t *testing.T) {
	t.Parallel()
	l := newLab(t, "wait-denied")
	l.create(t, l.infos(t, configMap("a", ""), configMap("b", "")))
	infos := l.infos(t, configMap("a", ""), configMap("b", ""))
	user := l.user(t, "sees-nothing", rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"secrets"}, Verbs: []string{"get"}})
	denied := clientOf(t, connect.Connection{Kubeconfig: secret.Hide(user.Kubeconfig)})
	if err := denied.WaitDeleted(soon(t, short), infos); !apierrors.IsForbidden(err) {
		t.Errorf("refused: error = %v, want that it is forbidden", err)
	}
	gone := clientOf(t, connect.Connection{Host: "https://127.0.0.1:1", Token: secret.Hide("t"), Insecure: true})
	err := connect.Classify("c1", gone.WaitDeleted(soon(t, short), infos))
	if !errors.As(err, new(*status.UnreachableError)) {
		t.Errorf("no answer: error = %v, want an UnreachableError", err)
	}
	if err := gone.WaitReady(soon(t, short), infos, withJobs); !errors.As(connect.Classify("c1", err), new(*status.UnreachableError)) {
		t.Errorf("no answer: error = %v, want an UnreachableError", err)
	}
}

// Objects of one kind and namespace are read together, and those without Helm's
// label, which the list lacks, one by one.
func TestAccReadingTakesFewRequests(t *testing.T) {
	t.Parallel()
	l := newLab(t, "few-requests")
	const managed = ", labels: {app.kubernetes.io/managed-by: Helm}"
	manifests := []string{configMap("bare", "")}
	for i := range 150 { // more than a page
		manifests = append(manifests, configMap(fmt.Sprintf("a%03d", i), managed))
	}
	infos := l.infos(t, manifests...)
	l.create(t, infos)
	for _, test := range []struct {
		name  string
		infos []*resource.Info
		want  int64
	}{
		{name: "all: a page as long as they are many, and 1 object", infos: infos, want: 2},
		{name: "a few: 2 pages and 1 object", infos: []*resource.Info{infos[0], infos[1], infos[150]}, want: 3},
	} {
		var counted atomic.Int64
		if err := counting(t, l, &counted).Ready(t.Context(), test.infos, withJobs); err != nil {
			t.Fatal(err)
		}
		if got := counted.Load(); got != test.want {
			t.Errorf("%s: %d requests were made, want %d", test.name, got, test.want)
		}
	}
}

// counting returns a client of the lab's cluster that sends its requests through a counting server.
func counting(t *testing.T, l lab, counted *atomic.Int64) *kube.Client {
	t.Helper()
	config := l.cluster.RESTConfig()
	transport, err := rest.TransportFor(config)
	if err != nil {
		t.Fatal(err)
	}
	address, err := url.Parse(config.Host)
	if err != nil {
		t.Fatal(err)
	}
	forward := &httputil.ReverseProxy{Transport: transport, Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(address)
		r.Out.Header.Del("Authorization") // The transport adds its own credentials.
	}}
	return clientOf(t, to(serve(t, func(w http.ResponseWriter, r *http.Request) {
		counted.Add(1)
		forward.ServeHTTP(w, r)
	})))
}
