package connect_test

import (
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
)

func TestTransientResponsesAreRetried(t *testing.T) {
	t.Parallel()
	// cut closes the connection. aborted ends one request on it, which HTTP/2 reports with an error
	// that client-go does not recognize.
	const cut, aborted = 0, -1
	get := func(t *testing.T, client kubernetes.Interface) error {
		t.Helper()
		_, err := client.CoreV1().Namespaces().Get(t.Context(), metav1.NamespaceSystem, metav1.GetOptions{})
		return err
	}
	patch := func(kind types.PatchType) func(*testing.T, kubernetes.Interface) error {
		return func(t *testing.T, client kubernetes.Interface) error {
			t.Helper()
			_, err := client.CoreV1().Namespaces().Patch(t.Context(), "x", kind, []byte("{}"), metav1.PatchOptions{})
			return err
		}
	}
	remove := func(t *testing.T, client kubernetes.Interface) error {
		t.Helper()
		return client.CoreV1().Namespaces().Delete(t.Context(), "x", metav1.DeleteOptions{})
	}
	tests := map[string]struct {
		do    func(*testing.T, kubernetes.Interface) error
		code  int32
		times int32
		asked int32
		fails bool
	}{
		"reading, internal error":        {do: get, code: http.StatusInternalServerError, times: 2, asked: 3},
		"reading, too many":              {do: get, code: http.StatusTooManyRequests, times: 1, asked: 2},
		"reading, for long":              {do: get, code: http.StatusInternalServerError, times: 100, asked: 4, fails: true},
		"reading, refused":               {do: get, code: http.StatusForbidden, times: 1, asked: 1, fails: true},
		"reading, cut off":               {do: get, code: cut, times: 1, asked: 2},
		"reading, aborted":               {do: get, code: aborted, times: 1, asked: 2},
		"merging, aborted":               {do: patch(types.MergePatchType), code: aborted, times: 1, asked: 2},
		"deleting, aborted, looked at":   {do: remove, code: aborted, times: 1, asked: 1, fails: true},
		"merging, internal error":        {do: patch(types.MergePatchType), code: http.StatusInternalServerError, times: 1, asked: 2},
		"merging, cut off":               {do: patch(types.StrategicMergePatchType), code: cut, times: 1, asked: 2},
		"merging, conflict":              {do: patch(types.MergePatchType), code: http.StatusConflict, times: 1, asked: 1, fails: true},
		"editing is no merging":          {do: patch(types.JSONPatchType), code: http.StatusInternalServerError, times: 1, asked: 1, fails: true},
		"deleting has to be looked at":   {do: remove, code: http.StatusInternalServerError, times: 1, asked: 1, fails: true},
		"deleting, cut off, looked at":   {do: remove, code: cut, times: 1, asked: 1, fails: true},
		"what comes through is not more": {do: patch(types.MergePatchType), asked: 1},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var asked atomic.Int32
			var server *httptest.Server
			server = serve(t, func(w http.ResponseWriter, r *http.Request) {
				switch n := asked.Add(1); {
				case n > test.times:
					respondWithUID(w, r)
				case test.code == cut:
					go server.CloseClientConnections()
					<-r.Context().Done()
				case test.code == aborted:
					panic(http.ErrAbortHandler)
				default:
					refuse(test.code, metav1.StatusReasonUnknown)(w, r)
				}
			})
			config, err := clientOf(t, to(server)).ToRESTConfig()
			if err != nil {
				t.Fatal(err)
			}
			client, err := kubernetes.NewForConfig(config)
			if err != nil {
				t.Fatal(err)
			}
			err = test.do(t, client)
			if (err != nil) != test.fails || asked.Load() != test.asked {
				t.Errorf("asked %d times, want %d; error %v (%v)", asked.Load(), test.asked, err, apierrors.ReasonForError(err))
			}
		})
	}
}
