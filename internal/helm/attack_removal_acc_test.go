package helm_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	helmrelease "helm.sh/helm/v3/pkg/release"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/bundle"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/release"
)

// A user who may write Secrets in one namespace can change what a record makes a removal
// delete and run. The removal deletes only objects of the release and runs no hook.
func TestAccAttackRemovalByRecord(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		tamper   func(o *onCluster, r *helmrelease.Release)
		known    func(*release.Known)
		want     release.Removed
		here     []string // Remaining objects in the namespace of the release.
		victims  []string // Remaining objects in the other namespace.
		isFailed bool
	}{
		"the record that is known": {victims: []string{"annotated", "other", "victim"}},
		"names what is nobody's": {
			tamper:  func(o *onCluster, r *helmrelease.Release) { r.Manifest += configMapFile(o.namespace+"-x", "victim") },
			want:    release.Removed{Untrusted: true, NotOwned: []string{"ConfigMap/NS-x/victim"}},
			victims: []string{"annotated", "other", "victim"},
		},
		"names what another release has": {
			tamper:  func(o *onCluster, r *helmrelease.Release) { r.Manifest += configMapFile(o.namespace+"-x", "other") },
			want:    release.Removed{Untrusted: true},
			victims: []string{"annotated", "other", "victim"},
		},
		"names what is annotated and not restricted": {
			tamper:  func(o *onCluster, r *helmrelease.Release) { r.Manifest += configMapFile(o.namespace+"-x", "annotated") },
			want:    release.Removed{Untrusted: true},
			victims: []string{"other", "victim"},
		},
		"names what is outside of the namespace": {
			tamper:  func(o *onCluster, r *helmrelease.Release) { r.Manifest += configMapFile(o.namespace+"-x", "annotated") },
			known:   func(k *release.Known) { k.TargetNamespace = k.Namespace },
			want:    release.Removed{Untrusted: true, NotOwned: []string{"ConfigMap/NS-x/annotated"}},
			victims: []string{"annotated", "other", "victim"},
		},
		"names an object in a list": {
			tamper: func(o *onCluster, r *helmrelease.Release) {
				r.Manifest += "---\napiVersion: v1\nkind: List\nitems:\n- {apiVersion: v1, kind: ConfigMap, metadata: {name: victim, namespace: " + o.namespace + "-x}}\n"
			},
			want:    release.Removed{Untrusted: true, NotOwned: []string{"ConfigMap/NS-x/victim"}},
			victims: []string{"annotated", "other", "victim"},
		},
		"runs a hook before": {
			tamper: func(o *onCluster, r *helmrelease.Release) {
				r.Hooks = append(r.Hooks, o.hookThat(helmrelease.HookPreDelete))
			},
			want:    release.Removed{Untrusted: true},
			victims: []string{"annotated", "other", "victim"},
		},
		"runs a hook after": {
			tamper: func(o *onCluster, r *helmrelease.Release) {
				r.Hooks = append(r.Hooks, o.hookThat(helmrelease.HookPostDelete))
			},
			want:    release.Removed{Untrusted: true},
			victims: []string{"annotated", "other", "victim"},
		},
		"is for another release": {
			tamper:   func(_ *onCluster, r *helmrelease.Release) { r.Name = "sibling" },
			here:     []string{"one"},
			victims:  []string{"annotated", "other", "victim"},
			isFailed: true,
		},
		"is for another namespace": {
			tamper:   func(o *onCluster, r *helmrelease.Release) { r.Namespace = o.namespace + "-x" },
			here:     []string{"one"},
			victims:  []string{"annotated", "other", "victim"},
			isFailed: true,
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := newOnCluster(t, "removal-"+bundle.Name(name))
			other := o.namespace + "-x"
			o.makeNamespace(other)
			o.make(other, "victim", "")
			o.make(other, "other", other+"/theirs")
			o.make(other, "annotated", o.namespace+"/web")
			known := o.install(map[string]string{"one.yaml": configMapFile(o.namespace, "one")})
			if test.known != nil {
				test.known(&known)
			}
			if test.tamper != nil {
				o.tamper(func(r *helmrelease.Release) { test.tamper(o, r) })
			}
			removed, err := o.uninstall(known)
			if (err != nil) != test.isFailed {
				t.Fatalf("error = %v", err)
			}
			for i, key := range test.want.NotOwned {
				test.want.NotOwned[i] = strings.ReplaceAll(key, "NS", o.namespace)
			}
			if diff := cmp.Diff(test.want, removed); diff != "" {
				t.Errorf("removed (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(test.here, o.left(o.namespace)); diff != "" {
				t.Errorf("in the namespace (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(test.victims, o.left(other)); diff != "" {
				t.Errorf("in the other namespace (-want +got):\n%s", diff)
			}
		})
	}
}

// A cluster-scoped object is outside of every namespace.
func TestAccAttackRemovalOfClusterScoped(t *testing.T) {
	t.Parallel()
	o := newOnCluster(t, "removal-cluster-scoped")
	roles := o.objects.RbacV1().ClusterRoles()
	role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "removal-victim", Annotations: map[string]string{
		"meta.helm.sh/release-name": "web", "meta.helm.sh/release-namespace": o.namespace,
	}}}
	if _, err := roles.Create(t.Context(), role, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = roles.Delete(context.WithoutCancel(t.Context()), role.Name, metav1.DeleteOptions{}) })
	known := o.install(map[string]string{"one.yaml": configMapFile(o.namespace, "one")})
	known.TargetNamespace = o.namespace
	o.tamper(func(r *helmrelease.Release) {
		r.Manifest += "---\napiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {name: removal-victim, namespace: " + o.namespace + "}\n"
	})
	removed, err := o.uninstall(known)
	if err != nil {
		t.Fatal(err)
	}
	want := release.Removed{Untrusted: true, NotOwned: []string{"ClusterRole.rbac.authorization.k8s.io/removal-victim"}}
	if diff := cmp.Diff(want, removed); diff != "" {
		t.Errorf("removed (-want +got):\n%s", diff)
	}
	if _, err := roles.Get(t.Context(), role.Name, metav1.GetOptions{}); err != nil {
		t.Error(err)
	}
}

// The hooks of the known record run as usual.
func TestAccKnownRecordRunsItsHooks(t *testing.T) {
	t.Parallel()
	o := newOnCluster(t, "known-hooks")
	hook := strings.Replace(configMapFile(o.namespace, "ran"), "metadata: {", "metadata: {annotations: {helm.sh/hook: pre-delete}, ", 1)
	known := o.install(map[string]string{"one.yaml": configMapFile(o.namespace, "one"), "hook.yaml": hook})
	removed, err := o.uninstall(known)
	if err != nil || removed.Untrusted {
		t.Fatalf("removed %+v (%v)", removed, err)
	}
	if diff := cmp.Diff([]string{"ran"}, o.left(o.namespace)); diff != "" {
		t.Errorf("left (-want +got):\n%s", diff)
	}
}

// If another object replaces an object between the check and the deletion, the new object
// stays.
func TestAccRemovalSparesWhatWasExchanged(t *testing.T) {
	t.Parallel()
	o := newOnCluster(t, "exchanged")
	// The hook runs in between and replaces the object of its name.
	hook := strings.Replace(configMapFile(o.namespace, "one"), "metadata: {", "metadata: {annotations: {helm.sh/hook: pre-delete}, ", 1)
	known := o.install(map[string]string{"one.yaml": configMapFile(o.namespace, "one"), "hook.yaml": hook, "two.yaml": configMapFile(o.namespace, "two")})
	removed, err := o.uninstall(known)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(release.Removed{NotOwned: []string{"ConfigMap/exchanged/one"}}, removed); diff != "" {
		t.Errorf("removed (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"one"}, o.left(o.namespace)); diff != "" {
		t.Errorf("left (-want +got):\n%s", diff)
	}
}

// A removal changes the status of the record before it deletes objects. If it is tried again,
// it still finds the known record.
func TestAccRemovalKeepsTheContent(t *testing.T) {
	t.Parallel()
	o := newOnCluster(t, "removal-again")
	stays := strings.Replace(configMapFile(o.namespace, "one"), "metadata: {", "metadata: {finalizers: [example.com/wait], ", 1)
	known := o.install(map[string]string{"one.yaml": stays, "two.yaml": configMapFile(o.namespace, "two")})
	maps := o.objects.CoreV1().ConfigMaps(o.namespace)
	if err := maps.Delete(t.Context(), "two", metav1.DeleteOptions{}); err != nil { // The removal leaves it out of the manifest.
		t.Fatal(err)
	}
	removal := release.Removal{Proof: proof(), Timeout: time.Second, Known: known}
	if _, err := o.client.Uninstall(t.Context(), *o.observed(), removal); err == nil {
		t.Fatal("what has a finalizer is gone")
	}
	if _, err := maps.Patch(t.Context(), "one", "application/merge-patch+json", []byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	if removed, err := o.uninstall(known); err != nil || removed.Untrusted {
		t.Errorf("removed again: %+v (%v)", removed, err)
	}
}

// A Secret with the labels of a record can have another name. That does not mean that the
// release was removed.
func TestAccAttackMisnamedRecord(t *testing.T) {
	t.Parallel()
	o := newOnCluster(t, "misnamed")
	known := o.install(map[string]string{"one.yaml": configMapFile(o.namespace, "one")})
	secrets := o.objects.CoreV1().Secrets(o.namespace)
	genuine, err := secrets.Get(t.Context(), firstRecord, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	forged := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "anything", Labels: genuine.Labels}, Type: genuine.Type, Data: genuine.Data}
	forged.Labels["version"] = "2"
	if _, err := secrets.Create(t.Context(), forged, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := o.uninstall(known); err == nil {
		t.Error("the removal says that it went well")
	}
	if diff := cmp.Diff([]string{"one"}, o.left(o.namespace)); diff != "" {
		t.Errorf("left (-want +got):\n%s", diff)
	}
}
