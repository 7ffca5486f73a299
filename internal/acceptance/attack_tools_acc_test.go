package acceptance_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/testenv"
)

// takenBack makes the next revision of release web as Fleet's agent makes it: with what Fleet
// recorded, and with the labels of the previous revision, which Helm 4 copies.
func takenBack(t *testing.T, s *fixture, i int) {
	t.Helper()
	raw, err := os.ReadFile("testdata/helm4/fleet.v2.json")
	if err != nil {
		t.Fatal(err)
	}
	var content map[string]any
	if err := json.Unmarshal([]byte(strings.ReplaceAll(string(raw), `"helm4"`, fmt.Sprintf("%q", s.namespace))), &content); err != nil {
		t.Fatal(err)
	}
	former := s.newestRecord(t, i, "web")
	labels := maps.Clone(former.Labels)
	labels["version"] = "2"
	content["version"] = 2
	secrets := s.client(t, i).CoreV1().Secrets(s.namespace)
	newest := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: "sh.helm.release.v1.web.v2", Labels: labels},
		Type:       "helm.sh/release.v1", Data: map[string][]byte{"release": packed(t, content)},
	}
	if _, err := secrets.Create(t.Context(), newest, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	former.Labels["status"] = "superseded"
	if _, err := secrets.Update(t.Context(), former, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
}

// rolledBack makes the next revisions as a user does by hand: an upgrade, and a rollback to the
// revision that the target wrote.
func rolledBack(t *testing.T, s *fixture, i int) {
	t.Helper()
	upgraded(t, s, i)
	s.repeatRevision(t, i, "web", 2, 3)
}

func upgraded(t *testing.T, s *fixture, i int) {
	t.Helper()
	s.repeatRevision(t, i, "web", 1, 2)
}

// Another tool made the newest revision and copied our labels, so the revision belongs to that
// tool. It is reported with its maker, and neither removed nor overwritten without consent.
func TestAttackRevisionOfAnotherTool(t *testing.T) {
	t.Parallel()
	env := testenv.Shared(t)
	makers := map[string]struct {
		take  func(t *testing.T, s *fixture, i int)
		named string
	}{
		"Fleet":         {take: takenBack, named: "Fleet's agent (fleet-apps-web)"},
		"helm upgrade":  {take: upgraded, named: "Helm"},
		"helm rollback": {take: rolledBack, named: "Helm"},
	}
	acts := map[string]func(t *testing.T, w *workspace, s *fixture) string{
		"destroy": func(t *testing.T, w *workspace, _ *fixture) string {
			t.Helper()
			return w.destroyOutput(t)
		},
		"destroy without refresh": func(t *testing.T, w *workspace, _ *fixture) string {
			t.Helper()
			return w.destroyOutput(t, "-refresh=false")
		},
		"a change of rules": func(t *testing.T, w *workspace, s *fixture) string {
			t.Helper()
			w.configure(t, s.provider("", `on = "no"`), s.web(), target("allow_empty = true", "fleet_bundle.web.bundles"))
			return w.applyOutput(t)
		},
		"an update": func(t *testing.T, w *workspace, s *fixture) string {
			t.Helper()
			w.configure(t, s.provider("", on), strings.Replace(s.web(), "data: { key: x }", "data: { key: changed }", 1), target("", "fleet_bundle.web.bundles"))
			return w.applyOutput(t)
		},
		"an apply of the same": func(t *testing.T, w *workspace, _ *fixture) string {
			t.Helper()
			return w.applyOutput(t)
		},
		"a replacement": func(t *testing.T, w *workspace, _ *fixture) string {
			t.Helper()
			return w.applyOutput(t, "-replace="+all)
		},
	}
	// Only the name of the maker differs between the tools.
	always := []string{"destroy", "an update"}
	for maker, made := range makers {
		for name, act := range acts {
			t.Run(maker+", "+name, func(t *testing.T) {
				t.Parallel()
				if maker != "Fleet" && !slices.Contains(always, name) {
					testenv.RequireSoak(t)
				}
				s, w := newFixture(t, env), newWorkspace(t)
				w.configure(t, s.provider("", on), s.web(), target("", "fleet_bundle.web.bundles"))
				w.apply(t)
				made.take(t, s, 0)
				running := func(i int) []string { return s.pods(t, i) }
				eventually(t, "the pod runs", func(context.Context) (bool, error) { return len(running(0)) == 1, nil })
				releases, objects, pods := s.releases(t, 0), s.uids(t), running(0)
				output := act(t, w, s)
				if diff := cmp.Diff(releases, s.releases(t, 0), cmp.AllowUnexported(record{})); diff != "" {
					t.Errorf("the release (-before +after):\n%s", diff)
				}
				if diff := cmp.Diff(objects, s.uids(t)); diff != "" {
					t.Errorf("its objects (-before +after):\n%s", diff)
				}
				if diff := cmp.Diff(pods, running(0)); diff != "" {
					t.Errorf("its pods (-before +after):\n%s", diff)
				}
				expectMention(t, output, "web", made.named)
			})
		}
		t.Run(maker+", with consent", func(t *testing.T) {
			t.Parallel()
			s, w := newFixture(t, env), newWorkspace(t)
			w.configure(t, s.provider("", on), s.web(), target("", "fleet_bundle.web.bundles"))
			w.apply(t)
			made.take(t, s, 0)
			w.configure(t, s.provider("", on), s.web(), target("take_ownership = true", "fleet_bundle.web.bundles"))
			w.apply(t)
			w.expectEmptyPlan(t)
			w.run(t, "destroy", "-auto-approve")
			s.expectNothing(t, 0)
		})
	}
}

// Objects carry the annotations of a release whose record no longer exists. A first create does not
// adopt them. If the release is in state, the record is restored.
func TestAttackObjectsOfAReleaseWithoutRecord(t *testing.T) {
	t.Parallel()
	env := testenv.Shared(t)
	t.Run("a first create", func(t *testing.T) {
		t.Parallel()
		s, w := newFixture(t, env), newWorkspace(t)
		s.namespaced(t, 0)
		object := &corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{
				Name: "one", Labels: map[string]string{"app.kubernetes.io/managed-by": "Helm"},
				Annotations: map[string]string{"meta.helm.sh/release-name": "one", "meta.helm.sh/release-namespace": s.namespace},
			},
			Data: map[string]string{"key": "theirs"},
		}
		before, err := s.client(t, 0).CoreV1().ConfigMaps(s.namespace).Create(t.Context(), object, metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		w.configure(t, s.provider("", on), s.bundle("one", "x"), s.bundle("two", "x"), target("", "fleet_bundle.one.bundles", "fleet_bundle.two.bundles"))
		expectMention(t, w.run(t, "plan", "-input=false"), "ConfigMap/"+s.namespace+"/one")
		w.fail(t, applying, "a/one", "take_ownership")
		if got := s.value(t, 0, "one"); got != "theirs" {
			t.Errorf("the object was changed to %q", got)
		}
		s.expectReleases(t, 0, "two")
		w.destroyOutput(t)
		after, err := s.client(t, 0).CoreV1().ConfigMaps(s.namespace).Get(t.Context(), "one", metav1.GetOptions{})
		if err != nil || after.UID != before.UID {
			t.Errorf("the object was not left alone: %v", err)
		}
	})
	t.Run("with consent", func(t *testing.T) {
		t.Parallel()
		s, w := newFixture(t, env), newWorkspace(t)
		w.configure(t, s.provider("", on, on), s.bundle("one", "x"), target("take_ownership = true", "fleet_bundle.one.bundles"))
		w.apply(t)
		before := s.uids(t)
		for i := range 2 {
			s.deleteRecords(t, i)
		}
		w.forget(t)
		w.apply(t)
		if diff := cmp.Diff(before, s.uids(t)); diff != "" {
			t.Errorf("objects (-before +after):\n%s", diff)
		}
		w.run(t, "destroy", "-auto-approve")
		for i := range 2 {
			s.expectNothing(t, i)
		}
	})
	t.Run("known to the state", func(t *testing.T) {
		t.Parallel()
		s, w := newFixture(t, env), newWorkspace(t)
		w.configure(t, s.provider("", on), s.bundle("one", "x"), target("", "fleet_bundle.one.bundles"))
		w.apply(t)
		before := s.uids(t)
		s.deleteRecords(t, 0)
		w.apply(t)
		s.expectReleases(t, 0, "one")
		if diff := cmp.Diff(before, s.uids(t)); diff != "" {
			t.Errorf("objects (-before +after):\n%s", diff)
		}
		w.expectEmptyPlan(t)
		w.run(t, "destroy", "-auto-approve")
		s.expectNothing(t, 0)
	})
}
