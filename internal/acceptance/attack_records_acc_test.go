package acceptance_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/charttest"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/faulttest"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/gittest"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/testenv"
)

// forgingChart is a chart that makes a release record. The record has the labels of an existing
// record, an empty service account, and a manifest that the attacker chooses.
func forgingChart(t *testing.T, namespace, manifest, value string) map[string]string {
	t.Helper()
	template := `apiVersion: v1
kind: ConfigMap
metadata: { name: app }
data: { key: ` + value + ` }
{{- range (lookup "v1" "Secret" .Release.Namespace "").items }}
{{- if and (eq .type "helm.sh/release.v1") (eq (index .metadata.labels "name") $.Release.Name) }}
{{- $labels := deepCopy .metadata.labels }}
{{- $_ := set $labels "name" "forged" }}
{{- $_ := set $labels "version" "1" }}
{{- $_ := set $labels "status" "deployed" }}
{{- $_ := set $labels "` + attackLabel + `bundle" "forged" }}
{{- $_ := set $labels "` + attackLabel + `revision" "1" }}
{{- $_ := set $labels "` + attackAccountLabel + `" "" }}
---
apiVersion: v1
kind: Secret
type: helm.sh/release.v1
metadata:
  name: sh.helm.release.v1.forged.v1
  labels: {{ toJson $labels }}
stringData:
  release: ` + string(packed(t, forgedRelease("forged", namespace, manifest))) + `
{{- break }}
{{- end }}
{{- end }}
`
	return map[string]string{
		"Chart.yaml":          "apiVersion: v2\nname: app\nversion: 1.0.0\n",
		"templates/cm.yaml":   template,
		"templates/NOTES.txt": "Nothing to see here.\n",
	}
}

// A service account confines the users who may push to a repository to a namespace. A record that
// their chart makes does not delete objects outside of it.
func TestAttackRecordMadeByAChart(t *testing.T) {
	t.Parallel()
	env := testenv.Shared(t)
	s, w, out := newFixture(t, env), newWorkspace(t), newOutsider(t, env, nil)
	s.makeAccount(t, 0, s.namespace)
	git := gittest.New(t, gittest.Options{})
	push := func(value string) {
		t.Helper()
		if _, err := git.Commit(t.Context(), "tenant", "main", value, forgingChart(t, s.namespace, out.manifest(), value)); err != nil {
			t.Fatal(err)
		}
	}
	w.configure(t, s.provider("", on), fmt.Sprintf("resource \"fleet_gitrepo\" \"app\" {\n  name = \"app\"\n  repo = %q\n  branch = \"main\"\n  target_namespace = %q\n  service_account = %q\n}\n",
		git.URL("tenant"), s.namespace, s.namespace), target("", "fleet_gitrepo.app.bundles"))
	var outputs strings.Builder
	for _, value := range []string{"first", "second", "third"} {
		push(value)
		outputs.WriteString(w.applyOutput(t))
		out.expectUntouched(t, value+" apply")
	}
	expectMention(t, outputs.String(), "release record", "a/app")
	outputs.WriteString(w.destroyOutput(t))
	out.expectUntouched(t, "destroy")
}

// A bundle that contains a record of Helm, in any form, is refused before any part of the bundle is
// written.
func TestAttackBundleBringsARecord(t *testing.T) {
	t.Parallel()
	env := testenv.Shared(t)
	const labels = "labels: { owner: helm, name: forged, status: deployed, version: \"1\" }"
	secret := func(kind, meta string) string {
		return "apiVersion: v1\nkind: Secret\n" + kind + "metadata:\n  name: sh.helm.release.v1.forged.v1\n" + meta + "stringData: { release: eA== }\n"
	}
	record := secret("type: helm.sh/release.v1\n", "  "+labels+"\n")
	chart := map[string]string{"Chart.yaml": "apiVersion: v2\nname: app\nversion: 1.0.0\n", "templates/cm.yaml": configMap("app", "x")}
	with := func(name, content string) map[string]string {
		files := maps.Clone(chart)
		files[name] = content
		return files
	}
	tests := map[string]map[string]string{
		"a manifest":            {"m.yaml": configMap("app", "x") + "---\n" + record},
		"a list":                {"m.yaml": "apiVersion: v1\nkind: List\nitems:\n- " + strings.TrimSuffix(strings.ReplaceAll(record, "\n", "\n  "), "  ")},
		"no type":               {"m.yaml": secret("", "  "+labels+"\n")},
		"no labels":             {"m.yaml": secret("type: helm.sh/release.v1\n", "")},
		"an install hook":       with("templates/hook.yaml", secret("type: helm.sh/release.v1\n", "  annotations: { helm.sh/hook: pre-install }\n  "+labels+"\n")),
		"a delete hook":         with("templates/hook.yaml", secret("type: helm.sh/release.v1\n", "  annotations: { helm.sh/hook: post-delete }\n  "+labels+"\n")),
		"the folder crds":       with("crds/record.yaml", record),
		"kustomize":             {"kustomization.yaml": "resources: [cm.yaml]\nsecretGenerator:\n- name: sh.helm.release.v1.forged.v1\n  type: helm.sh/release.v1\n  literals: [release=eA==]\n  options: { disableNameSuffixHash: true, " + labels + " }\n", "cm.yaml": configMap("app", "x")},
		"another namespace":     {"m.yaml": strings.Replace(record, "metadata:\n", "metadata:\n  namespace: ELSEWHERE\n", 1)},
		"a chart from a server": nil,
	}
	for name, files := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, w, elsewhere := newFixture(t, env), newWorkspace(t), newFixture(t, env)
			elsewhere.namespaced(t, 0)
			var app string
			if files == nil {
				charts := charttest.New(t, charttest.Options{})
				charts.AddChart(charttest.Chart{Name: "app", Version: "1.0.0", Files: with("templates/record.yaml", record)})
				app = fmt.Sprintf("resource \"fleet_bundle\" \"app\" {\n  name = \"app\"\n  default_namespace = %q\n  chart = { repo = %q, name = \"app\", version = \"1.0.0\" }\n}\n", s.namespace, charts.RepositoryURL())
			} else {
				git := gittest.New(t, gittest.Options{})
				files = maps.Clone(files)
				for name, content := range files {
					files[name] = strings.ReplaceAll(content, "ELSEWHERE", elsewhere.namespace)
				}
				if _, err := git.Commit(t.Context(), "tenant", "main", "Attack", files); err != nil {
					t.Fatal(err)
				}
				app = fmt.Sprintf("resource \"fleet_bundle\" \"app\" {\n  name = \"app\"\n  default_namespace = %q\n  git = { repo = %q, revision = \"main\" }\n}\n", s.namespace, git.URL("tenant"))
			}
			w.configure(t, s.provider("", on), app, s.bundle("other", "x"), target("", "fleet_bundle.app.bundles", "fleet_bundle.other.bundles"))
			output, err := w.try(t, "apply", "-auto-approve", "-input=false")
			if err == nil {
				t.Error("the record is deployed")
			}
			expectMention(t, output, "release record", "app")
			for _, namespace := range []string{s.namespace, elsewhere.namespace} {
				_, err := s.client(t, 0).CoreV1().Secrets(namespace).Get(t.Context(), "sh.helm.release.v1.forged.v1", metav1.GetOptions{})
				if !apierrors.IsNotFound(err) {
					t.Errorf("the record was made in namespace %s: %v", namespace, err)
				}
			}
			w.destroyOutput(t)
		})
	}
}

// A user who may create Secrets in one namespace makes a record with the labels of a target.
// Neither the record nor the objects in it are removed. The plan does not report it: only a record
// that is proven is the target's.
func TestAttackRecordMadeByATenant(t *testing.T) {
	t.Parallel()
	env := testenv.Shared(t)
	for name, labels := range map[string]map[string]string{
		"of an unknown bundle":              {attackLabel + "bundle": "forged"},
		"of a known bundle":                 {attackLabel + "bundle": "app"},
		"with an account that is not there": {attackLabel + "bundle": "forged", attackAccountLabel: "nobody"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, w, out := newFixture(t, env), newWorkspace(t), newOutsider(t, env, nil)
			configure := func(value string) {
				w.configure(t, s.provider("", on), s.bundle("app", value), target("", "fleet_bundle.app.bundles"))
			}
			configure("x")
			w.apply(t)
			content := forgedRelease("forged", s.namespace, out.manifest())
			content["hooks"] = []any{out.hook("pre-delete", "post-delete")}
			s.forge(t, "forged", "app", labels, packed(t, content))
			made := s.releases(t, 0)["forged"]

			if output := w.expectEmptyPlan(t); strings.Contains(output, "forged") {
				t.Errorf("the plan reports the forged record:\n%s", output)
			}
			w.applyOutput(t)
			out.expectUntouched(t, "apply of nothing")
			configure("y")
			w.applyOutput(t)
			out.expectUntouched(t, "apply of a change")
			if got := s.value(t, 0, "app"); got != "y" {
				t.Errorf("the forged record keeps the release of the bundle at %q", got)
			}
			w.destroyOutput(t)
			out.expectUntouched(t, "destroy")
			if strings.Contains(w.managed(t), all) {
				t.Error("the forged record keeps the target from being destroyed")
			}
			if diff := cmp.Diff(map[string]record{"forged": made}, s.releases(t, 0), cmp.AllowUnexported(record{})); diff != "" {
				t.Errorf("releases after destroy (-want +got):\n%s", diff)
			}
		})
	}
}

// The record of a release in state is replaced by one with the same name and the same labels. The
// provider then removes what the release owns, and nothing else.
func TestAttackRecordReplaced(t *testing.T) {
	t.Parallel()
	env := testenv.Shared(t)
	bundles := "fleet_bundle.app.bundles"
	tests := map[string]func(t *testing.T, w *workspace, s *fixture){
		"destroy": func(t *testing.T, w *workspace, s *fixture) {
			t.Helper()
			w.destroyOutput(t)
			if s.isThere(t, "app") {
				t.Error("what the release owns is left")
			}
		},
		"destroy without refresh": func(t *testing.T, w *workspace, s *fixture) {
			t.Helper()
			w.destroyOutput(t, "-refresh=false")
			if s.isThere(t, "app") {
				t.Error("what the release owns is left")
			}
		},
		"the bundle leaves": func(t *testing.T, w *workspace, s *fixture) {
			t.Helper()
			w.configure(t, s.provider("", on), s.bundle("app", "x"), target("allow_empty = true"))
			w.applyOutput(t)
		},
		"an upgrade": func(t *testing.T, w *workspace, s *fixture) {
			t.Helper()
			w.configure(t, s.provider("", on), s.bundle("app", "y"), target("", bundles))
			w.applyOutput(t)
		},
		"a move": func(t *testing.T, w *workspace, s *fixture) {
			t.Helper()
			moved := strings.Replace(s.bundle("app", "x"), "  files = ", "  helm = { release_name = \"moved\" }\n  files = ", 1)
			w.configure(t, s.provider("", on), moved, target("", bundles))
			w.applyOutput(t)
		},
		"a replacement": func(t *testing.T, w *workspace, s *fixture) {
			t.Helper()
			w.configure(t, s.provider("", on), s.bundle("app", "x"), s.bundle("other", "x"), target("", "fleet_bundle.other.bundles"))
			w.applyOutput(t, "-replace="+all)
		},
		"a failing atomic upgrade": func(t *testing.T, w *workspace, s *fixture) {
			t.Helper()
			s.forbidPods(t, 0)
			failing := strings.Replace(s.workload("app"), "  files = ", "  helm = { atomic = true }\n  files = ", 1)
			w.configure(t, s.provider("", on), failing, target("deployment_timeout = \"5s\"", bundles))
			w.applyOutput(t)
		},
	}
	for name, act := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, w, out := newFixture(t, env), newWorkspace(t), newOutsider(t, env, nil)
			w.configure(t, s.provider("", on), s.bundle("app", "x"), target("", bundles))
			w.apply(t)
			s.tamper(t, "app", func(content map[string]any) {
				named := out.manifest()
				if name == "a failing atomic upgrade" {
					named = out.configMap("restored") // A rollback would make it.
				}
				content["manifest"] = content["manifest"].(string) + named //nolint:forcetypeassert // a panic fails the test
				content["hooks"] = []any{out.hook("pre-delete", "post-delete", "pre-upgrade", "pre-rollback", "post-rollback")}
			})
			act(t, w, s)
			out.expectUntouched(t, name)
			w.destroyOutput(t)
			out.expectUntouched(t, "destroy")
		})
	}
}

// A replaced record contains the name of another release. The record of that release stays.
func TestAttackRecordNamesAnotherRelease(t *testing.T) {
	t.Parallel()
	s, w := newFixture(t, testenv.Shared(t)), newWorkspace(t)
	w.patience = time.Minute
	both := s.bundle("one", "x") + s.bundle("two", "x")
	w.configure(t, s.provider("", on), both, target("", "fleet_bundle.one.bundles", "fleet_bundle.two.bundles"))
	w.apply(t)
	two := s.releases(t, 0)["two"]
	s.tamper(t, "one", func(content map[string]any) { content["name"] = "two" })
	w.configure(t, s.provider("", on), both, target("", "fleet_bundle.two.bundles"))
	w.applyOutput(t)
	if got := s.releases(t, 0)["two"]; got != two {
		t.Errorf("release two was %v and is %v", two, got)
	}
	if !s.isThere(t, "two") {
		t.Error("the object of release two was deleted")
	}
	w.destroyOutput(t)
}

// The account of a release is emptied on its record, and the record names an object of another
// namespace. The object even carries the name of the release. Nothing outside of the namespace that
// the target forces is deleted.
func TestAttackRecordLosesItsAccount(t *testing.T) {
	t.Parallel()
	env := testenv.Shared(t)
	s, w := newFixture(t, env), newWorkspace(t)
	out := newOutsider(t, env, map[string]string{"meta.helm.sh/release-name": "app", "meta.helm.sh/release-namespace": s.namespace})
	s.makeAccount(t, 0, s.namespace)
	git := gittest.New(t, gittest.Options{})
	if _, err := git.Commit(t.Context(), "tenant", "main", "First", map[string]string{"cm.yaml": configMap("app", "x")}); err != nil {
		t.Fatal(err)
	}
	w.configure(t, s.provider("", on), fmt.Sprintf("resource \"fleet_gitrepo\" \"app\" {\n  name = \"app\"\n  repo = %q\n  branch = \"main\"\n  target_namespace = %q\n  service_account = %q\n}\n",
		git.URL("tenant"), s.namespace, s.namespace), target("", "fleet_gitrepo.app.bundles"))
	w.apply(t)
	s.tamper(t, "app", func(content map[string]any) {
		content["manifest"] = content["manifest"].(string) + out.manifest() //nolint:forcetypeassert // a panic fails the test
	})
	s.relabel(t, map[string]string{attackAccountLabel: ""})
	w.destroyOutput(t)
	out.expectUntouched(t, "destroy")
	if s.isThere(t, "app") {
		t.Error("what the release owns is left")
	}
}

// The codes of a record have a key that is only in the state, and other values for each revision. A
// record without them is not the record of the state.
func TestAttackGuessOfARecord(t *testing.T) {
	t.Parallel()
	const content, mac = attackLabel + "content", attackLabel + "mac"
	env := testenv.Shared(t)
	s, w := newFixture(t, env), newWorkspace(t)
	used := map[string]bool{}
	keys := regexp.MustCompile(`\\"key\\":\\"([A-Z2-7]{26})\\"`)
	key := ""
	for _, value := range []string{"x", "y"} {
		w.configure(t, s.provider("", on), s.bundle("app", value), target("", "fleet_bundle.app.bundles"))
		w.apply(t)
		w.expectEmptyPlan(t)
		newest, state := s.newestRecord(t, 0, "app"), string(w.storedState(t))
		for _, label := range []string{content, mac} {
			code := newest.Labels[label]
			if code == "" || used[code] || strings.Contains(state, code) {
				t.Errorf("the code %q is empty, that of another revision, or in the state", code)
			}
			used[code] = true
		}
		found := keys.FindStringSubmatch(state)
		if found == nil || key != "" && found[1] != key {
			t.Fatalf("state has no key, or another one than before: %q", found)
		}
		key = found[1]
		if strings.Contains(fmt.Sprint(newest.Labels, newest.Annotations)+string(recorded(t, newest.Data["release"])), key) {
			t.Error("the record has the key")
		}
	}
	for _, label := range []string{content, mac} {
		s.relabel(t, map[string]string{label: ""})
		w.run(t, "apply", "-input=false", "-auto-approve", "-refresh-only")
		if diff := cmp.Diff(map[string]string{"a/app": "Modified"}, w.states(t)); diff != "" {
			t.Errorf("states (-want +got):\n%s", diff)
		}
		w.apply(t)
		w.expectEmptyPlan(t)
	}
}

// A tenant sets the digest of a record to that of the next version, with the codes of an older
// revision. The plan shows the change, and the apply deploys it. TestAttackForgedDigest has the other
// ways.
func TestAttackDigestOfARecord(t *testing.T) {
	t.Parallel()
	const digest = attackLabel + "digest"
	s, w := newFixture(t, testenv.Shared(t)), newWorkspace(t)
	deploy := func(value string) {
		w.configure(t, s.provider("", on), s.bundle("app", value), target("", "fleet_bundle.app.bundles"))
		w.apply(t)
	}
	deploy("y")
	next := s.newestRecord(t, 0, "app").Labels[digest]
	deploy("x")
	older, err := s.client(t, 0).CoreV1().Secrets(s.namespace).Get(t.Context(), "sh.helm.release.v1.app.v1", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	s.relabel(t, map[string]string{digest: next, attackLabel + "mac": older.Labels[attackLabel+"mac"], attackLabel + "content": older.Labels[attackLabel+"content"]})
	deploy("y")
	if got := s.value(t, 0, "app"); got != "y" {
		t.Errorf("%q is live", got)
	}
	w.expectEmptyPlan(t)
}

// Labels of a newer revision that a tenant writes neither make a removal forget a release nor permit
// it. The error says what happened. TestAttackForgedLabels changes labels in place.
func TestAttackRemovalByLabels(t *testing.T) {
	t.Parallel()
	env := testenv.Shared(t)
	successor := map[string]string{attackLabel + "instance": "another", attackLabel + "target": "another"}
	for name, labels := range map[string]map[string]string{
		"another target": successor, "this target": nil, "no owner": {attackLabel + "owner": ""},
	} {
		for _, refresh := range []string{"-refresh=true", "-refresh=false"} {
			t.Run(name+", "+refresh, func(t *testing.T) {
				t.Parallel()
				if refresh == "-refresh=false" {
					testenv.RequireSoak(t)
				}
				s, w := newFixture(t, env), newWorkspace(t)
				w.configure(t, s.provider("", on), s.bundle("app", "x"), target("", "fleet_bundle.app.bundles"))
				w.apply(t)
				s.forgeNext(t, "app", labels)
				output := w.destroyOutput(t, refresh)
				if !s.isThere(t, "app") {
					t.Error("the object was removed")
				}
				if !strings.Contains(w.managed(t), all) {
					t.Error("the state has forgotten the target")
				}
				expectMention(t, output, "after the last revision of this provider", "take_ownership")
			})
		}
	}
}

// The settings for a removal are in state. Labels of the record do not change them.
func TestAttackTermsOnARecord(t *testing.T) {
	t.Parallel()
	env := testenv.Shared(t)
	tests := map[string]struct {
		terms string
		left  func(t *testing.T, s *fixture) bool
		want  bool
	}{
		"the namespace goes": {terms: "delete-namespace", want: true, left: func(t *testing.T, s *fixture) bool {
			t.Helper()
			found, err := s.client(t, 0).CoreV1().Namespaces().Get(t.Context(), s.namespace, metav1.GetOptions{})
			return err == nil && found.DeletionTimestamp == nil
		}},
		"the objects stay": {terms: "keep-resources", left: func(t *testing.T, s *fixture) bool {
			t.Helper()
			return s.isThere(t, "app")
		}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, w := newFixture(t, env), newWorkspace(t)
			w.configure(t, s.provider("", on), s.bundle("app", "x"), target("", "fleet_bundle.app.bundles"))
			w.apply(t)
			s.relabel(t, map[string]string{attackTermsLabel: test.terms})
			w.destroyOutput(t)
			if got := test.left(t, s); got != test.want {
				t.Errorf("it is left: %t, want %t", got, test.want)
			}
		})
	}
}

// A small record that unpacks to 200 MiB fails its own deployment and needs no memory.
func TestAttackRecordBomb(t *testing.T) {
	t.Parallel()
	const unpacked, limit = 200 << 20, 400 << 20
	env := testenv.Shared(t)
	for name, plant := range map[string]func(t *testing.T, s *fixture, bomb []byte){
		"beside the releases": func(t *testing.T, s *fixture, bomb []byte) {
			t.Helper()
			s.forge(t, "bomb", "one", map[string]string{attackLabel + "bundle": "bomb"}, bomb)
		},
		"of the chosen release name": func(t *testing.T, s *fixture, bomb []byte) {
			t.Helper()
			s.forge(t, "late", "one", map[string]string{attackLabel + "owner": "", attackLabel + "bundle": "late"}, bomb)
		},
		"in place of a record": func(t *testing.T, s *fixture, bomb []byte) {
			t.Helper()
			record := s.newestRecord(t, 0, "one")
			record.Data["release"] = bomb
			if _, err := s.client(t, 0).CoreV1().Secrets(s.namespace).Update(t.Context(), record, metav1.UpdateOptions{}); err != nil {
				t.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, w := newFixture(t, env), newWorkspace(t)
			w.patience = 2 * time.Minute
			most := w.weigh(t)
			configure := func(value string, more ...string) {
				names := []string{"fleet_bundle.one.bundles", "fleet_bundle.two.bundles"}
				parts := []string{s.provider("", on), s.bundle("one", value), s.bundle("two", value)}
				for _, bundle := range more {
					parts, names = append(parts, s.bundle(bundle, value)), append(names, "fleet_bundle."+bundle+".bundles")
				}
				w.configure(t, append(parts, target("", names...))...)
			}
			configure("x")
			w.apply(t)
			plant(t, s, gzipBomb(t, forgedRelease("one", s.namespace, "MANIFEST"), unpacked))
			var output strings.Builder
			more := []string{}
			if name == "of the chosen release name" {
				more = append(more, "late")
			}
			got := most(func() {
				configure("y", more...)
				output.WriteString(w.applyOutput(t))
				if got := s.value(t, 0, "two"); got != "y" {
					t.Errorf("the other deployment has %q", got)
				}
				output.WriteString(w.destroyOutput(t))
			})
			if got > limit {
				t.Errorf("the provider had %d MiB, want at most %d", got>>20, limit>>20)
			}
			if s.isThere(t, "two") {
				t.Error("the other deployment was not removed")
			}
			if name == "in place of a record" {
				expectMention(t, output.String(), "sh.helm.release.v1.one.v1")
			}
		})
	}
}

// gzipBomb is a release in the form of a record, with this many bytes in place of its manifest.
func gzipBomb(t *testing.T, recorded map[string]any, size int) []byte {
	t.Helper()
	raw, err := json.Marshal(recorded)
	if err != nil {
		t.Fatal(err)
	}
	before, after, _ := strings.Cut(string(raw), "MANIFEST")
	zipped := faulttest.Gzip(before, strings.Repeat(" ", 1<<20), size>>20, after)
	return []byte(base64.StdEncoding.EncodeToString(zipped))
}

// The live annotations of an object do not name the release, because another user has taken the
// object. It survives the removal and is reported.
func TestAttackObjectsOfOthersSurviveRemoval(t *testing.T) {
	t.Parallel()
	env := testenv.Shared(t)
	for name, annotations := range map[string]string{
		"no annotations":  `{"meta.helm.sh/release-name":null,"meta.helm.sh/release-namespace":null}`,
		"another release": `{"meta.helm.sh/release-name":"somebody","meta.helm.sh/release-namespace":"elsewhere"}`,
		"another place":   `{"meta.helm.sh/release-namespace":"elsewhere"}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, w := newFixture(t, env), newWorkspace(t)
			manifest := configMap("mine", "x") + "---\n" + configMap("theirs", "x")
			w.configure(t, s.provider("", on), s.bundleOf("app", manifest), target("", "fleet_bundle.app.bundles"))
			w.apply(t)
			patch := []byte(`{"metadata":{"annotations":` + annotations + `}}`)
			if _, err := s.client(t, 0).CoreV1().ConfigMaps(s.namespace).Patch(t.Context(), "theirs", types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
				t.Fatal(err)
			}
			output := w.destroyOutput(t)
			if !s.isThere(t, "theirs") {
				t.Error("what belongs to somebody else was deleted")
			}
			if s.isThere(t, "mine") {
				t.Error("what belongs to the release is left")
			}
			expectMention(t, output, "ConfigMap", "theirs")
		})
	}
}
