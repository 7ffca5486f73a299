package acceptance_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/gittest"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/testenv"
)

// failing is a repository with a chart and with manifests that depend on the chart. The config maps
// of both contain version. The chart cannot be rendered for the cluster with the name template, and
// its values cannot be rendered for the cluster with the name values.
func (s *fixture) failing(t *testing.T, w *workspace, version, template, values string) string {
	t.Helper()
	w.write(t, "repo/app/fleet.yaml", "defaultNamespace: "+s.namespace+"\nname: app\nhelm:\n  releaseName: app\n  values:\n    cluster: ${ .ClusterName }\n"+
		"    checked: '${ if eq .ClusterName \""+values+"\" }${ fail \"no value here\" }${ end }'\n")
	w.write(t, "repo/app/Chart.yaml", "apiVersion: v2\nname: app\nversion: 1.0.0\n")
	w.write(t, "repo/app/templates/cm.yaml", "{{ if eq .Values.cluster \""+template+"\" }}{{ fail \"no template here\" }}{{ end }}\n"+configMap("app", version))
	w.write(t, "repo/after/fleet.yaml", "defaultNamespace: "+s.namespace+"\nname: after\nhelm: {releaseName: after}\ndependsOn: [{name: app}]\n")
	w.write(t, "repo/after/cm.yaml", configMap("after", version))
	return fmt.Sprintf("resource \"fleet_gitrepo\" \"all\" {\n  name = \"all\"\n  directory = %q\n}\n", filepath.Join(w.dir, "repo"))
}

// If a template fails for one cluster, its deployment is held there, and so is what depends on it.
// Everything else is deployed, and the next plan shows the same warning and no change.
func TestAccOnErrorHolds(t *testing.T) {
	t.Parallel()
	env := testenv.Shared(t)
	s, w := newFixture(t, env), newWorkspace(t)
	configure := func(onError, version, template, values string) {
		repo := s.failing(t, w, version, template, values)
		w.configure(t, s.provider("", on, on, on), repo, target("on_error = \""+onError+"\"\n  wait = false", "fleet_gitrepo.all.bundles"))
	}
	expect := func(want map[string]string) {
		t.Helper()
		got := map[string]string{}
		for i, cluster := range []string{"a", "b", "c"} {
			for _, name := range []string{"app", "after"} {
				found, err := s.client(t, i).CoreV1().ConfigMaps(s.namespace).Get(t.Context(), name, metav1.GetOptions{})
				if apierrors.IsNotFound(err) {
					continue
				}
				if err != nil {
					t.Fatal(err)
				}
				got[cluster+"/"+name] = found.Data["key"]
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("on the clusters (-want +got):\n%s", diff)
		}
	}

	configure("stop", "1", "b", "c")
	w.fail(t, []string{"plan", "-input=false"}, "cannot plan c/app", "no value here", "No deployment of this target was started")

	// Deployments that do not exist yet are not begun.
	configure("hold", "1", "b", "c")
	said := w.run(t, "apply", "-input=false", "-auto-approve")
	expectSays(t, said, "Target all: deployments are held", "b/app: ", "no template here", "c/app: ", "no value here", "b/after, c/after: it depends on bundle app")
	expect(map[string]string{"a/app": "1", "a/after": "1"})
	expectSays(t, w.expectEmptyPlan(t), "Target all: deployments are held", "no template here", "no value here")

	// Existing deployments stay as they are.
	configure("hold", "2", "", "")
	w.apply(t)
	expect(map[string]string{"a/app": "2", "a/after": "2", "b/app": "2", "b/after": "2", "c/app": "2", "c/after": "2"})
	configure("hold", "3", "b", "c")
	w.apply(t)
	expect(map[string]string{"a/app": "3", "a/after": "3", "b/app": "2", "b/after": "2", "c/app": "2", "c/after": "2"})
	expectSays(t, w.expectEmptyPlan(t), "Target all: deployments are held", "no template here", "no value here")

	// A replacement does not change them either.
	w.run(t, "apply", "-input=false", "-auto-approve", "-replace=fleet_cluster_target.all")
	expect(map[string]string{"a/app": "3", "a/after": "3", "b/app": "2", "b/after": "2", "c/app": "2", "c/after": "2"})
	w.run(t, "apply", "-input=false", "-auto-approve", "-refresh-only")
	w.expectEmptyPlan(t)

	configure("hold", "4", "", "")
	w.apply(t)
	expect(map[string]string{"a/app": "4", "a/after": "4", "b/app": "4", "b/after": "4", "c/app": "4", "c/after": "4"})
	w.expectEmptyPlan(t)
	w.run(t, "destroy", "-input=false", "-auto-approve")
	expect(map[string]string{})
}

// A rollout strategy counts a held deployment as unavailable.
func TestAccOnErrorHoldsARollout(t *testing.T) {
	t.Parallel()
	env := testenv.Shared(t)
	s, w := newFixture(t, env), newWorkspace(t)
	configure := func(version, template string) {
		repo := s.failing(t, w, version, template, "")
		w.write(t, "repo/app/fleet.yaml", "defaultNamespace: "+s.namespace+"\nname: app\nhelm:\n  releaseName: app\n  values:\n    cluster: ${ .ClusterName }\nrolloutStrategy: {maxUnavailable: 1}\n")
		w.configure(t, s.provider("", on, on, on), repo, target("on_error = \"hold\"\n  wait = false", "fleet_gitrepo.all.bundles"))
	}
	configure("1", "")
	w.apply(t)
	configure("2", "b")
	said := w.run(t, "apply", "-input=false", "-auto-approve")
	expectSays(t, said, "no template here", "maxUnavailable (1) allows no upgrade")
	for i := range 3 {
		if got := s.value(t, i, "app"); got != "1" {
			t.Errorf("cluster %d has %q, want 1", i, got)
		}
	}
	if said := w.expectEmptyPlan(t); !strings.Contains(unwrapped(said), "maxUnavailable (1) allows no upgrade") {
		t.Errorf("the second plan does not warn:\n%s", said)
	}
}

// An error in a fleet.yaml affects only its bundle. The last content of that bundle stays on the
// clusters, from git and from a folder, until the error is fixed or the folder is removed.
func TestAccOnErrorHoldsABundle(t *testing.T) {
	t.Parallel()
	env := testenv.Shared(t)
	for name, fromGit := range map[string]bool{"git": true, "directory": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, w := newFixture(t, env), newWorkspace(t)
			server := gittest.New(t, gittest.Options{})
			data := "defaultNamespace: " + s.namespace + "\n"
			publish := func(files map[string]string) {
				t.Helper()
				if err := os.RemoveAll(filepath.Join(w.dir, "repo")); err != nil {
					t.Fatal(err)
				}
				for name, content := range files {
					w.write(t, "repo/"+name, content)
				}
				if _, err := server.Commit(t.Context(), "repo", "main", "Next", files); err != nil {
					t.Fatal(err)
				}
			}
			source := fmt.Sprintf("directory = %q", filepath.Join(w.dir, "repo"))
			if fromGit {
				source = fmt.Sprintf("repo = %q\n  branch = \"main\"", server.URL("repo"))
			}
			configure := func(onError string) {
				w.configure(t, s.provider("", on), fmt.Sprintf("resource \"fleet_gitrepo\" \"all\" {\n  name = \"all\"\n  %s\n  on_error = %q\n}\n", source, onError),
					target(fmt.Sprintf("on_error = %q\n  wait = false", onError), "fleet_gitrepo.all.bundles"))
			}
			values := func(names ...string) string {
				var found []string
				for _, name := range names {
					found = append(found, s.value(t, 0, name))
				}
				return strings.Join(found, " ")
			}

			configure("hold")
			publish(map[string]string{"one/fleet.yaml": data, "one/cm.yaml": configMap("one", "1"), "two/fleet.yaml": data, "two/cm.yaml": configMap("two", "1")})
			w.apply(t)
			w.expectEmptyPlan(t)
			wrong := map[string]string{
				"one/fleet.yaml": data + "helm: [1]\n", "one/cm.yaml": configMap("one", "2"), "two/fleet.yaml": data, "two/cm.yaml": configMap("two", "2"),
				"three/fleet.yaml": "helm: [1]\n", "three/cm.yaml": configMap("three", "2"),
			}
			publish(wrong)
			configure("stop")
			w.fail(t, []string{"plan", "-input=false"}, "one/fleet.yaml", "three/fleet.yaml", "Reading bundles changes nothing on any cluster")
			configure("hold")
			w.fail(t, []string{"plan", "-input=false", "-replace=fleet_gitrepo.all"}, "one/fleet.yaml", "three/fleet.yaml", "Cannot build the bundles of all")
			said := w.run(t, "apply", "-input=false", "-auto-approve")
			expectSays(t, said, "GitRepo all: bundles are held", "one/fleet.yaml", "three/fleet.yaml")
			if diff := cmp.Diff("1 2", values("one", "two")); diff != "" {
				t.Errorf("on the cluster (-want +got):\n%s", diff)
			}
			expectSays(t, w.expectEmptyPlan(t), "GitRepo all: bundles are held", "one/fleet.yaml")

			// While one folder cannot be read, no bundle is removed: the bundle could be from that
			// folder.
			delete(wrong, "two/fleet.yaml")
			delete(wrong, "two/cm.yaml")
			publish(wrong)
			w.run(t, "apply", "-input=false", "-auto-approve")
			if diff := cmp.Diff("1 2", values("one", "two")); diff != "" {
				t.Errorf("on the cluster (-want +got):\n%s", diff)
			}
			w.expectEmptyPlan(t)

			publish(map[string]string{"one/fleet.yaml": data, "one/cm.yaml": configMap("one", "3")})
			w.apply(t)
			if diff := cmp.Diff("3", values("one")); diff != "" {
				t.Errorf("on the cluster (-want +got):\n%s", diff)
			}
			s.expectReleases(t, 0, "all-one")
			w.expectEmptyPlan(t)
		})
	}
}
