package acceptance_test

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
	"strconv"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// expectWeb checks the deployment "web" on cluster i.
func (s *fixture) expectWeb(t *testing.T, i int, replicas int32, from string) error {
	t.Helper()
	web, err := s.client(t, i).AppsV1().Deployments(s.namespace).Get(t.Context(), "web", metav1.GetOptions{})
	if err != nil {
		return err
	}
	if *web.Spec.Replicas != replicas || web.Status.AvailableReplicas != replicas || web.Annotations["from"] != from {
		return fmt.Errorf("cluster %d has %d replicas, %d available, from %q; want %d from %q",
			i, *web.Spec.Replicas, web.Status.AvailableReplicas, web.Annotations["from"], replicas, from)
	}
	return nil
}

// forbidPods makes the API server of cluster i reject every pod in the namespace
// of the test, so that no deployment gets ready there.
func (s *fixture) forbidPods(t *testing.T, i int) {
	t.Helper()
	client := s.client(t, i)
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: s.namespace}}
	if _, err := client.CoreV1().Namespaces().Create(t.Context(), namespace, metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
		t.Fatal(err)
	}
	quota := &corev1.ResourceQuota{
		ObjectMeta: metav1.ObjectMeta{Name: "no-pods"},
		Spec:       corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{"pods": resource.MustParse("0")}},
	}
	if _, err := client.CoreV1().ResourceQuotas(s.namespace).Create(t.Context(), quota, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	// The quota has an effect once the controller has written its status.
	eventually(t, "the quota is in force", func(ctx context.Context) (bool, error) {
		found, err := client.CoreV1().ResourceQuotas(s.namespace).Get(ctx, quota.Name, metav1.GetOptions{})
		if err != nil {
			return false, err
		}
		_, counted := found.Status.Hard["pods"]
		return counted, nil
	})
}

// allowPods removes the quota of forbidPods.
func (s *fixture) allowPods(t *testing.T, i int) {
	t.Helper()
	if err := s.client(t, i).CoreV1().ResourceQuotas(s.namespace).Delete(t.Context(), "no-pods", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
}

// repeatRevision makes a new revision of a release as Helm does: with the labels of the previous
// revision.
func (s *fixture) repeatRevision(t *testing.T, i int, name string, from, to int) {
	t.Helper()
	secrets := s.client(t, i).CoreV1().Secrets(s.namespace)
	key := func(revision int) string { return fmt.Sprintf("sh.helm.release.v1.%s.v%d", name, revision) }
	record, err := secrets.Get(t.Context(), key(from), metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	labels := maps.Clone(record.Labels)
	labels["version"] = strconv.Itoa(to)
	repeated := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: key(to), Labels: labels},
		Type:       record.Type,
		Data:       map[string][]byte{"release": withVersion(t, record.Data["release"], to)},
	}
	if _, err := secrets.Create(t.Context(), repeated, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	record.Labels["status"] = "superseded"
	if _, err := secrets.Update(t.Context(), record, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
}

// recorded returns the JSON in a record: a record is the JSON in gzip in base64.
func recorded(t *testing.T, record []byte) []byte {
	t.Helper()
	packed, err := base64.StdEncoding.DecodeString(string(record))
	if err != nil {
		t.Fatal(err)
	}
	reader, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		t.Fatal(err)
	}
	content, err := io.ReadAll(reader)
	if err != nil {
		t.Fatal(err)
	}
	return content
}

// withVersion changes the revision inside a record.
func withVersion(t *testing.T, record []byte, version int) []byte {
	t.Helper()
	var content map[string]any
	if err := json.Unmarshal(recorded(t, record), &content); err != nil {
		t.Fatal(err)
	}
	content["version"] = version
	var changed bytes.Buffer
	writer := gzip.NewWriter(&changed)
	if err := errors.Join(json.NewEncoder(writer).Encode(content), writer.Close()); err != nil {
		t.Fatal(err)
	}
	return []byte(base64.StdEncoding.EncodeToString(changed.Bytes()))
}
