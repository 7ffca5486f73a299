package run_test

import (
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/bundle"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/deploy"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/deploy/run"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/fleetyaml"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/release"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/status"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/target"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/testenv"
)

// raw returns a deployment of manifests to a cluster.
func raw(cluster, namespace, name, manifest string) target.Deployment {
	d := deployment(cluster, name, "v1-0123456789abcdef0123456789abcdef")
	d.Namespace = namespace
	d.Bundle = &bundle.Bundle{Name: name, Content: "v1-" + name, Files: []bundle.File{{Name: "a.yaml", Content: []byte(manifest)}}}
	return d
}

func configMapOf(name string) string {
	return "---\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: " + name + "\ndata: {key: x}\n"
}

// The records of many releases are listed page by page. A damaged record affects only its own
// release.
func TestAccDriftOfManyReleases(t *testing.T) {
	t.Parallel()
	env := testenv.Shared(t)
	first := env.Contexts()[0]
	const namespace, many = "drift-of-many", 24
	makeNamespace(t, env, namespace)
	client, err := kubernetes.NewForConfig(env.Cluster(0).RESTConfig())
	if err != nil {
		t.Fatal(err)
	}
	engine := run.New(realClusters(env), 8)
	asked := request(nil)
	asked.Settings.Drift = deploy.DriftLive
	for i := range many {
		name := fmt.Sprintf("r%02d", i)
		asked.Write = append(asked.Write, raw(first, namespace, name, configMapOf(name)+
			"---\napiVersion: v1\nkind: ConfigMapList\nitems:\n- {apiVersion: v1, kind: ConfigMap, metadata: {name: "+name+"-listed}}\n"))
	}
	outcome := engine.Apply(t.Context(), asked)
	expectNoFailures(t, outcome.Failures)
	for name, record := range outcome.Records {
		if diff := cmp.Diff(status.Counts{Ready: 2}, record.Counts); diff != "" {
			t.Errorf("counts of %s (-want +got):\n%s", name, diff)
		}
	}

	if _, err := client.CoreV1().ConfigMaps(namespace).Patch(t.Context(), "r03", types.MergePatchType, []byte(`{"data":{"key":"edited"}}`), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := client.CoreV1().ConfigMaps(namespace).Delete(t.Context(), "r05-listed", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := client.CoreV1().Secrets(namespace).Patch(t.Context(), "sh.helm.release.v1.r07.v1", types.MergePatchType, []byte(`{"data":{"release":"Z2FyYmFnZQ=="}}`), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	observed := engine.Observe(t.Context(), identity(), deploy.DriftLive, outcome.Records)
	if diff := cmp.Diff([]string{first + "/r07 reading the objects"}, failed(observed.Failures)); diff != "" {
		t.Errorf("failures (-want +got):\n%s", diff)
	}
	want := map[string]string{"r03": "ConfigMap drift-of-many/r03 differs at data.key", "r05": "ConfigMap drift-of-many/r05-listed is missing"}
	for name := range outcome.Records { // Parallel tests deploy under the same id.
		if record := observed.Records[name]; record.Message != want[name.Bundle] {
			t.Errorf("%s: %s %q, want %q", name, record.State, record.Message, want[name.Bundle])
		}
	}
}

// An object in the manifests of two releases belongs to the one in Helm's annotation. It counts
// only for that release, and does not cause a write of the other one.
func TestAccObjectOfTwoReleasesCountsOnce(t *testing.T) {
	t.Parallel()
	env := testenv.Shared(t)
	cluster := env.Contexts()[0]
	const namespace = "drift-of-two"
	makeNamespace(t, env, namespace)
	engine := run.New(realClusters(env), 8)
	first, second := raw(cluster, namespace, "first", configMapOf("shared")+configMapOf("own")), raw(cluster, namespace, "second", configMapOf("shared"))
	records := map[deploy.Key]deploy.Record{}
	for _, d := range []target.Deployment{first, second} {
		asked := request(nil)
		asked.Settings.Drift, asked.Settings.Consent.All = deploy.DriftLive, true
		asked.Write = []target.Deployment{d}
		outcome := engine.Apply(t.Context(), asked)
		expectNoFailures(t, outcome.Failures)
		maps.Copy(records, outcome.Records)
	}

	observed := engine.Observe(t.Context(), identity(), deploy.DriftLive, records)
	expectNoFailures(t, observed.Failures)
	if diff := cmp.Diff([]release.OwnedObject{{Object: "ConfigMap drift-of-two/shared", Owner: "drift-of-two/second"}}, observed.Findings[key(cluster, "first")].NotOwned); diff != "" {
		t.Errorf("not owned (-want +got):\n%s", diff)
	}
	var all status.Counts
	for name := range records {
		all = all.Plus(observed.Records[name].Counts)
	}
	if diff := cmp.Diff(status.Counts{Ready: 2, NotOwned: 1}, all); diff != "" {
		t.Errorf("counts (-want +got):\n%s", diff)
	}
	lost := observed.Records[key(cluster, "first")]
	if lost.State != status.Modified || lost.Corrects(first) {
		t.Errorf("it is %s, corrected: %t; want it told and left alone", lost.State, lost.Corrects(first))
	}
}

// An object that has lost Helm's annotations is drift, and the next apply writes them again. An object
// of another release is named and left alone. An upgrade that contains it fails and writes no object.
func TestAccOwnershipAnnotations(t *testing.T) {
	t.Parallel()
	const name, namespace = "meta.helm.sh/release-name", "meta.helm.sh/release-namespace"
	tests := map[string]struct {
		annotations string
		want        string // The text of the refresh about the object.
		corrected   bool
		upgrade     bool // Another version is deployed.
		consent     bool
		refused     bool
	}{
		"none":                     {annotations: `{"` + name + `":null,"` + namespace + `":null}`, want: "differs at metadata.annotations", corrected: true},
		"no name":                  {annotations: `{"` + name + `":null}`, want: "differs at metadata.annotations[" + name + "]", corrected: true},
		"no namespace":             {annotations: `{"` + namespace + `":null}`, want: "differs at metadata.annotations[" + namespace + "]", corrected: true},
		"an empty name":            {annotations: `{"` + name + `":""}`, want: "differs at metadata.annotations[" + name + "]", corrected: true},
		"another release":          {annotations: `{"` + name + `":"other"}`, want: "belongs to release NS/other"},
		"another release, changed": {annotations: `{"` + name + `":"other"}`, want: "belongs to release NS/other", upgrade: true, refused: true},
		"another release, agreed":  {annotations: `{"` + name + `":"other"}`, want: "belongs to release NS/other", upgrade: true, consent: true},
	}
	for title, test := range tests {
		t.Run(title, func(t *testing.T) {
			t.Parallel()
			o := newOnCluster(t, "owner-"+bundle.Name(title))
			d := o.deployment("web", "v1-a", configMapFile("one")+configMapFile("two"), fleetyaml.Options{})
			o.write(t, d)
			one := o.configMap(t, "one")
			patch := []byte(`{"metadata":{"annotations":` + test.annotations + `}}`)
			before, err := o.client.CoreV1().ConfigMaps(o.namespace).Patch(t.Context(), "one", types.MergePatchType, patch, metav1.PatchOptions{})
			if err != nil {
				t.Fatal(err)
			}
			record := o.refresh(t, "web")
			want := "ConfigMap " + o.namespace + "/one " + strings.ReplaceAll(test.want, "NS", o.namespace)
			if record.State != status.Modified || record.Message != want || record.Corrects(d) != test.corrected {
				t.Errorf("it is %s %q, corrected: %t; want %q, %t", record.State, record.Message, record.Corrects(d), want, test.corrected)
			}
			if !test.corrected && !test.upgrade {
				return
			}
			if test.upgrade {
				d = o.deployment("web", "v1-b", configMapFile("one")+"data: {key: new}\n"+configMapFile("two")+"data: {key: new}\n", fleetyaml.Options{})
			}
			asked := o.request()
			asked.Write, asked.Settings.Consent.All = []target.Deployment{d}, test.consent
			outcome := o.runner.Apply(t.Context(), asked)
			after := o.configMap(t, "one")
			if test.refused {
				if text := "ConfigMap " + o.namespace + "/one of release " + o.namespace + "/other"; len(outcome.Failures) != 1 || !strings.Contains(outcome.Failures[0].Err.Error(), text) {
					t.Errorf("failures: %v, want one with %q", outcome.Failures, text)
				}
				if two := o.configMap(t, "two"); after.ResourceVersion != before.ResourceVersion || len(two.Data) > 0 {
					t.Errorf("objects were written: %v, %v", after, two)
				}
				return
			}
			expectNoFailures(t, outcome.Failures)
			if after.UID != one.UID || !maps.Equal(after.Annotations, one.Annotations) {
				t.Errorf("the object became %s %v, want %s %v", after.UID, after.Annotations, one.UID, one.Annotations)
			}
			maps.Copy(o.prior, outcome.Records)
			if record := o.refresh(t, "web"); record.State != status.Ready {
				t.Errorf("after the apply it is %s %q", record.State, record.Message)
			}
		})
	}
}

// refresh returns what a refresh records of a deployment.
func (o *onCluster) refresh(t *testing.T, name string) deploy.Record {
	t.Helper()
	observed := o.runner.Observe(t.Context(), o.request().TargetIdentity, deploy.DriftLive, o.prior)
	expectNoFailures(t, observed.Failures)
	maps.Copy(o.prior, observed.Records)
	return observed.Records[key(o.cluster, name)]
}

func (o *onCluster) configMap(t *testing.T, name string) *corev1.ConfigMap {
	t.Helper()
	found, err := o.client.CoreV1().ConfigMaps(o.namespace).Get(t.Context(), name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// An object moves back that a failed apply moved. State does not show that the other release has it.
func TestAccObjectOfAFailedMoveMovesBack(t *testing.T) {
	t.Parallel()
	o := newOnCluster(t, "moves-back")
	const broken = "---\napiVersion: v1\nkind: Service\nmetadata: {name: NAME}\nspec: {ports: [{port: 0}]}\n"
	of := func(name, digest, file string) target.Deployment {
		return o.deployment(name, digest, strings.ReplaceAll(file, "NAME", name), fleetyaml.Options{})
	}
	both := configMapFile("NAME") + configMapFile("moving")
	o.write(t, of("losing", "v1-a", both), of("gaining", "v1-a", configMapFile("NAME")))
	before := o.configMap(t, "moving")
	asked := o.request()
	asked.Write = []target.Deployment{of("losing", "v1-b", configMapFile("NAME")+broken), of("gaining", "v1-b", both+broken)}
	asked.Wants = map[deploy.Key]map[string]string{key(o.cluster, "losing"): {}, key(o.cluster, "gaining"): {"ConfigMap/" + o.namespace + "/moving": "hash"}}
	outcome := o.runner.Apply(t.Context(), asked)
	if owner := o.configMap(t, "moving").Annotations["meta.helm.sh/release-name"]; len(outcome.Failures) != 2 || owner != "gaining" {
		t.Fatalf("the object belongs to %s after %v, want two failures, and that it has moved", owner, outcome.Failures)
	}
	maps.Copy(o.prior, outcome.Records)
	o.write(t, of("losing", "v1-c", both))
	o.write(t, of("gaining", "v1-c", configMapFile("NAME")))
	if after := o.configMap(t, "moving"); after.UID != before.UID || !maps.Equal(after.Annotations, before.Annotations) {
		t.Errorf("the object became %s %v, want %s %v", after.UID, after.Annotations, before.UID, before.Annotations)
	}
}
