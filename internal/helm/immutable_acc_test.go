package helm_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/bundle"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/fleetyaml"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/immutable"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/release"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/target"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/testenv"
)

const (
	jobOf      = "apiVersion: batch/v1\nkind: Job\nmetadata: {name: web}\nspec: {template: {spec: {restartPolicy: Never, containers: [{name: a, image: 'registry.k8s.io/pause:VERSION', args: [-v]}]}}}"
	serviceOf  = "apiVersion: v1\nkind: Service\nmetadata: {name: web}\nspec: {SPEC ports: [{port: 80}]}"
	setOf      = "apiVersion: apps/v1\nkind: StatefulSet\nmetadata: {name: web}\nspec: {serviceName: NAME, selector: {matchLabels: {app: web}}, template: {metadata: {labels: {app: web}}, spec: {containers: [{name: a, image: 'registry.k8s.io/pause:3.10'}]}}}"
	claimOf    = "apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: web}\nspec: {storageClassName: CLASS, accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}"
	keptMapOf  = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: web, annotations: {helm.sh/resource-policy: keep}}\nimmutable: true\ndata: {a: VALUE}"
	refusedJob = "apiVersion: batch/v1\nkind: Job\nmetadata: {name: web}\nspec: {template: {spec: {restartPolicy: Always, containers: [{name: a, image: 'registry.k8s.io/pause:3.10', args: [-v]}]}}}"
)

// replacing is a test of one object whose immutable fields an upgrade changes.
type replacing struct {
	*onCluster
	objects dynamic.ResourceInterface
}

func newReplacing(t *testing.T, namespace string, of schema.GroupVersionResource) *replacing {
	t.Helper()
	o := newOnCluster(t, namespace)
	client, err := dynamic.NewForConfig(testenv.Shared(t).Cluster(0).RESTConfig())
	if err != nil {
		t.Fatal(err)
	}
	return &replacing{onCluster: o, objects: client.Resource(of).Namespace(namespace)}
}

// object returns the object of the release.
func (r *replacing) object() *unstructured.Unstructured {
	r.Helper()
	live, err := r.objects.Get(r.Context(), "web", metav1.GetOptions{})
	if err != nil {
		r.Fatal(err)
	}
	return live
}

// beside returns the value in the config map that is beside the object.
func (r *replacing) beside() string {
	r.Helper()
	found, err := r.onCluster.objects.CoreV1().ConfigMaps(r.namespace).Get(r.Context(), "beside", metav1.GetOptions{})
	if err != nil {
		r.Fatal(err)
	}
	return found.Data["a"]
}

// pods returns the UIDs of the pods in the namespace that stay.
func (r *replacing) pods() []string {
	r.Helper()
	found, err := r.onCluster.objects.CoreV1().Pods(r.namespace).List(r.Context(), metav1.ListOptions{LabelSelector: "app=web"})
	if err != nil {
		r.Fatal(err)
	}
	var uids []string
	for _, pod := range found.Items {
		if pod.DeletionTimestamp == nil {
			uids = append(uids, string(pod.UID))
		}
	}
	return uids
}

// files returns files of a release with the object, beside a config map with a value.
func (r *replacing) files(object, value string) map[string]string {
	return map[string]string{"a.yaml": configMapFile(r.namespace, "beside") + "data: {a: " + value + "}\n", "b.yaml": object}
}

// start installs the files, and returns when the object is ready.
func (r *replacing) start(files map[string]string) release.Known {
	r.Helper()
	written, err := r.write(release.Install, r.deployment(files), nil, func(w *release.Write) { w.Wait = true })
	if err != nil {
		r.Fatal(err)
	}
	return r.known(written.Revision)
}

func forced(d target.Deployment) target.Deployment {
	d.Options.Helm = &fleetyaml.Helm{Force: true}
	return d
}

// resource returns the API of a kind.
func resource(group, name string) schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: group, Version: "v1", Resource: name}
}

// An upgrade that changes an immutable field writes nothing. With force it replaces this object alone,
// and only if such a field changes. The pods of a StatefulSet stay.
func TestAccImmutableFields(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		of            schema.GroupVersionResource
		before, after string
		object, field string
	}{
		"job":          {of: resource("batch", "jobs"), before: strings.Replace(jobOf, "VERSION", "3.9", 1), after: strings.Replace(jobOf, "VERSION", "3.10", 1), object: "Job.batch", field: "spec.template"},
		"service":      {of: resource("", "services"), before: strings.Replace(serviceOf, "SPEC", "", 1), after: strings.Replace(serviceOf, "SPEC", "clusterIP: None,", 1), object: "Service", field: "spec.clusterIP"},
		"stateful set": {of: resource("apps", "statefulsets"), before: strings.Replace(setOf, "NAME", "a", 1), after: strings.Replace(setOf, "NAME", "b", 1), object: "StatefulSet.apps", field: "spec.serviceName"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newReplacing(t, "immutable-"+bundle.Name(name), test.of)
			known := r.start(r.files(test.before, "one"))
			before, pods := r.object(), r.pods()

			_, err := r.write(release.Upgrade, r.deployment(r.files(test.after, "two")), &known)
			refused, _ := errors.AsType[*immutable.Error](err)
			want := &immutable.Error{Changes: []immutable.Change{{Object: test.object + "/" + r.namespace + "/web", Fields: []string{test.field}}}}
			if diff := cmp.Diff(want, refused); diff != "" {
				t.Errorf("error %v (-want +got):\n%s", err, diff)
			}
			if value := r.beside(); value != "one" || r.object().GetUID() != before.GetUID() || r.object().GetGeneration() != before.GetGeneration() {
				t.Errorf("a refused upgrade has written objects: %q", value)
			}
			if diff := cmp.Diff([]string{firstRecord}, r.secrets()); diff != "" {
				t.Errorf("records after a refused upgrade (-want +got):\n%s", diff)
			}

			if _, err := r.write(release.Upgrade, forced(r.deployment(r.files(test.after, "three"))), &known); err != nil {
				t.Fatal(err)
			}
			after := r.object()
			if value := r.beside(); value != "three" || after.GetUID() == before.GetUID() {
				t.Errorf("the other object has %q, and this one is replaced: %t", value, after.GetUID() != before.GetUID())
			}
			if diff := cmp.Diff(pods, r.pods()); diff != "" {
				t.Errorf("pods (-want +got):\n%s", diff)
			}

			known = r.known(2)
			if _, err := r.write(release.Upgrade, forced(r.deployment(r.files(test.after, "four"))), &known); err != nil {
				t.Fatal(err)
			}
			if value := r.beside(); value != "four" || r.object().GetUID() != after.GetUID() {
				t.Errorf("the other object has %q, and this one is replaced: %t", value, r.object().GetUID() != after.GetUID())
			}
		})
	}
}

// An object stays if its replacement could lose something. The upgrade then fails, and says why.
func TestAccForceKeepsObjects(t *testing.T) {
	t.Parallel()
	claims, maps, jobs := resource("", "persistentvolumeclaims"), resource("", "configmaps"), resource("batch", "jobs")
	job := strings.Replace(jobOf, "VERSION", "3.10", 1)
	tests := map[string]struct {
		of            schema.GroupVersionResource
		before, after string
		owner         string
		restricted    string
		want          string
	}{
		"claim":                 {of: claims, before: strings.Replace(claimOf, "CLASS", "a", 1), after: strings.Replace(claimOf, "CLASS", "b", 1), want: "spec.storageClassName"},
		"kept by an annotation": {of: maps, before: strings.Replace(keptMapOf, "VALUE", "a", 1), after: strings.Replace(keptMapOf, "VALUE", "b", 1), want: "its annotation helm.sh/resource-policy keeps it"},
		"of another release":    {of: jobs, before: strings.Replace(jobOf, "VERSION", "3.9", 1), after: job, owner: `"other"`, want: "/other"},
		"of no release":         {of: jobs, before: strings.Replace(jobOf, "VERSION", "3.9", 1), after: job, owner: "null", want: "it belongs to no release"},
		"refused creation":      {of: jobs, before: strings.Replace(jobOf, "VERSION", "3.9", 1), after: refusedJob, want: "before it is deleted"},
		"outside":               {of: jobs, before: strings.Replace(jobOf, "VERSION", "3.9", 1), after: job, restricted: "elsewhere", want: "outside namespace elsewhere"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newReplacing(t, "keeps-"+bundle.Name(name), test.of)
			known := r.install(r.files(test.before, "one"))
			known.TargetNamespace = test.restricted
			if test.owner != "" {
				patch := []byte(`{"metadata": {"annotations": {"meta.helm.sh/release-name": ` + test.owner + `}}}`)
				if _, err := r.objects.Patch(t.Context(), "web", types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
					t.Fatal(err)
				}
			}
			before := r.object()
			_, err := r.write(release.Upgrade, forced(r.deployment(r.files(test.after, "two"))), &known)
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error %v, want %q", err, test.want)
			}
			if after := r.object(); after.GetUID() != before.GetUID() || after.GetDeletionTimestamp() != nil {
				t.Error("the object is not the same")
			}
		})
	}
}
