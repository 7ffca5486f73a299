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
	"github.com/agentless-fleet/terraform-provider-fleet/internal/helm/storage"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/manifest"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/release"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/target"
)

// An upgrade removes objects of the previous revision only if its record is proven. It then goes on
// without that record.
func TestAccAttackUpgradeByRecord(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		of         string
		restricted bool
		intact     bool // the record is as it was written
		want       []string
	}{
		"nobody's":                      {want: []string{"one", "two"}},
		"another release's":             {of: "elsewhere/theirs", want: []string{"one", "two"}},
		"the release's":                 {of: "OWN/web", want: []string{"one", "two"}},
		"the release's, and restricted": {of: "OWN/web", restricted: true, want: []string{"one", "two"}},
		"intact":                        {of: "OWN/web", intact: true, want: []string{"one"}},
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
			if !test.intact {
				o.tamper(func(r *helmrelease.Release) { r.Manifest += configMapFile(other, "victim") })
			}
			before := o.record(firstRecord)
			if _, err := o.write(release.Upgrade, o.deployment(map[string]string{"one.yaml": configMapFile(o.namespace, "one")}), &known); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, o.left(o.namespace)); diff != "" {
				t.Errorf("in the namespace (-want +got):\n%s", diff)
			}
			if after := o.record(firstRecord); after.Manifest != before.Manifest || after.Info.Status != helmrelease.StatusSuperseded {
				t.Errorf("the former record is %s with the manifest\n%s", after.Info.Status, after.Manifest)
			}
			if diff := cmp.Diff([]string{"victim"}, o.left(other)); diff != "" {
				t.Errorf("in the other namespace (-want +got):\n%s", diff)
			}
		})
	}
}

// An object in a forged record is not the release's because of that. An upgrade takes it over, or
// removes fields of it, only with consent.
func TestAccAttackUpgradeTakesByRecord(t *testing.T) {
	t.Parallel()
	tests := map[string]func(*onCluster, string){
		"by the content": func(o *onCluster, victim string) {
			o.tamper(func(r *helmrelease.Release) { r.Manifest += victim })
		},
		"by the content and an older status": func(o *onCluster, victim string) {
			o.tamper(func(r *helmrelease.Release) { r.Manifest, r.Info.Status = r.Manifest+victim, helmrelease.StatusFailed })
			o.patch(map[string]any{"metadata": map[string]any{"labels": map[string]any{"status": "failed"}}})
		},
	}
	for name, forge := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := newOnCluster(t, "take-"+bundle.Name(name))
			other := o.namespace + "-x"
			o.makeNamespace(other)
			o.make(other, "victim", other+"/theirs")
			known := o.install(map[string]string{"one.yaml": configMapFile(o.namespace, "one")})
			victims := o.objects.CoreV1().ConfigMaps(other)
			before, err := victims.Get(t.Context(), "victim", metav1.GetOptions{})
			if err != nil {
				t.Fatal(err)
			}
			forge(o, configMapFile(other, "victim")+"data: {key: stripped}\n")
			_, err = o.write(release.Upgrade, o.deployment(map[string]string{"one.yaml": configMapFile(o.namespace, "one"), "two.yaml": configMapFile(other, "victim")}), &known)
			if err == nil || !strings.Contains(err.Error(), "victim") {
				t.Errorf("error = %v", err)
			}
			after, err := victims.Get(t.Context(), "victim", metav1.GetOptions{})
			if err != nil || after.ResourceVersion != before.ResourceVersion {
				t.Errorf("the object of another release was %+v and is %+v (%v)", before, after, err)
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
			if untrusted, ok := errors.AsType[*storage.UntrustedRecordError](err); ok != isTampered || ok && untrusted.Name != firstRecord {
				t.Errorf("error = %v", err)
			}
			if diff := cmp.Diff([]string{"one"}, o.left(o.namespace)); diff != "" {
				t.Errorf("left (-want +got):\n%s", diff)
			}
			findings := o.newClient().Inspect(t.Context(), []release.Inspection{{Observed: *newest, Proof: proof()}})
			if findings[0].RecordChanged || written.Revision != newest.Revision {
				t.Errorf("revision %d was written, and the content of the newest record is changed: %t", written.Revision, findings[0].RecordChanged)
			}
			if isTampered {
				if newest.Revision != 2 {
					t.Errorf("revision %d is the newest", newest.Revision)
				}
				return
			}
			claimant := release.Claimant{Mark: release.NewMark("owner", "target", "instance", "web", ""), Proof: proof(), Known: &known}
			if newest.Revision != 3 || !newest.Current() || !claimant.Trusts(*newest) {
				t.Errorf("rolled back to %+v, want revision 3 as this provider's own", newest)
			}
		})
	}
}

// A record does not become trusted by being kept or adopted.
func TestAccAttackKeptRecord(t *testing.T) {
	t.Parallel()
	other := release.Proof{Key: "other", UID: "uid"}
	tests := map[string]struct {
		action    release.Action
		tamper    func(*onCluster)
		known     func(*release.Known)
		proof     release.Proof
		untrusted bool
		content   bool // It is proven afterwards.
	}{
		"kept":                      {action: release.Keep, proof: proof(), content: true},
		"adopted with the same key": {action: release.Adopt, proof: proof(), content: true},
		"adopted with another key":  {action: release.Adopt, proof: other, content: true},
		"imported": {
			action: release.Adopt, proof: other, known: func(k *release.Known) { k.Key, k.Imported = other.Key, true },
		},
		"with another hook": {
			action: release.Keep, proof: proof(), untrusted: true,
			tamper: func(o *onCluster) {
				o.tamper(func(r *helmrelease.Release) { r.Hooks = append(r.Hooks, o.hookThat(helmrelease.HookPreDelete)) })
			},
		},
		"with other values": {
			action: release.Adopt, proof: other, untrusted: true,
			tamper: func(o *onCluster) {
				o.tamper(func(r *helmrelease.Release) { r.Config = map[string]any{"a": "b"} })
			},
		},
		"with another digest": {
			action: release.Keep, proof: proof(), untrusted: true,
			tamper: func(o *onCluster) { o.label("digest", "v1-other") },
		},
		"with another code of its content": {
			action: release.Keep, proof: proof(), untrusted: true,
			tamper: func(o *onCluster) { o.label("content", "") },
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := newOnCluster(t, "kept-"+bundle.Name(name))
			files := map[string]string{"one.yaml": configMapFile(o.namespace, "one")}
			known := o.install(files)
			if test.known != nil {
				test.known(&known)
			}
			if test.tamper != nil {
				test.tamper(o)
			}
			before := o.observed()
			written, err := o.write(test.action, o.deployment(files), &known, func(w *release.Write) { w.Proof = test.proof })
			if err != nil || written.Untrusted != test.untrusted || written.Revision != 0 {
				t.Fatalf("written %+v (%v)", written, err)
			}
			after := o.observed()
			if diff := cmp.Diff(*after, written.Observed); diff != "" {
				t.Errorf("observed (-on the cluster +written):\n%s", diff)
			}
			if diff := cmp.Diff(before, after); test.untrusted && diff != "" {
				t.Errorf("an untrusted record was changed (-before +after):\n%s", diff)
			}
			if test.untrusted {
				return
			}
			claimant := release.Claimant{Mark: release.NewMark("owner", "target", "instance", "web", ""), Proof: test.proof}
			if !claimant.Trusts(*after) || (after.Content != "") != test.content {
				t.Errorf("trusted: %t, code of the content %q", claimant.Trusts(*after), after.Content)
			}
			findings := o.newClient().Inspect(t.Context(), []release.Inspection{{Observed: *after, Proof: test.proof}})
			if findings[0].RecordChanged {
				t.Errorf("findings %+v", findings)
			}
		})
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
