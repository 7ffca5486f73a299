package testenv

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
)

const echoName = "echo.example.com"

// RefuseAll registers a webhook that refuses operations on objects of a resource in a namespace,
// until the test ends. Its message repeats the object from before and after the operation, with
// each value also decoded. Release records are not refused. RefuseAll returns when the API server
// calls the webhook.
func (c *Cluster) RefuseAll(tb testing.TB, namespace, resource string, operations ...admissionregistrationv1.OperationType) {
	tb.Helper()
	client, err := kubernetes.NewForConfig(c.RESTConfig())
	if err != nil {
		tb.Fatal(err)
	}
	server := httptest.NewTLSServer(http.HandlerFunc(refuse))
	tb.Cleanup(server.Close)
	webhooks := client.AdmissionregistrationV1().ValidatingWebhookConfigurations()
	webhook := refusing(namespace, resource, server, operations)
	if _, err := webhooks.Create(tb.Context(), webhook, metav1.CreateOptions{}); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		const patience = 10 * time.Second
		ctx, cancel := context.WithTimeout(context.WithoutCancel(tb.Context()), patience)
		defer cancel()
		if err := webhooks.Delete(ctx, webhook.Name, metav1.DeleteOptions{}); err != nil {
			tb.Error(err)
		}
	})
	isCalled := func(ctx context.Context) (bool, error) {
		meta, dry := metav1.ObjectMeta{GenerateName: "probe-"}, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}}
		var err error
		if resource == "secrets" {
			_, err = client.CoreV1().Secrets(namespace).Create(ctx, &corev1.Secret{ObjectMeta: meta}, dry)
		} else {
			_, err = client.CoreV1().ConfigMaps(namespace).Create(ctx, &corev1.ConfigMap{ObjectMeta: meta}, dry)
		}
		return err != nil && strings.Contains(err.Error(), echoName), nil
	}
	const pause, patience = 20 * time.Millisecond, 30 * time.Second
	if err := wait.PollUntilContextTimeout(tb.Context(), pause, patience, true, isCalled); err != nil {
		tb.Fatalf("waiting until the API server asks the webhook: %v", err)
	}
}

func refusing(namespace, resource string, server *httptest.Server, operations []admissionregistrationv1.OperationType) *admissionregistrationv1.ValidatingWebhookConfiguration {
	fail, none := admissionregistrationv1.Fail, admissionregistrationv1.SideEffectClassNone
	noRecord := metav1.LabelSelectorRequirement{Key: "owner", Operator: metav1.LabelSelectorOpNotIn, Values: []string{"helm"}}
	return &admissionregistrationv1.ValidatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: namespace},
		Webhooks: []admissionregistrationv1.ValidatingWebhook{{
			Name: echoName, AdmissionReviewVersions: []string{"v1"}, FailurePolicy: &fail, SideEffects: &none,
			ClientConfig: admissionregistrationv1.WebhookClientConfig{
				URL: &server.URL, CABundle: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}),
			},
			NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelMetadataName: namespace}},
			ObjectSelector:    &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{noRecord}},
			Rules: []admissionregistrationv1.RuleWithOperations{{
				Operations: operations,
				Rule:       admissionregistrationv1.Rule{APIGroups: []string{"*"}, APIVersions: []string{"*"}, Resources: []string{resource}},
			}},
		}},
	}
}

// refuse is the handler of a webhook that quotes the object that it refuses.
func refuse(w http.ResponseWriter, request *http.Request) {
	content, err := io.ReadAll(request.Body)
	if err != nil {
		return
	}
	var review admissionv1.AdmissionReview
	if json.Unmarshal(content, &review) != nil || review.Request == nil {
		return
	}
	var said strings.Builder
	fmt.Fprintf(&said, "%s%s", review.Request.Object.Raw, review.Request.OldObject.Raw)
	for _, raw := range [][]byte{review.Request.Object.Raw, review.Request.OldObject.Raw} {
		var object struct{ Data map[string]string }
		_ = json.Unmarshal(raw, &object) // There may be none.
		for key, value := range object.Data {
			decoded, _ := base64.StdEncoding.DecodeString(value)
			fmt.Fprintf(&said, " %s=%s", key, decoded)
		}
	}
	review.Response = &admissionv1.AdmissionResponse{
		UID: review.Request.UID, Result: &metav1.Status{Message: "I do not want " + review.Request.Name + ": " + said.String()},
	}
	review.Request = nil
	_ = json.NewEncoder(w).Encode(review)
}
