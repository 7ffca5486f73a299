package acceptance_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/dynamic"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/testenv"
)

// helm4 installs a release on cluster i as Helm 4 does: records as recorded, and objects applied on
// the server by the field manager helm. testdata/helm4 describes how they were recorded.
func (s *fixture) helm4(t *testing.T, i int, records ...string) {
	t.Helper()
	s.namespaced(t, i)
	var manifest string
	for n, name := range records {
		raw, err := os.ReadFile("testdata/helm4/" + name)
		if err != nil {
			t.Fatal(err)
		}
		recorded := map[string]any{}
		if err := json.Unmarshal(bytes.ReplaceAll(raw, []byte(`"helm4"`), []byte(strconv.Quote(s.namespace))), &recorded); err != nil {
			t.Fatal(err)
		}
		info, _ := recorded["info"].(map[string]any)
		status, _ := info["status"].(string)
		if n < len(records)-1 && status != "superseded" {
			t.Fatalf("%s is %s, want it superseded", name, status)
		}
		manifest, _ = recorded["manifest"].(string)
		secret := &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{
				Name:   fmt.Sprintf("sh.helm.release.v1.web.v%d", n+1),
				Labels: map[string]string{"name": "web", "owner": "helm", "status": status, "version": strconv.Itoa(n + 1), "modifiedAt": "1795253743"},
			},
			Type: "helm.sh/release.v1", Data: map[string][]byte{"release": packed(t, recorded)},
		}
		if _, err := s.client(t, i).CoreV1().Secrets(s.namespace).Create(t.Context(), secret, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	for _, object := range decoded(t, manifest) {
		labels, annotations := object.GetLabels(), object.GetAnnotations()
		if labels == nil {
			labels = map[string]string{}
		}
		if annotations == nil {
			annotations = map[string]string{}
		}
		labels["app.kubernetes.io/managed-by"] = "Helm"
		annotations["meta.helm.sh/release-name"], annotations["meta.helm.sh/release-namespace"] = "web", s.namespace
		object.SetLabels(labels)
		object.SetAnnotations(annotations)
		if _, err := s.resource(t, i, object).Apply(t.Context(), object.GetName(), object, metav1.ApplyOptions{FieldManager: "helm"}); err != nil {
			t.Fatal(err)
		}
	}
}

// namespaced makes the namespace of the test.
func (s *fixture) namespaced(t *testing.T, i int) {
	t.Helper()
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: s.namespace}}
	if _, err := s.client(t, i).CoreV1().Namespaces().Create(t.Context(), namespace, metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
		t.Fatal(err)
	}
}

// resource returns the API resource of an object of one of the kinds in these tests.
func (s *fixture) resource(t *testing.T, i int, object *unstructured.Unstructured) dynamic.ResourceInterface {
	t.Helper()
	client, err := dynamic.NewForConfig(s.env.Cluster(i).RESTConfig())
	if err != nil {
		t.Fatal(err)
	}
	kind := object.GroupVersionKind()
	return client.Resource(schema.GroupVersionResource{Group: kind.Group, Version: kind.Version, Resource: strings.ToLower(kind.Kind) + "s"}).Namespace(s.namespace)
}

func decoded(t *testing.T, manifest string) []*unstructured.Unstructured {
	t.Helper()
	var objects []*unstructured.Unstructured
	decoder := yaml.NewYAMLOrJSONDecoder(strings.NewReader(manifest), 1024)
	for {
		object := &unstructured.Unstructured{}
		switch err := decoder.Decode(&object.Object); {
		case err == io.EOF: //nolint:errorlint // the decoder returns it unwrapped
			return objects
		case err != nil:
			t.Fatal(err)
		case object.Object != nil:
			objects = append(objects, object)
		}
	}
}

// packed is a release in the form of a record.
func packed(t *testing.T, recorded map[string]any) []byte {
	t.Helper()
	raw, err := json.Marshal(recorded)
	if err != nil {
		t.Fatal(err)
	}
	var zipped bytes.Buffer
	writer := gzip.NewWriter(&zipped)
	if _, err := writer.Write(raw); err != nil {
		t.Fatal(err)
	}
	if err := writer.Close(); err != nil {
		t.Fatal(err)
	}
	return []byte(base64.StdEncoding.EncodeToString(zipped.Bytes()))
}

// unpacked returns the content of the record of a revision of release web on the first cluster.
func (s *fixture) unpacked(t *testing.T, revision int) string {
	t.Helper()
	secret, err := s.client(t, 0).CoreV1().Secrets(s.namespace).Get(t.Context(), fmt.Sprintf("sh.helm.release.v1.web.v%d", revision), metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return string(recorded(t, secret.Data["release"]))
}

// webTemplates is the template of the chart of testdata/helm4: without what Fleet adds, and without
// one key of a config map.
const webTemplates = `apiVersion: apps/v1
kind: Deployment
metadata: { name: web }
spec:
  replicas: 1
  selector: { matchLabels: { app: web } }
  template:
    metadata: { labels: { app: web } }
    spec: { containers: [{ name: c, image: "registry.k8s.io/pause:3.10", env: [{ name: FROM, value: fleet }] }] }
---
apiVersion: v1
kind: ConfigMap
metadata: { name: web }
data: { key: x }
---
apiVersion: v1
kind: ConfigMap
metadata: { name: same }
data: { key: same }
`

// web is that chart as a bundle.
func (s *fixture) web() string {
	return fmt.Sprintf("resource \"fleet_bundle\" \"web\" {\n  name = \"web\"\n  default_namespace = %q\n  files = {\n    \"Chart.yaml\" = \"apiVersion: v2\\nname: web\\nversion: 1.0.0\\n\"\n    \"templates/web.yaml\" = <<-Y\n%s    Y\n  }\n}\n",
		s.namespace, indent(webTemplates))
}

// pods are the UIDs of the pods on cluster i.
func (s *fixture) pods(t *testing.T, i int) []string {
	t.Helper()
	pods, err := s.client(t, i).CoreV1().Pods(s.namespace).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	uids := make([]string, len(pods.Items))
	for n, pod := range pods.Items {
		uids[n] = string(pod.UID)
	}
	slices.Sort(uids)
	return uids
}

// A release of Fleet's agent or of plain Helm 4 is taken over in place: its history stays, its pods
// continue to run, and the marks by which Fleet finds it are removed. Its record is not proven, so
// other fields that only that record has stay.
func TestAccTakeOverFromFleetAndHelm4(t *testing.T) {
	t.Parallel()
	env := testenv.Shared(t)
	tests := map[string]struct {
		records []string
		holder  string
		// untouched is true if objects that are as wanted stay the same to the byte.
		untouched bool
	}{
		"Fleet": {records: []string{"fleet.v1.json", "fleet.v2.json"}, holder: "Fleet's agent (fleet-apps-web)"},
		"Helm":  {records: []string{"helm.v1.json"}, holder: "Helm", untouched: true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, w := newFixture(t, env), newWorkspace(t)
			s.helm4(t, 0, test.records...)
			client := s.client(t, 0)
			eventually(t, "the pod runs", func(context.Context) (bool, error) { return len(s.pods(t, 0)) == 1, nil })
			pods, releases := s.pods(t, 0), s.releases(t, 0)
			same, err := client.CoreV1().ConfigMaps(s.namespace).Get(t.Context(), "same", metav1.GetOptions{})
			if err != nil {
				t.Fatal(err)
			}
			last := len(test.records)

			w.configure(t, s.provider("", on), s.web(), target("", "fleet_bundle.web.bundles"))
			refused := unwrapped(w.run(t, "plan", "-input=false"))
			if want := fmt.Sprintf("a/web: release web in namespace %s, revision %d, of %s", s.namespace, last, test.holder); !strings.Contains(refused, want) || !strings.Contains(refused, "cannot take over") || !strings.Contains(refused, `take_ownership_of = ["a/web"]`) {
				t.Errorf("the plan does not say %q:\n%s", want, refused)
			}
			w.fail(t, []string{"apply", "-auto-approve", "-input=false"}, `take_ownership_of = ["a/web"]`)
			if diff := cmp.Diff(releases, s.releases(t, 0), cmp.AllowUnexported(record{})); diff != "" {
				t.Errorf("the release was touched without being asked for (-before +after):\n%s", diff)
			}

			w.configure(t, s.provider("", on), s.web(), target(`take_ownership_of = ["a/w*"]`, "fleet_bundle.web.bundles"))
			taken := unwrapped(w.run(t, "plan", "-input=false"))
			if want := fmt.Sprintf("revision %d, of %s, gets a new revision", last, test.holder); !strings.Contains(taken, want) || !strings.Contains(taken, "takes over") {
				t.Errorf("the plan does not say %q:\n%s", want, taken)
			}
			w.apply(t)
			w.expectEmptyPlan(t)
			if got := s.releases(t, 0)["web"]; got.revision != strconv.Itoa(last+1) || got.status != "deployed" {
				t.Errorf("the newest revision is %+v, want %d", got, last+1)
			}
			if s.unpacked(t, 1) == "" || strings.Contains(s.unpacked(t, last+1), "fleet.cattle.io") {
				t.Error("the new record still has what Fleet's agent finds its releases by")
			}
			if diff := cmp.Diff(pods, s.pods(t, 0)); diff != "" {
				t.Errorf("pods were recreated (-before +after):\n%s", diff)
			}
			changed, err := client.CoreV1().ConfigMaps(s.namespace).Get(t.Context(), "web", metav1.GetOptions{})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(map[string]string{"key": "x", "later": "removed"}, changed.Data); diff != "" {
				t.Errorf("data (-want +got):\n%s", diff)
			}
			after, err := client.CoreV1().ConfigMaps(s.namespace).Get(t.Context(), "same", metav1.GetOptions{})
			if err != nil {
				t.Fatal(err)
			}
			if after.UID != same.UID || (test.untouched && after.ResourceVersion != same.ResourceVersion) {
				t.Error("an object that does not differ was changed")
			}
			for key := range changed.Labels {
				if strings.HasPrefix(key, "objectset.rio.cattle.io/") {
					t.Errorf("the label %s is still there", key)
				}
			}
			for key := range after.Annotations {
				if strings.HasPrefix(key, "objectset.rio.cattle.io/") {
					t.Errorf("the annotation %s is still there", key)
				}
			}
			w.run(t, "destroy", "-auto-approve")
			s.expectNothing(t, 0)
		})
	}
}

// The plan warns about a Fleet agent that runs on the cluster: the agent would restore what is
// taken from it.
func TestAccRunningFleetAgentIsWarnedAbout(t *testing.T) {
	t.Parallel()
	env := testenv.New(t, 1)
	if env.External() {
		t.Skip("tests beside this one would be warned about the agent too")
	}
	s, w, agent := newFixture(t, env), newWorkspace(t), &fixture{env: env, namespace: "cattle-fleet-system"}
	s.helm4(t, 0, "fleet.v1.json", "fleet.v2.json")
	agent.namespaced(t, 0)
	labels := map[string]string{"app": "fleet-agent"}
	_, err := s.client(t, 0).AppsV1().Deployments(agent.namespace).Create(t.Context(), &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: "fleet-agent"},
		Spec: appsv1.DeploymentSpec{
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "agent", Image: "rancher/fleet-agent"}}}},
		},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	w.configure(t, s.provider("", on), s.web(), target("take_ownership = true", "fleet_bundle.web.bundles"))
	output := unwrapped(w.run(t, "plan", "-input=false"))
	for _, want := range []string{"Fleet's agent still runs", "a: Deployment cattle-fleet-system/fleet-agent"} {
		if !strings.Contains(output, want) {
			t.Errorf("the plan does not say %q:\n%s", want, output)
		}
	}
}

// The plan lists objects that belong to no release, or to another, and they are taken over on
// request.
func TestAccBareObjectsAreTakenOver(t *testing.T) {
	t.Parallel()
	s, w := newFixture(t, testenv.Shared(t)), newWorkspace(t)
	s.namespaced(t, 0)
	configMaps := s.client(t, 0).CoreV1().ConfigMaps(s.namespace)
	made := map[string]*corev1.ConfigMap{}
	for name, annotations := range map[string]map[string]string{
		"one": nil, "two": {"meta.helm.sh/release-name": "former", "meta.helm.sh/release-namespace": "elsewhere"},
	} {
		object := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: annotations}, Data: map[string]string{"key": "x"}}
		created, err := configMaps.Create(t.Context(), object, metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		made[name] = created
	}
	bundles := []string{s.bundle("one", "x"), s.bundle("two", "x")}
	configure := func(extra string) {
		w.configure(t, append(bundles, s.provider("", on), target(extra, "fleet_bundle.one.bundles", "fleet_bundle.two.bundles"))...)
	}
	lines := []string{
		fmt.Sprintf("a/one: ConfigMap/%s/one, of no release", s.namespace),
		fmt.Sprintf("a/two: ConfigMap/%s/two, of release former in namespace elsewhere", s.namespace),
	}
	configure("")
	refused := unwrapped(w.run(t, "plan", "-input=false"))
	configure("take_ownership = true")
	taken := unwrapped(w.run(t, "plan", "-input=false"))
	for _, line := range lines {
		if !strings.Contains(refused, line) || !strings.Contains(taken, line) {
			t.Errorf("a plan does not say %q:\n%s\n%s", line, refused, taken)
		}
	}
	if !strings.Contains(refused, "cannot take over") || !strings.Contains(taken, "takes over") {
		t.Errorf("the plans do not say what becomes of them:\n%s\n%s", refused, taken)
	}
	w.apply(t)
	w.expectEmptyPlan(t)
	for name, before := range made {
		after, err := configMaps.Get(t.Context(), name, metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if after.UID != before.UID || after.Annotations["meta.helm.sh/release-name"] != name {
			t.Errorf("%s was not taken over as it is: %v, then %v", name, before.ObjectMeta, after.ObjectMeta)
		}
	}
	if diff := cmp.Diff(map[string]string{"a/one": "Ready", "a/two": "Ready"}, w.states(t)); diff != "" {
		t.Errorf("states (-want +got):\n%s", diff)
	}
	w.run(t, "destroy", "-auto-approve")
	s.expectNothing(t, 0)
}
