package helm_test

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	helmrelease "helm.sh/helm/v3/pkg/release"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/bundle"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/fleetyaml"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/helm"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/manifest"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/release"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/target"
)

// An upgrade removes objects of the previous revision only if they belong to the release.
func TestAccAttackUpgradeByRecord(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		victim, of string
		restricted bool
		victims    []string
	}{
		"nobody's":                      {victims: []string{"victim"}},
		"another release's":             {of: "elsewhere/theirs", victims: []string{"victim"}},
		"the release's":                 {of: "OWN/web"},
		"the release's, and restricted": {of: "OWN/web", restricted: true, victims: []string{"victim"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := newOnCluster(t, "upgrade-"+bundle.Name(name))
			other := o.namespace + "-x"
			o.makeNamespace(other)
			o.make(other, "victim", strings.Replace(test.of, "OWN", o.namespace, 1))
			known := o.install(map[string]string{"one.yaml": configMapFile(o.namespace, "one"), "two.yaml": configMapFile(o.namespace, "two")})
			if test.restricted {
				known.TargetNamespace = o.namespace
			}
			o.tamper(func(r *helmrelease.Release) { r.Manifest += configMapFile(other, "victim") })
			if _, err := o.write(release.Upgrade, o.deployment(map[string]string{"one.yaml": configMapFile(o.namespace, "one")}), &known); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff([]string{"one"}, o.left(o.namespace)); diff != "" {
				t.Errorf("in the namespace (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(test.victims, o.left(other)); diff != "" {
				t.Errorf("in the other namespace (-want +got):\n%s", diff)
			}
		})
	}
}

// A rollback runs the hooks of a stored revision only if its record is the known one.
func TestAccAttackRollbackToRecord(t *testing.T) {
	t.Parallel()
	const rejected = "---\napiVersion: v1\nkind: Service\nmetadata: {name: bad}\nspec: {ports: [{port: 99999999}]}\n"
	for name, isTampered := range map[string]bool{"the record that is known": false, "another": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := newOnCluster(t, "rollback-"+bundle.Name(name))
			known := o.install(map[string]string{"one.yaml": configMapFile(o.namespace, "one")})
			if isTampered {
				o.tamper(func(r *helmrelease.Release) { r.Hooks = append(r.Hooks, o.hookThat(helmrelease.HookPreRollback)) })
			}
			d := o.deployment(map[string]string{"one.yaml": configMapFile(o.namespace, "one"), "two.yaml": rejected})
			d.Options.Helm = &fleetyaml.Helm{Atomic: true}
			written, err := o.write(release.Upgrade, d, &known, func(w *release.Write) { w.Wait = true })
			if err == nil {
				t.Fatal("it went well")
			}
			newest := o.observed()
			if untrusted, ok := errors.AsType[*helm.UntrustedRecordError](err); ok != isTampered || ok && untrusted.Name != firstRecord {
				t.Errorf("error = %v", err)
			}
			if diff := cmp.Diff([]string{"one"}, o.left(o.namespace)); diff != "" {
				t.Errorf("left (-want +got):\n%s", diff)
			}
			findings, err := o.client.Inspect(t.Context(), []release.Inspection{{Observed: *newest}})
			if err != nil || findings[0].Content != written.Content {
				t.Errorf("content %q, want that of the newest record %q (%v)", written.Content, findings[0].Content, err)
			}
			if isTampered {
				if newest.Revision != 2 {
					t.Errorf("revision %d is the newest", newest.Revision)
				}
				return
			}
			if newest.Revision != 3 || !newest.Current() || written.Content == known.Content {
				t.Errorf("rolled back to %+v with content %s, want revision 3 as this provider's own with another key", newest, written.Content)
			}
		})
	}
}

// A record does not become trusted by being kept.
func TestAccAttackKeptRecord(t *testing.T) {
	t.Parallel()
	o := newOnCluster(t, "kept-record")
	files := map[string]string{"one.yaml": configMapFile(o.namespace, "one")}
	known := o.install(files)
	o.tamper(func(r *helmrelease.Release) { r.Hooks = append(r.Hooks, o.hookThat(helmrelease.HookPreDelete)) })
	written, err := o.write(release.Keep, o.deployment(files), &known)
	if err != nil || written.Content != known.Content {
		t.Errorf("content = %s, want %s (%v)", written.Content, known.Content, err)
	}
	if adopted, err := o.write(release.Adopt, o.deployment(files), nil); err != nil || adopted.Content == known.Content {
		t.Errorf("content = %s, want that of what is there (%v)", adopted.Content, err)
	}
}

// A bundle that contains a release record, in any form, is not installed. None of its objects
// is created.
func TestAccAttackBundleWithRecord(t *testing.T) {
	t.Parallel()
	const chart = "apiVersion: v2\nname: web\nversion: 1.0.0\n"
	secret := func(rest string) string { return "---\napiVersion: v1\nkind: Secret\n" + rest + "\n" }
	tests := map[string]map[string]string{
		"by its type":           {"a.yaml": secret("metadata: {name: x}\ntype: helm.sh/release.v1")},
		"by its label":          {"a.yaml": secret("metadata: {name: x, labels: {owner: helm}}")},
		"by its name":           {"a.yaml": secret("metadata: {name: sh.helm.release.v1.other.v1}")},
		"in a list":             {"a.yaml": "apiVersion: v1\nkind: List\nitems:\n- {apiVersion: v1, kind: Secret, type: helm.sh/release.v1, metadata: {name: x}}\n"},
		"in a list of Secrets":  {"a.yaml": "apiVersion: v1\nkind: SecretList\nitems:\n- {type: helm.sh/release.v1, metadata: {name: x}}\n"},
		"escaped":               {"a.yaml": "apiVersion: v1\nkind: \"S\\x65cret\"\nmetadata: {name: x}\ntype: \"helm.sh/\\x72elease.v1\"\n"},
		"as a hook":             {"a.yaml": secret("metadata: {name: x, annotations: {helm.sh/hook: pre-install}}\ntype: helm.sh/release.v1")},
		"as a hook, with nulls": {"a.yaml": secret("metadata: {name: x, labels: {owner: helm, other: null}, annotations: {helm.sh/hook: pre-install}}")},
		"as a ConfigMap":        {"a.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x, labels: {owner: helm}}\n"},
		"in crds":               {"Chart.yaml": chart, "crds/a.yaml": secret("metadata: {name: x}\ntype: helm.sh/release.v1")},
		"only on a cluster": {
			"Chart.yaml":       chart,
			"templates/a.yaml": secret("metadata: {name: x}\ntype: {{ if (lookup \"v1\" \"Namespace\" \"\" \"default\") }}helm.sh/release.v1{{ else }}Opaque{{ end }}"),
		},
		"without an API version": {"Chart.yaml": chart, "templates/a.yaml": "kind: Secret\nmetadata: {name: x}\ntype: helm.sh/release.v1\n"},
	}
	for name, files := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := newOnCluster(t, "holds-"+bundle.Name(name))
			files = maps.Clone(files)
			switch hook := strings.Replace(configMapFile(o.namespace, "ran"), "metadata: {", "metadata: {annotations: {helm.sh/hook: pre-install}, ", 1); {
			case files["Chart.yaml"] != "":
				files["templates/hook.yaml"] = hook
			default:
				files["hook.yaml"] = hook
			}
			_, err := o.write(release.Install, o.deployment(files), nil)
			if _, ok := errors.AsType[*manifest.ForbiddenRecordError](err); !ok && name != "without an API version" {
				t.Errorf("error = %v", err)
			}
			if got := slices.Concat(o.secrets(), o.left(o.namespace)); len(got) > 0 {
				t.Errorf("it made %q", got)
			}
		})
	}
}

// Objects can name a release that has no record as their owner. They are adopted only if the
// release is known or the user agreed to it.
func TestAccInstallAdoptsNothingUnasked(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		live    func(*corev1.ConfigMap)
		known   bool
		consent func(*target.Deployment, *release.Write)
		refused bool
	}{
		"unknown": {refused: true},
		"known":   {known: true},
		"agreed":  {consent: func(_ *target.Deployment, w *release.Write) { w.TakeOwnership = true }},
		"agreed by the bundle": {consent: func(d *target.Deployment, _ *release.Write) {
			d.Options.Helm = &fleetyaml.Helm{TakeOwnership: true}
		}},
		"kept for the next": {live: func(c *corev1.ConfigMap) { c.Annotations["helm.sh/resource-policy"] = "keep" }},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := newOnCluster(t, "adopt-"+bundle.Name(name))
			left := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
				Name: "one", Labels: map[string]string{"app.kubernetes.io/managed-by": "Helm"},
				Annotations: map[string]string{"meta.helm.sh/release-name": "web", "meta.helm.sh/release-namespace": o.namespace},
			}}
			if test.live != nil {
				test.live(left)
			}
			if _, err := o.objects.CoreV1().ConfigMaps(o.namespace).Create(t.Context(), left, metav1.CreateOptions{}); err != nil {
				t.Fatal(err)
			}
			hook := strings.Replace(configMapFile(o.namespace, "ran"), "metadata: {", "metadata: {annotations: {helm.sh/hook: pre-install}, ", 1)
			d := o.deployment(map[string]string{"one.yaml": configMapFile(o.namespace, "one"), "hook.yaml": hook})
			var known *release.Known
			if test.known {
				known = &release.Known{Release: "web", Namespace: o.namespace}
			}
			agreed := release.Write{}
			if test.consent != nil {
				test.consent(&d, &agreed)
			}
			_, err := o.write(release.Install, d, known, func(w *release.Write) { w.TakeOwnership = agreed.TakeOwnership })
			refused, ok := errors.AsType[*helm.ExistingObjectsError](err)
			if ok != test.refused || !ok && err != nil {
				t.Fatalf("error = %v", err)
			}
			want := []string{"one", "ran"}
			if test.refused {
				want = []string{"one"}
				if diff := cmp.Diff([]string{"ConfigMap " + o.namespace + "/one"}, refused.Objects); diff != "" {
					t.Errorf("objects (-want +got):\n%s", diff)
				}
				if records := o.secrets(); len(records) > 0 {
					t.Errorf("records: %q", records)
				}
			}
			if diff := cmp.Diff(want, o.left(o.namespace)); diff != "" {
				t.Errorf("left (-want +got):\n%s", diff)
			}
		})
	}
}
