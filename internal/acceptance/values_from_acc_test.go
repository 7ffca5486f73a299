package acceptance_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/testenv"
)

// Values come from a Secret on each cluster: a change of one changes only that deployment, a
// missing one is an error of only that deployment, and its content shows nowhere.
func TestAccValuesFrom(t *testing.T) {
	t.Parallel()
	w, s := newWorkspace(t), newFixture(t, testenv.Shared(t))
	w.configure(t, s.provider("", on, on), fmt.Sprintf(`
resource "fleet_bundle" "app" {
  name              = "app"
  default_namespace = %q
  files = {
    "Chart.yaml"         = yamlencode({ apiVersion = "v2", name = "app", version = "1.0.0" })
    "templates/app.yaml" = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: app\ndata:\n  key: {{ .Values.word }}\n"
  }
  helm = {
    values      = yamlencode({ word = "unset" })
    values_from = [{ secret_key_ref = { name = "words", key = "app" } }]
  }
}
`, s.namespace), target("", "fleet_bundle.app.bundles"))
	s.setSecret(t, 0, "swordfish")

	// Cluster b lacks the Secret.
	const missing = "values are missing on clusters"
	reference := "Secret/" + s.namespace + "/words: "
	if plan := w.run(t, "plan"); strings.Count(plan, missing) != 1 || !strings.Contains(plan, reference+"b/app") {
		t.Errorf("the plan does not warn of the Secret on b alone:\n%s", plan)
	}
	w.fail(t, []string{"apply", "-auto-approve"}, "Secret/"+s.namespace+"/words does not exist on the cluster", "b/app")
	if got := s.value(t, 0, "app"); got != "swordfish" {
		t.Errorf("cluster a got %q", got)
	}
	s.expectReleases(t, 1)
	s.setSecret(t, 1, "hunter2hunter2")
	w.apply(t)
	w.expectEmptyPlan(t)
	if got := s.value(t, 1, "app"); got != "hunter2hunter2" {
		t.Errorf("cluster b got %q", got)
	}

	// The Secret is deleted on both clusters.
	for i := range 2 {
		if err := s.client(t, i).CoreV1().Secrets(s.namespace).Delete(t.Context(), "words", metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	if plan := w.run(t, "plan"); strings.Count(plan, missing) != 1 || !strings.Contains(plan, reference+"a/app, b/app") {
		t.Errorf("the plan does not warn of the Secret:\n%s", plan)
	}
	s.setSecret(t, 0, "swordfish")
	s.setSecret(t, 1, "hunter2hunter2")
	if plan := w.run(t, "plan"); strings.Contains(plan, missing) {
		t.Errorf("the plan warns of a Secret that is there:\n%s", plan)
	}
	w.apply(t)

	// Another value on one cluster.
	before := s.releases(t, 1)["app"]
	s.setSecret(t, 0, "open sesame")
	plan := w.run(t, "plan")
	if !strings.Contains(plan, "~ \"a/app\"") || strings.Contains(plan, "\"b/app\"") {
		t.Errorf("the plan does not show the change of a/app alone:\n%s", plan)
	}
	w.apply(t)
	w.expectEmptyPlan(t)
	if got := s.value(t, 0, "app"); got != "open sesame" {
		t.Errorf("cluster a got %q", got)
	}
	if after := s.releases(t, 1)["app"]; after != before {
		t.Errorf("the release on b was %+v and is %+v", before, after)
	}
	state, err := os.ReadFile(filepath.Join(w.dir, "terraform.tfstate"))
	if err != nil {
		t.Fatal(err)
	}
	for _, word := range []string{"swordfish", "hunter2hunter2", "open sesame"} {
		if strings.Contains(string(state), word) || strings.Contains(plan, word) {
			t.Errorf("%q can be read in state or plan", word)
		}
	}
	w.run(t, "destroy", "-auto-approve")
	for i := range 2 {
		s.expectReleases(t, i)
	}
}

// setSecret writes the Secret "words" on cluster i.
func (s *fixture) setSecret(t *testing.T, i int, word string) {
	t.Helper()
	core := s.client(t, i).CoreV1()
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: s.namespace}}
	if _, err := core.Namespaces().Get(t.Context(), s.namespace, metav1.GetOptions{}); err != nil {
		if _, err := core.Namespaces().Create(t.Context(), namespace, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "words"}, StringData: map[string]string{"app": "word: " + word + "\n"}}
	if _, err := core.Secrets(s.namespace).Update(t.Context(), secret, metav1.UpdateOptions{}); err == nil {
		return
	}
	if _, err := core.Secrets(s.namespace).Create(t.Context(), secret, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}
