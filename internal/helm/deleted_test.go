package helm

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// The response of an API server to a deletion shows whether the object no longer exists or
// will be deleted later.
func TestIsDeleted(t *testing.T) {
	t.Parallel()
	service := schema.GroupVersionKind{Version: "v1", Kind: "Service"}
	widget := schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Widget"}
	named := metav1.ObjectMeta{Name: "web"}
	ending := metav1.ObjectMeta{Name: "web", DeletionTimestamp: &metav1.Time{Time: time.Unix(1, 0)}}
	tests := map[string]struct {
		kind   schema.GroupVersionKind
		answer runtime.Object
		want   bool
	}{
		"success":                        {kind: widget, answer: &metav1.Status{Status: metav1.StatusSuccess}, want: true},
		"failure":                        {kind: service, answer: &metav1.Status{Status: metav1.StatusFailure}},
		"what it was":                    {kind: service, answer: &corev1.Service{ObjectMeta: named}, want: true},
		"held by a finalizer":            {kind: service, answer: &corev1.Service{ObjectMeta: ending}},
		"an answer without an object":    {kind: service, answer: &corev1.Service{}},
		"another server's, which may be": {kind: widget, answer: &metav1.PartialObjectMetadata{ObjectMeta: named}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := isDeleted(test.kind, test.answer); got != test.want {
				t.Errorf("deleted = %t, want %t", got, test.want)
			}
		})
	}
}
