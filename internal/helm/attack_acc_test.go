package helm_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	helmrelease "helm.sh/helm/v3/pkg/release"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/bundle"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/fleetyaml"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/helm"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/kube"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/manifest"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/release"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/render"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/sandboxed"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/target"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/testenv"
)

// onCluster is a namespace of a real cluster, for what somebody else writes there.
type onCluster struct {
	*testing.T
	namespace string
	objects   kubernetes.Interface
	client    *helm.Client
}

func newOnCluster(t *testing.T, namespace string) *onCluster {
	t.Helper()
	env := testenv.Shared(t)
	objects, err := kubernetes.NewForConfig(env.Cluster(0).RESTConfig())
	if err != nil {
		t.Fatal(err)
	}
	o := &onCluster{T: t, namespace: namespace, objects: objects}
	o.client = o.newClient()
	o.makeNamespace(namespace)
	return o
}

// newClient is one that has not seen the cluster before.
func (o *onCluster) newClient() *helm.Client {
	o.Helper()
	env := testenv.Shared(o.T)
	client, err := kube.New(kube.Connection{ConfigPaths: []string{env.Kubeconfig()}, ConfigContext: env.Cluster(0).Context()}, nil)
	if err != nil {
		o.Fatal(err)
	}
	return helm.New(client, client, &render.Charts{Sandbox: &sandboxed.Renderer{}}, &helm.RecordCache{}, nil)
}

func (o *onCluster) makeNamespace(name string) {
	o.Helper()
	made := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
	if _, err := o.objects.CoreV1().Namespaces().Create(o.Context(), made, metav1.CreateOptions{}); err != nil {
		o.Fatal(err)
	}
}

// deployment is a release web of some files.
func (o *onCluster) deployment(files map[string]string) target.Deployment {
	var held []bundle.File
	for _, name := range slices.Sorted(maps.Keys(files)) {
		held = append(held, bundle.File{Name: name, Content: []byte(files[name])})
	}
	content := fmt.Sprint(files)
	return target.Deployment{
		Cluster: "c1", Release: "web", Namespace: o.namespace, Digest: "v1-" + release.ShortHash([]byte(content)),
		Bundle: &bundle.Bundle{Name: "web", Content: "v1-" + release.ShortHash([]byte(o.namespace+content)), Files: held},
	}
}

func (o *onCluster) observed() *release.Observed {
	o.Helper()
	observed, err := o.client.Release(o.Context(), o.namespace, "web")
	if err != nil {
		o.Fatal(err)
	}
	return observed
}

func (o *onCluster) write(action release.Action, d target.Deployment, known *release.Known, change ...func(*release.Write)) (release.Written, error) {
	o.Helper()
	w := release.Write{Mark: release.NewMark("owner", "target", "instance", "web", d.Digest), Timeout: 20 * time.Second, MaxHistory: 5, Known: known}
	for _, change := range change {
		change(&w)
	}
	return o.client.Write(o.Context(), action, d, o.observed(), w)
}

// install installs files and returns what is known of the release then.
func (o *onCluster) install(files map[string]string) release.Known {
	o.Helper()
	written, err := o.write(release.Install, o.deployment(files), nil)
	if err != nil {
		o.Fatal(err)
	}
	return release.Known{Release: "web", Namespace: o.namespace, Content: written.Content}
}

func (o *onCluster) uninstall(known release.Known) (release.Removed, error) {
	o.Helper()
	return o.client.Uninstall(o.Context(), *o.observed(), release.Removal{Timeout: 20 * time.Second, Known: known})
}

// configMapFile is a file with one.
func configMapFile(namespace, name string) string {
	return fmt.Sprintf("---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: %s, namespace: %s}\n", name, namespace)
}

// make creates a config map that is not the release's, or says that it is of another.
func (o *onCluster) make(namespace, name, of string) {
	o.Helper()
	made := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}}
	if in, release, ok := strings.Cut(of, "/"); ok {
		made.Annotations = map[string]string{"meta.helm.sh/release-name": release, "meta.helm.sh/release-namespace": in}
		made.Labels = map[string]string{"app.kubernetes.io/managed-by": "Helm"}
	}
	if _, err := o.objects.CoreV1().ConfigMaps(namespace).Create(o.Context(), made, metav1.CreateOptions{}); err != nil {
		o.Fatal(err)
	}
}

// left are the config maps in a namespace.
func (o *onCluster) left(namespace string) []string {
	o.Helper()
	list, err := o.objects.CoreV1().ConfigMaps(namespace).List(o.Context(), metav1.ListOptions{})
	if err != nil {
		o.Fatal(err)
	}
	var names []string
	for _, item := range list.Items {
		if item.Name != "kube-root-ca.crt" && item.DeletionTimestamp == nil {
			names = append(names, item.Name)
		}
	}
	return names
}

func (o *onCluster) secrets() []string {
	o.Helper()
	list, err := o.objects.CoreV1().Secrets(o.namespace).List(o.Context(), metav1.ListOptions{})
	if err != nil {
		o.Fatal(err)
	}
	var names []string
	for _, item := range list.Items {
		names = append(names, item.Name)
	}
	return names
}

// firstRecord is the name of the first record of the release.
const firstRecord = "sh.helm.release.v1.web.v1"

// tamper changes what is in the first record of the release, and keeps its labels.
func (o *onCluster) tamper(change func(*helmrelease.Release)) {
	o.Helper()
	secrets := o.objects.CoreV1().Secrets(o.namespace)
	secret, err := secrets.Get(o.Context(), firstRecord, metav1.GetOptions{})
	if err != nil {
		o.Fatal(err)
	}
	packed, err := base64.StdEncoding.DecodeString(string(secret.Data["release"]))
	if err != nil {
		o.Fatal(err)
	}
	reader, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		o.Fatal(err)
	}
	var held helmrelease.Release
	if err := json.NewDecoder(reader).Decode(&held); err != nil {
		o.Fatal(err)
	}
	change(&held)
	content, err := json.Marshal(held)
	if err != nil {
		o.Fatal(err)
	}
	secret.Data["release"] = pack(o.T, content)
	if _, err := secrets.Update(o.Context(), secret, metav1.UpdateOptions{}); err != nil {
		o.Fatal(err)
	}
}

func pack(t *testing.T, content []byte) []byte {
	t.Helper()
	return packed(t, func(to io.Writer) error {
		_, err := to.Write(content)
		return err
	})
}

func packed(t *testing.T, write func(io.Writer) error) []byte {
	t.Helper()
	var into bytes.Buffer
	writer := gzip.NewWriter(&into)
	if err := errors.Join(write(writer), writer.Close()); err != nil {
		t.Fatal(err)
	}
	return []byte(base64.StdEncoding.EncodeToString(into.Bytes()))
}

// bomb is a record with so many MiB of manifest.
func bomb(t *testing.T, size int) []byte {
	t.Helper()
	return packed(t, func(to io.Writer) error {
		_, err := io.WriteString(to, `{"name":"web","version":1,"info":{},"manifest":"`)
		for range size {
			_, more := to.Write(bytes.Repeat([]byte("#"), 1<<20))
			err = errors.Join(err, more)
		}
		_, last := io.WriteString(to, `"}`)
		return errors.Join(err, last)
	})
}

// hookThat makes a config map of the name ran.
func (o *onCluster) hookThat(event helmrelease.HookEvent) *helmrelease.Hook {
	return &helmrelease.Hook{Name: "ran", Kind: "ConfigMap", Path: "h", Manifest: configMapFile(o.namespace, "ran"), Events: []helmrelease.HookEvent{event}}
}

// Whoever may write Secrets in one namespace says by them what a removal deletes and
// runs. It deletes what is the release's and runs nothing.
func TestAccAttackRemovalByRecord(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		tamper   func(o *onCluster, r *helmrelease.Release)
		known    func(*release.Known)
		want     release.Removed
		here     []string // Left in the namespace of the release.
		victims  []string // Left in the other one.
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

// An object of the whole cluster is outside of every namespace.
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
	want := release.Removed{Untrusted: true, NotOwned: []string{"rbac.authorization.k8s.io/ClusterRole/removal-victim"}}
	if diff := cmp.Diff(want, removed); diff != "" {
		t.Errorf("removed (-want +got):\n%s", diff)
	}
	if _, err := roles.Get(t.Context(), role.Name, metav1.GetOptions{}); err != nil {
		t.Error(err)
	}
}

// The hooks of the record that is known run, as ever.
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

// An object that takes the place of another between the look at it and its deletion stays.
func TestAccRemovalSparesWhatWasExchanged(t *testing.T) {
	t.Parallel()
	o := newOnCluster(t, "exchanged")
	// The hook runs in between, and replaces what has its name.
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

// A removal that is tried again finds the record that it knows, though it changes the
// record's status before it deletes anything.
func TestAccRemovalKeepsTheContent(t *testing.T) {
	t.Parallel()
	o := newOnCluster(t, "removal-again")
	stays := strings.Replace(configMapFile(o.namespace, "one"), "metadata: {", "metadata: {finalizers: [example.com/wait], ", 1)
	known := o.install(map[string]string{"one.yaml": stays, "two.yaml": configMapFile(o.namespace, "two")})
	maps := o.objects.CoreV1().ConfigMaps(o.namespace)
	if err := maps.Delete(t.Context(), "two", metav1.DeleteOptions{}); err != nil { // It is left out of the manifest.
		t.Fatal(err)
	}
	removal := release.Removal{Timeout: time.Second, Known: known}
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

// A Secret with the labels of a record can have another name. That is no release that is
// gone.
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

// An upgrade removes what the revision before had, if that is the release's.
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

// A rollback runs the hooks of a stored revision.
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
			if newest.Revision != 3 || !newest.Current() || written.Content != known.Content {
				t.Errorf("rolled back to %+v with content %s, want revision 3 as this provider's own with content %s", newest, written.Content, known.Content)
			}
		})
	}
}

// A record that is kept is not trusted for that.
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

// A bundle that holds a release record is not installed, in whatever way it holds it, and
// nothing of it is.
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

// Objects that say they are of a release that has no record are taken over if it is known,
// or somebody agreed to it.
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

// A record that unpacks to gigabytes costs its release and nothing else.
func TestAccAttackRecordBomb(t *testing.T) {
	t.Parallel()
	o := newOnCluster(t, "bomb")
	known := o.install(map[string]string{"one.yaml": configMapFile(o.namespace, "one")})
	secrets := o.objects.CoreV1().Secrets(o.namespace)
	secret, err := secrets.Get(t.Context(), firstRecord, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	secret.Data["release"] = bomb(t, 700)
	if _, err := secrets.Update(t.Context(), secret, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	_, err = o.uninstall(known)
	if _, ok := errors.AsType[*helm.RecordTooLargeError](err); !ok {
		t.Errorf("uninstall: error = %.300v", err)
	}
	findings, err := o.newClient().Inspect(t.Context(), []release.Inspection{{Observed: *o.observed()}})
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := errors.AsType[*release.CorruptRecordError](findings[0].Err); !ok {
		t.Errorf("inspect: error = %.300v", findings[0].Err)
	}
	if _, _, err := o.client.Origin(t.Context(), *o.observed()); err == nil {
		t.Error("its origin is known")
	}
	_, err = o.write(release.Upgrade, o.deployment(map[string]string{"two.yaml": configMapFile(o.namespace, "two")}), &known)
	if _, ok := errors.AsType[*helm.RecordTooLargeError](err); !ok {
		t.Errorf("upgrade: error = %.300v", err)
	}
	if !slices.Equal(o.left(o.namespace), []string{"one"}) {
		t.Errorf("left: %q", o.left(o.namespace))
	}
}
