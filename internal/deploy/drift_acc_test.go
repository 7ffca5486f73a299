package deploy_test

import (
	"fmt"
	"maps"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/bundle"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/deploy"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/release"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/status"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/target"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/testenv"
)

// raw returns a deployment of manifests to the first cluster.
func raw(namespace, name, manifest string) target.Deployment {
	d := deployment("c1", name, "v1-0123456789abcdef0123456789abcdef")
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
	const namespace, many = "drift-of-many", 24
	makeNamespace(t, env, namespace)
	client, err := kubernetes.NewForConfig(env.Cluster(0).RESTConfig())
	if err != nil {
		t.Fatal(err)
	}
	engine := deploy.New(realClusters(env), 8)
	asked := request(nil)
	asked.Settings.Drift = deploy.DriftLive
	for i := range many {
		name := fmt.Sprintf("r%02d", i)
		asked.Write = append(asked.Write, raw(namespace, name, configMapOf(name)+
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
	if diff := cmp.Diff([]string{"c1/r07 reading the objects"}, failed(observed.Failures)); diff != "" {
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
	const namespace = "drift-of-two"
	makeNamespace(t, env, namespace)
	engine := deploy.New(realClusters(env), 8)
	first, second := raw(namespace, "first", configMapOf("shared")+configMapOf("own")), raw(namespace, "second", configMapOf("shared"))
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
	if diff := cmp.Diff([]release.OwnedObject{{Object: "ConfigMap drift-of-two/shared", Owner: "drift-of-two/second"}}, observed.Findings[key("c1", "first")].NotOwned); diff != "" {
		t.Errorf("not owned (-want +got):\n%s", diff)
	}
	var all status.Counts
	for name := range records {
		all = all.Plus(observed.Records[name].Counts)
	}
	if diff := cmp.Diff(status.Counts{Ready: 2, NotOwned: 1}, all); diff != "" {
		t.Errorf("counts (-want +got):\n%s", diff)
	}
	lost := observed.Records[key("c1", "first")]
	if lost.State != status.Modified || lost.Corrects(first) {
		t.Errorf("it is %s, corrected: %t; want it told and left alone", lost.State, lost.Corrects(first))
	}
}
