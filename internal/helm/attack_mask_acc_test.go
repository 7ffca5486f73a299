package helm_test

import (
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	admissionv1 "k8s.io/api/admission/v1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/fleetyaml"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/release"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/testenv"
)

// refuseAll lets a webhook refuse what is done to objects of a kind in the namespace, and
// repeat all it is given: the object as it was and as it is, each value also decoded.
func (o *onCluster) refuseAll(resource string, operations ...admissionregistrationv1.OperationType) {
	o.Helper()
	if testenv.Shared(o.T).External() {
		o.Skip("an existing cluster does not reach a webhook of the test")
	}
	server := httptest.NewTLSServer(http.HandlerFunc(echo))
	o.Cleanup(server.Close)
	address := server.URL
	fail, none := admissionregistrationv1.Fail, admissionregistrationv1.SideEffectClassNone
	webhook := &admissionregistrationv1.ValidatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: o.namespace},
		Webhooks: []admissionregistrationv1.ValidatingWebhook{{
			Name: "echo.example.com", AdmissionReviewVersions: []string{"v1"}, FailurePolicy: &fail, SideEffects: &none,
			ClientConfig: admissionregistrationv1.WebhookClientConfig{
				URL: &address, CABundle: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}),
			},
			NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelMetadataName: o.namespace}},
			ObjectSelector:    &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "owner", Operator: metav1.LabelSelectorOpNotIn, Values: []string{"helm"}}}},
			Rules: []admissionregistrationv1.RuleWithOperations{{
				Operations: operations,
				Rule:       admissionregistrationv1.Rule{APIGroups: []string{"*"}, APIVersions: []string{"*"}, Resources: []string{resource}},
			}},
		}},
	}
	webhooks := o.objects.AdmissionregistrationV1().ValidatingWebhookConfigurations()
	if _, err := webhooks.Create(o.Context(), webhook, metav1.CreateOptions{}); err != nil {
		o.Fatal(err)
	}
	o.Cleanup(func() {
		if err := webhooks.Delete(o.Context(), webhook.Name, metav1.DeleteOptions{}); err != nil && o.Context().Err() == nil {
			o.Error(err)
		}
	})
	o.awaitRefusal(resource)
}

// awaitRefusal returns when the API server has read the webhook.
func (o *onCluster) awaitRefusal(resource string) {
	o.Helper()
	for {
		probe := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{GenerateName: "probe-"}}
		_, err := o.objects.CoreV1().ConfigMaps(o.namespace).Create(o.Context(), probe, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		if resource == "secrets" {
			_, err = o.objects.CoreV1().Secrets(o.namespace).Create(o.Context(), &corev1.Secret{ObjectMeta: probe.ObjectMeta}, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		}
		if err != nil && strings.Contains(err.Error(), "echo.example.com") {
			return
		}
		if o.Context().Err() != nil {
			o.Fatal("the webhook was never asked")
		}
	}
}

func echo(w http.ResponseWriter, request *http.Request) {
	content, err := io.ReadAll(request.Body)
	if err != nil {
		return
	}
	var review admissionv1.AdmissionReview
	if json.Unmarshal(content, &review) != nil {
		return
	}
	said := string(review.Request.Object.Raw) + string(review.Request.OldObject.Raw)
	for _, raw := range [][]byte{review.Request.Object.Raw, review.Request.OldObject.Raw} {
		var object struct{ Data map[string]string }
		_ = json.Unmarshal(raw, &object) // There may be none.
		for key, value := range object.Data {
			decoded, _ := base64.StdEncoding.DecodeString(value)
			said += fmt.Sprintf(" %s=%s", key, decoded)
		}
	}
	review.Response = &admissionv1.AdmissionResponse{
		UID: review.Request.UID, Result: &metav1.Status{Message: "I do not want " + review.Request.Name + ": " + said},
	}
	review.Request = nil
	_ = json.NewEncoder(w).Encode(review)
}

// secretFile is a file with a Secret.
func secretFile(name, annotations, value string) string {
	return fmt.Sprintf("---\napiVersion: v1\nkind: Secret\nmetadata: {name: %s, annotations: {%s}}\nstringData: {password: %s}\n", name, annotations, value)
}

// Webhooks refuse objects and quote what is in them. No value of a Secret is in the error.
func TestAccAttackEchoedSecrets(t *testing.T) {
	t.Parallel()
	const secret = "correct-horse-battery"
	encoded := base64.StdEncoding.EncodeToString([]byte("user:" + secret + "@db"))
	all := []admissionregistrationv1.OperationType{admissionregistrationv1.Create, admissionregistrationv1.Update, admissionregistrationv1.Delete}
	tests := map[string]struct {
		before   func(o *onCluster) *release.Known
		resource string
		files    map[string]string
		removed  bool
		force    bool
	}{
		"in the manifest": {resource: "secrets", files: map[string]string{"s.yaml": secretFile("s", "", secret)}},
		"in a hook": {
			resource: "secrets", files: map[string]string{"s.yaml": secretFile("s", `helm.sh/hook: pre-install`, secret)},
		},
		"in a hook after the install": {
			resource: "secrets", files: map[string]string{"s.yaml": secretFile("s", `"helm.sh/hook": "post-install,pre-upgrade"`, secret)},
		},
		"base64 in another object": {resource: "configmaps", files: map[string]string{
			"s.yaml": secretFile("s", "", secret),
			"c.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\ndata: {url: " + encoded + "}\n",
		}},
		"live": {
			resource: "secrets", files: map[string]string{"s.yaml": secretFile("s", "", "changed-by-the-bundle")},
			before: func(o *onCluster) *release.Known {
				known := o.install(map[string]string{"s.yaml": secretFile("s", "", "as-it-was-at-first")})
				o.plant("s", secret)
				return &known
			},
		},
		"live, replaced": {
			resource: "secrets", files: map[string]string{"s.yaml": secretFile("s", "", "changed-by-the-bundle")}, force: true,
			before: func(o *onCluster) *release.Known {
				known := o.install(map[string]string{"s.yaml": secretFile("s", "", "as-it-was-at-first")})
				o.plant("s", secret)
				return &known
			},
		},
		"live, removed by an upgrade": {
			resource: "secrets", files: map[string]string{"c.yaml": configMapFile("mask-live-removed-by-an-upgrade", "c")},
			before: func(o *onCluster) *release.Known {
				known := o.install(map[string]string{"s.yaml": secretFile("s", "", "as-it-was-at-first")})
				o.plant("s", secret)
				return &known
			},
		},
		"live, in place of a hook": {
			resource: "secrets", files: map[string]string{"s.yaml": secretFile("s", `helm.sh/hook: pre-upgrade`, "changed-by-the-bundle")},
			before: func(o *onCluster) *release.Known {
				known := o.install(map[string]string{"s.yaml": secretFile("s", `helm.sh/hook: pre-install`, "as-it-was-at-first")})
				o.plant("s", secret)
				return &known
			},
		},
		"a hook, uninstalled": {
			resource: "secrets", removed: true,
			before: func(o *onCluster) *release.Known {
				known := o.install(map[string]string{"s.yaml": secretFile("s", `helm.sh/hook: pre-delete`, secret)})
				return &known
			},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := newOnCluster(t, "mask-"+strings.NewReplacer(" ", "-", ",", "", "'", "").Replace(name))
			var known *release.Known
			if test.before != nil {
				known = test.before(o)
			}
			o.refuseAll(test.resource, all...)
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

// plant adds a value to a live Secret that no manifest has.
func (o *onCluster) plant(name, value string) {
	o.Helper()
	patch := fmt.Sprintf(`{"stringData":{"planted":%q}}`, value)
	if _, err := o.objects.CoreV1().Secrets(o.namespace).Patch(o.Context(), name, types.MergePatchType, []byte(patch), metav1.PatchOptions{}); err != nil {
		o.Fatal(err)
	}
}
