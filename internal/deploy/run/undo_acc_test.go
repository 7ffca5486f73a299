package run_test

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/bundle"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/deploy"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/deploy/run"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/fleetyaml"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/target"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/testenv"
)

// When an install is rejected halfway, the objects that it created are removed. Objects that
// existed before stay, even if they belong to others.
func TestAccRejectedInstallRemovesOnlyWhatItMade(t *testing.T) {
	t.Parallel()
	env := testenv.Shared(t)
	const rejected = "\n---\napiVersion: v1\nkind: Service\nmetadata:\n  name: bad\nspec:\n  ports: [{port: 99999999}]\n"
	configMap := func(name string) string {
		return "---\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: " + name + "\n"
	}
	tests := map[string]struct {
		// before is deployed first, under the release old.
		before string
		// loose reports that another user creates the shared object. lost reports that the record
		// of before is lost.
		loose, lost bool
		// only reports that the release has only the rejected object.
		only    bool
		prepare func(*run.Request)
		release string
		want    []string
	}{
		"what it made": {release: "new"},
		"taken over from somebody": {
			loose: true, release: "new", want: []string{"shared"},
			prepare: func(r *run.Request) { r.Settings.Consent.All = true },
		},
		"shared with the release it moves from":   {before: configMap("shared"), release: "new", want: []string{"shared"}},
		"of a release whose record was lost":      {before: configMap("shared"), lost: true, release: "old", want: []string{"shared"}},
		"nothing, as the first object is refused": {only: true, release: "new"},
		"rolled back as asked": {
			release: "new",
			prepare: func(r *run.Request) {
				r.Write[0].Options.Helm = &fleetyaml.Helm{Atomic: true}
			},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			namespace := "undo-" + bundle.Name(name)
			makeNamespace(t, env, namespace)
			client, err := kubernetes.NewForConfig(env.Cluster(0).RESTConfig())
			if err != nil {
				t.Fatal(err)
			}
			of := func(release, digest, files string) target.Deployment {
				d := deployment(env.Contexts()[0], "web", digest)
				d.Release, d.Namespace = release, namespace
				d.Bundle = &bundle.Bundle{Name: "web", Content: digest, Files: []bundle.File{{Name: "a.yaml", Content: []byte(files)}}}
				return d
			}
			engine := run.New(realClusters(env), 4)
			var prior map[deploy.Key]deploy.Record
			if test.before != "" {
				first := request(nil)
				first.Write = []target.Deployment{of("old", "v1-a", test.before)}
				outcome := engine.Apply(t.Context(), first)
				expectNoFailures(t, outcome.Failures)
				prior = outcome.Records
			}
			if test.loose {
				loose := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "shared"}}
				if _, err := client.CoreV1().ConfigMaps(namespace).Create(t.Context(), loose, metav1.CreateOptions{}); err != nil {
					t.Fatal(err)
				}
			}
			if test.lost {
				if err := client.CoreV1().Secrets(namespace).DeleteCollection(t.Context(), metav1.DeleteOptions{}, metav1.ListOptions{LabelSelector: "owner=helm"}); err != nil {
					t.Fatal(err)
				}
			}
			second := request(prior)
			files := configMap("made") + rejected
			if test.before != "" || test.loose {
				files = configMap("shared") + files
			}
			if test.only {
				files = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: bad}\nimmutable: maybe\n"
			}
			second.Write = []target.Deployment{of(test.release, "v1-b", files)}
			if test.prepare != nil {
				test.prepare(&second)
			}
			if outcome := engine.Apply(t.Context(), second); len(outcome.Failures) != 1 {
				t.Fatalf("failures: %v", outcome.Failures)
			}
			found, err := client.CoreV1().ConfigMaps(namespace).List(t.Context(), metav1.ListOptions{})
			if err != nil {
				t.Fatal(err)
			}
			var left []string
			for _, item := range found.Items {
				if item.Name != "kube-root-ca.crt" {
					left = append(left, item.Name)
				}
			}
			if !slices.Equal(left, test.want) {
				t.Errorf("left: %v, want %v", left, test.want)
			}
			records, err := client.CoreV1().Secrets(namespace).List(t.Context(), metav1.ListOptions{LabelSelector: "owner=helm,name=" + test.release})
			if err != nil || len(records.Items) > 0 {
				t.Errorf("%d records of the failed release are left: %v", len(records.Items), err)
			}
		})
	}
}
