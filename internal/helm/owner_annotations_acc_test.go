package helm_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	helmrelease "helm.sh/helm/v3/pkg/release"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/bundle"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/fleetyaml"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/release"
)

// An object that does not name its release is never deleted. An operation that would have deleted it
// names it, unless it belongs to another release.
func TestAccObjectsWithoutOwnerAreLeft(t *testing.T) {
	t.Parallel()
	const noNames, noNamespace, other = `{"meta.helm.sh/release-name":null,"meta.helm.sh/release-namespace":null}`, `{"meta.helm.sh/release-namespace":null}`, `{"meta.helm.sh/release-name":"other"}`
	tests := map[string]struct {
		annotations string
		removal     bool // The release is removed. Otherwise an upgrade no longer has the object.
		isNamed     bool
	}{
		"none, upgrade":            {annotations: noNames, isNamed: true},
		"none, removal":            {annotations: noNames, removal: true, isNamed: true},
		"no namespace, upgrade":    {annotations: noNamespace, isNamed: true},
		"no namespace, removal":    {annotations: noNamespace, removal: true, isNamed: true},
		"another release, upgrade": {annotations: other},
		"another release, removal": {annotations: other, removal: true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := newOnCluster(t, "left-"+bundle.Name(name))
			known := o.install(map[string]string{"one.yaml": configMapFile(o.namespace, "one"), "two.yaml": configMapFile(o.namespace, "two")})
			o.annotate("two", test.annotations)
			var notOwned []string
			if test.removal {
				removed, err := o.uninstall(known)
				if err != nil {
					t.Fatal(err)
				}
				notOwned = removed.NotOwned
			} else {
				written, err := o.write(release.Upgrade, o.deployment(map[string]string{"one.yaml": configMapFile(o.namespace, "one")}), &known)
				if err != nil {
					t.Fatal(err)
				}
				notOwned = written.NotOwned
			}
			var want []string
			if test.isNamed {
				want = []string{"ConfigMap/" + o.namespace + "/two"}
			}
			if diff := cmp.Diff(want, notOwned); diff != "" {
				t.Errorf("named (-want +got):\n%s", diff)
			}
			if !slices.Contains(o.left(o.namespace), "two") {
				t.Error("the object was deleted")
			}
		})
	}
}

// An upgrade gives an object its annotations again only if the record proves that the object is the
// release's. It takes an object of another release in no case, and an atomic one does not either when
// it is rolled back.
func TestAccUpgradeOfObjectsWithoutOwner(t *testing.T) {
	t.Parallel()
	const noNames, other = `{"meta.helm.sh/release-name":null,"meta.helm.sh/release-namespace":null}`, `{"meta.helm.sh/release-name":"other"}`
	tests := map[string]struct {
		annotations string
		forged      bool
		atomic      bool
		want        string // Text of the error.
	}{
		"none":                    {annotations: noNames},
		"none, forged":            {annotations: noNames, forged: true, want: "two"},
		"another release":         {annotations: other, want: "NS/two of release NS/other"},
		"another release, atomic": {annotations: other, atomic: true, want: "NS/two of release NS/other"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := newOnCluster(t, "owns-"+bundle.Name(name))
			files := func(value string) map[string]string {
				return map[string]string{"one.yaml": configMapFile(o.namespace, "one") + value, "two.yaml": configMapFile(o.namespace, "two") + value}
			}
			known := o.install(files(""))
			if test.forged {
				o.tamper(func(r *helmrelease.Release) { r.Manifest += "\n" })
			}
			o.annotate("two", test.annotations)
			d := o.deployment(files("data: {key: new}\n"))
			d.Options.Helm = &fleetyaml.Helm{Atomic: test.atomic}
			_, err := o.write(release.Upgrade, d, &known)
			one, two := o.configMap("one"), o.configMap("two")
			if test.want == "" {
				if err != nil || two.Annotations["meta.helm.sh/release-name"] != "web" || two.Annotations["meta.helm.sh/release-namespace"] != o.namespace {
					t.Errorf("error %v, annotations %v", err, two.Annotations)
				}
				return
			}
			if want := strings.ReplaceAll(test.want, "NS", o.namespace); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("error %v, want %q", err, want)
			}
			if len(one.Data)+len(two.Data) > 0 {
				t.Errorf("objects were written: %v, %v", one, two)
			}
		})
	}
}

// annotate changes the annotations of a ConfigMap in the namespace of the release.
func (o *onCluster) annotate(name, annotations string) {
	o.Helper()
	patch := []byte(`{"metadata":{"annotations":` + annotations + `}}`)
	if _, err := o.objects.CoreV1().ConfigMaps(o.namespace).Patch(o.Context(), name, types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
		o.Fatal(err)
	}
}

func (o *onCluster) configMap(name string) *corev1.ConfigMap {
	o.Helper()
	found, err := o.objects.CoreV1().ConfigMaps(o.namespace).Get(o.Context(), name, metav1.GetOptions{})
	if err != nil {
		o.Fatal(err)
	}
	return found
}
