//go:build !race

package run_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/bundle"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/deploy"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/deploy/run"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/diff"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/release"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/target"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/testenv"
)

// A tenant who may write Secrets in one namespace labels large ones as release records. This costs
// only the release that they are labelled with.
func TestAccAttackLargeRecords(t *testing.T) {
	t.Parallel()
	env := testenv.New(t, 1) // Other tests would list the records, too.
	cluster := env.Contexts()[0]
	env.RemoveAfter(t, "another")
	env.RemoveAfter(t, "attacked")
	client, err := kubernetes.NewForConfig(env.Cluster(0).RESTConfig())
	if err != nil {
		t.Fatal(err)
	}
	of := func(namespace, name, value string) target.Deployment {
		d := deployment(cluster, name, "v1-"+strings.Repeat(value, 32))
		d.Namespace = namespace
		file := "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: " + name + "}\ndata: {value: \"" + value + "\"}\n"
		d.Bundle = &bundle.Bundle{Name: name, Content: "v1-large-" + name + value, Files: []bundle.File{{Name: "a.yaml", Content: []byte(file)}}}
		return d
	}
	all := func(value string) []target.Deployment {
		return []target.Deployment{of("another", "web", value), of("attacked", "beside", value), of("attacked", "victim", value)}
	}
	engine, asked := run.New(realClusters(env), 4), request(nil)
	asked.Write = all("1")
	outcome := engine.Apply(t.Context(), asked)
	expectNoFailures(t, outcome.Failures)
	prior := outcome.Records
	createLargeRecords(t, client, "attacked", "victim")

	victim := key(cluster, "victim")
	seen := engine.Observe(t.Context(), asked.TargetIdentity, deploy.DriftLive, prior)
	if diff := cmp.Diff([]string{cluster + "/victim looking up the release"}, failed(seen.Failures)); diff != "" {
		t.Errorf("failures of a refresh (-want +got):\n%s\n%v", diff, seen.Failures)
	}
	if diff := cmp.Diff(prior[victim], seen.Records[victim]); diff != "" || len(seen.Missing) > 0 || seen.AllSeen {
		t.Errorf("lost: %v, all seen: %t, record (-want +got):\n%s", seen.Missing, seen.AllSeen, diff)
	}

	asked = request(seen.Records)
	asked.Write = all("2")
	outcome = engine.Apply(t.Context(), asked)
	if diff := cmp.Diff([]string{cluster + "/victim looking up the release"}, failed(outcome.Failures)); diff != "" {
		t.Errorf("failures of an apply (-want +got):\n%s\n%v", diff, outcome.Failures)
	}
	for _, d := range all("2") {
		want := "2"
		if d.Release == "victim" {
			want = "1"
		}
		found, err := client.CoreV1().ConfigMaps(d.Namespace).Get(t.Context(), d.Release, metav1.GetOptions{})
		if err != nil || found.Data["value"] != want {
			t.Errorf("%s: value %v, %v, want %s", d.Release, found.Data, err, want)
		}
	}

	checkExistingSecrets(t, env)

	asked = request(outcome.Records)
	asked.Remove = []deploy.Key{key(cluster, "beside"), victim, key(cluster, "web")}
	outcome = engine.Apply(t.Context(), asked)
	if diff := cmp.Diff([]string{cluster + "/victim removing"}, failed(outcome.Failures)); diff != "" {
		t.Errorf("failures of a removal (-want +got):\n%s\n%v", diff, outcome.Failures)
	}
	if _, isKept := outcome.Records[victim]; !isKept || len(outcome.Records) != 1 {
		t.Errorf("records after the removal: %v, want that of the victim", outcome.Records)
	}
}

// checkExistingSecrets looks for Secrets beside the large ones.
func checkExistingSecrets(t *testing.T, env *testenv.Env) {
	t.Helper()
	cluster, err := realClusters(env)(env.Contexts()[0])
	if err != nil {
		t.Fatal(err)
	}
	reader, _ := cluster.(realCluster)
	wanted := release.Wanted{Release: "new", Namespace: "attacked"}
	for _, name := range []string{"absent", largeRecord("victim", 0), largeRecord("victim", 299), "absent-too"} {
		wanted.Objects = append(wanted.Objects, diff.Object{Kind: "Secret", Namespace: "attacked", Name: name})
	}
	found, err := reader.ExistingObjects(t.Context(), []release.Wanted{wanted})
	if err != nil || len(found) != 2 {
		t.Errorf("existing objects: %v, %v, want two", found, err)
	}
}

func largeRecord(release string, number int) string {
	return fmt.Sprintf("sh.helm.release.v1.%s.x%d", release, number)
}

// createLargeRecords creates Secrets with the labels of a release. Their metadata takes 76 MB.
func createLargeRecords(t *testing.T, client kubernetes.Interface, namespace, release string) {
	t.Helper()
	const number, size = 300, 255_000
	annotations := map[string]string{"a": strings.Repeat("x", size)}
	var creating errgroup.Group
	creating.SetLimit(2) // More at once time out in etcd on a busy machine.
	for i := range number {
		creating.Go(func() error {
			_, err := client.CoreV1().Secrets(namespace).Create(t.Context(), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{
				Name: largeRecord(release, i), Annotations: annotations,
				Labels: map[string]string{"owner": "helm", "name": release, "status": "deployed", "version": "1"},
			}}, metav1.CreateOptions{})
			return err
		})
	}
	if err := creating.Wait(); err != nil {
		t.Fatal(err)
	}
}
