package helm_test

import (
	"encoding/base64"
	"fmt"
	"strings"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/fleetyaml"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/release"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/testenv"
)

// secretFile returns a file with a Secret.
func secretFile(annotations, value string) string {
	return fmt.Sprintf("---\napiVersion: v1\nkind: Secret\nmetadata: {name: s, annotations: {%s}}\nstringData: {password: %s}\n", annotations, value)
}

// Webhooks refuse objects and quote their content. The error contains no value of a Secret.
func TestAccAttackEchoedSecrets(t *testing.T) {
	t.Parallel()
	const secret = plantedSecret
	encoded := base64.StdEncoding.EncodeToString([]byte("user:" + secret + "@db"))
	all := []admissionregistrationv1.OperationType{admissionregistrationv1.Create, admissionregistrationv1.Update, admissionregistrationv1.Delete}
	tests := map[string]struct {
		before   func(o *onCluster) *release.Known
		resource string
		files    map[string]string
		removed  bool
		force    bool
	}{
		"in the manifest": {resource: "secrets", files: map[string]string{"s.yaml": secretFile("", secret)}},
		"in a hook": {
			resource: "secrets", files: map[string]string{"s.yaml": secretFile(`helm.sh/hook: pre-install`, secret)},
		},
		"in a hook after the install": {
			resource: "secrets", files: map[string]string{"s.yaml": secretFile(`"helm.sh/hook": "post-install,pre-upgrade"`, secret)},
		},
		"base64 in another object": {resource: "configmaps", files: map[string]string{
			"s.yaml": secretFile("", secret),
			"c.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\ndata: {url: " + encoded + "}\n",
		}},
		"live": {
			resource: "secrets", files: map[string]string{"s.yaml": secretFile("", "changed-by-the-bundle")},
			before: func(o *onCluster) *release.Known {
				known := o.install(map[string]string{"s.yaml": secretFile("", "as-it-was-at-first")})
				o.plant()
				return &known
			},
		},
		"live, replaced": {
			resource: "secrets", files: map[string]string{"s.yaml": secretFile("", "changed-by-the-bundle")}, force: true,
			before: func(o *onCluster) *release.Known {
				known := o.install(map[string]string{"s.yaml": secretFile("", "as-it-was-at-first")})
				o.plant()
				return &known
			},
		},
		"live, removed by an upgrade": {
			resource: "secrets", files: map[string]string{"c.yaml": configMapFile("mask-live-removed-by-an-upgrade", "c")},
			before: func(o *onCluster) *release.Known {
				known := o.install(map[string]string{"s.yaml": secretFile("", "as-it-was-at-first")})
				o.plant()
				return &known
			},
		},
		"live, in place of a hook": {
			resource: "secrets", files: map[string]string{"s.yaml": secretFile(`helm.sh/hook: pre-upgrade`, "changed-by-the-bundle")},
			before: func(o *onCluster) *release.Known {
				known := o.install(map[string]string{"s.yaml": secretFile(`helm.sh/hook: pre-install`, "as-it-was-at-first")})
				o.plant()
				return &known
			},
		},
		"a hook, uninstalled": {
			resource: "secrets", removed: true,
			before: func(o *onCluster) *release.Known {
				known := o.install(map[string]string{"s.yaml": secretFile(`helm.sh/hook: pre-delete`, secret)})
				return &known
			},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if testenv.Shared(t).External() {
				t.Skip("an existing cluster does not reach a webhook of the test")
			}
			o := newOnCluster(t, "mask-"+strings.NewReplacer(" ", "-", ",", "", "'", "").Replace(name))
			var known *release.Known
			if test.before != nil {
				known = test.before(o)
			}
			testenv.Shared(t).Cluster(0).RefuseAll(t, o.namespace, test.resource, all...)
			var err error
			switch {
			case test.removed:
				_, err = o.uninstall(*known)
			case known != nil:
				d := o.deployment(test.files)
				if test.force {
					d.Options.Helm = &fleetyaml.Helm{Force: true}
				}
				_, err = o.write(release.Upgrade, d, known)
			default:
				_, err = o.write(release.Install, o.deployment(test.files), nil)
			}
			if err == nil || !strings.Contains(err.Error(), "I do not want") {
				t.Fatalf("the webhook refused nothing: %v", err)
			}
			for form, text := range map[string]string{"plain": secret, "base64": base64.StdEncoding.EncodeToString([]byte(secret)), "base64 in another": encoded[8:24]} {
				if strings.Contains(err.Error(), text) {
					t.Errorf("the error has it in %s: %v", form, err)
				}
			}
			if !strings.Contains(err.Error(), "(sensitive value)") || !strings.Contains(err.Error(), o.namespace) {
				t.Errorf("the error does not help: %v", err)
			}
		})
	}
}

const plantedSecret = "correct-horse-battery"

// plant adds a value to the live Secret that is in no manifest.
func (o *onCluster) plant() {
	o.Helper()
	patch := fmt.Sprintf(`{"stringData":{"planted":%q}}`, plantedSecret)
	if _, err := o.objects.CoreV1().Secrets(o.namespace).Patch(o.Context(), "s", types.MergePatchType, []byte(patch), metav1.PatchOptions{}); err != nil {
		o.Fatal(err)
	}
}
