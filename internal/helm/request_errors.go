package helm

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"sync"
	"time"

	"helm.sh/helm/v3/pkg/kube"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/mask"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/panics"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/release"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/status"
)

// requestErrors records which requests of one operation about objects failed. Of many errors
// Helm keeps only the text, so that temporary errors cannot be distinguished from others.
// Other errors it drops: if the deletion of an object that a new revision no longer has fails,
// the object stays forever (pkg/kube/client.go, update).
type requestErrors struct {
	mu     sync.Mutex
	failed map[string]error
	order  []string
}

// add records the result of a request. A repeated request that succeeded has not failed.
func (r *requestErrors) add(request *http.Request, err error) {
	key := request.Method + " " + request.URL.Path
	r.mu.Lock()
	defer r.mu.Unlock()
	if err == nil {
		delete(r.failed, key)
		return
	}
	if r.failed == nil {
		r.failed = map[string]error{}
	}
	r.failed[key] = err
	r.order = append(r.order, key)
}

// err returns the error of the last failed request, nil if no request failed.
func (r *requestErrors) err() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, key := range slices.Backward(r.order) {
		if err := r.failed[key]; err != nil {
			return err
		}
	}
	return nil
}

// errorRecorder is a transport that records failed requests.
type errorRecorder struct {
	next     http.RoundTripper
	requests *requestErrors
	masker   *mask.Masker
	//nolint:containedctx // the context of the operation, for which the transport exists
	ctx context.Context
}

// WrappedRoundTripper lets client-go find the wrapped transport.
func (r errorRecorder) WrappedRoundTripper() http.RoundTripper { return r.next }

func (r errorRecorder) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := r.next.RoundTrip(request)
	if err != nil {
		r.fail(request, err)
		return response, err
	}
	response, exhausted := r.allocate(request, response)
	refused := refusal(request, response.StatusCode)
	if refused != nil {
		r.collectSecretsOfLive(request)
	}
	if exhausted {
		refused = &status.ExhaustedError{Err: refused}
	}
	r.requests.add(request, refused)
	if !request.URL.Query().Has("watch") { // A watch ends in the middle of its response.
		response.Body = recordedBody{ReadCloser: response.Body, cut: func(err error) { r.fail(request, err) }}
	}
	return response, nil
}

// fail records a failed request, unless the caller has cancelled it. A wait for a hook is
// cancelled when the hook has ended.
func (r errorRecorder) fail(request *http.Request, err error) {
	if r.ctx.Err() == nil && isCancelled(request.Context()) {
		return
	}
	r.requests.add(request, err)
}

// isCancelled reports whether a request was cancelled before its deadline.
func isCancelled(asked context.Context) bool {
	deadline, ends := asked.Deadline()
	return errors.Is(asked.Err(), context.Canceled) && (!ends || time.Now().Before(deadline))
}

// recordedBody records a response that ends before it is complete.
type recordedBody struct {
	io.ReadCloser
	cut func(error)
}

func (b recordedBody) Read(into []byte) (int, error) {
	n, err := b.ReadCloser.Read(into)
	if err != nil && !errors.Is(err, io.EOF) {
		b.cut(err)
	}
	return n, err
}

// refusal returns the error of a response, without its text. It returns nil for a response
// about the existence of an object: it exists, does not exist, or exists already.
func refusal(request *http.Request, code int) error {
	exists := request.Method == http.MethodPost && code == http.StatusConflict
	if code < http.StatusBadRequest || code == http.StatusNotFound || exists {
		return nil
	}
	return apierrors.NewGenericServerResponse(code, request.Method, schema.GroupResource{}, "", "", 0, false)
}

// withCause adds the type of the failed request to an error that has only a text, and the names of the
// objects that API servers have named.
func (r *requestErrors) withCause(err error) error {
	return status.Quoting(r.withType(err), namesIn(err)...)
}

// namesIn returns the names of the objects in the answers of API servers.
func namesIn(err error) []string {
	var names []string
	for ; err != nil; err = errors.Unwrap(err) {
		if joined, ok := err.(interface{ Unwrap() []error }); ok {
			for _, each := range joined.Unwrap() {
				names = append(names, namesIn(each)...)
			}
			return names
		}
		answer := apierrors.APIStatus(nil)
		if errors.As(err, &answer) && answer.Status().Details != nil && answer.Status().Details.Name != "" {
			names = append(names, answer.Status().Details.Name)
		}
	}
	return names
}

func (r *requestErrors) withType(err error) error {
	cause := r.err()
	if err == nil || cause == nil {
		return err
	}
	return mask.WithText(errors.Join(err, cause), err.Error())
}

// explainedHook adds to the error of a hook what its object and its pods report. Helm names neither.
func explainedHook(k *kubeClient, objects kube.ResourceList, err error) error {
	if err == nil || len(objects) == 0 {
		return err
	}
	cause := k.cluster.Ready(k.ctx, objects, release.Readiness{Jobs: true, Explains: true, Logs: k.logs})
	if cause == nil {
		return fmt.Errorf("running the hook %s: %w", titleOf(objects[0]), err)
	}
	return mask.WithText(errors.Join(err, cause), "a hook is "+cause.Error())
}

// WatchUntilReady waits for a hook. Helm's own wait cannot be cancelled. When this wait ends
// earlier, Helm's continues to read, and writes nothing.
func (k *kubeClient) WatchUntilReady(objects kube.ResourceList, timeout time.Duration) error {
	watched := make(chan error, 1)
	go func() {
		watched <- panics.Recovering("waiting for a hook", func() error { return k.Client.WatchUntilReady(objects, timeout) })()
	}()
	if len(objects) > 0 {
		k.pending(release.Unready{Object: titleOf(objects[0]), Reason: "a hook that has not ended"}, len(objects))
		defer k.pending(release.Unready{}, 0)
	}
	select {
	case err := <-watched:
		return explainedHook(k, objects, err)
	case <-k.ctx.Done():
		return context.Cause(k.ctx)
	}
}
