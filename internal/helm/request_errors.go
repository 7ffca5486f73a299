package helm

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"slices"
	"sync"
	"time"

	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/kube"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/version"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/resource"
	"k8s.io/client-go/rest"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/diff"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/manifest"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/release"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/status"
)

// requestErrors remembers which requests of one operation about objects came to
// nothing. Helm keeps of many errors the text only, so that nobody can tell what
// passes from what does not, and of others not even that: an object that a new
// revision no longer has stays for ever if the request to delete it fails
// (pkg/kube/client.go, update).
type requestErrors struct {
	mu     sync.Mutex
	failed map[string]error
	order  []string
}

// add remembers how a request ended. One that was repeated and came through has
// not failed.
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

// err is what the last request failed with that came to nothing, nil if all came
// through.
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
	masker   *diff.Masker
	//nolint:containedctx // the operation's, which the transport lives for
	ctx context.Context
}

// WrappedRoundTripper lets client-go find the transport below.
func (n errorRecorder) WrappedRoundTripper() http.RoundTripper { return n.next }

func (n errorRecorder) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := n.next.RoundTrip(request)
	if err != nil {
		n.fail(request, err)
		return response, err
	}
	refused := refusal(request, response.StatusCode)
	if refused != nil {
		n.collectSecretsOfLive(request)
	}
	n.requests.add(request, refused)
	if !request.URL.Query().Has("watch") { // A watch ends in the middle of its response.
		response.Body = recordedBody{ReadCloser: response.Body, cut: func(err error) { n.fail(request, err) }}
	}
	return response, nil
}

// fail notes a request that came to nothing, unless the caller wants no response any
// more: waiting for a hook ends so when the hook has.
func (n errorRecorder) fail(request *http.Request, err error) {
	if n.ctx.Err() == nil && isCancelled(request.Context()) {
		return
	}
	n.requests.add(request, err)
}

// isCancelled says whether a request was cancelled, and not because its time was over.
func isCancelled(asked context.Context) bool {
	deadline, ends := asked.Deadline()
	return errors.Is(asked.Err(), context.Canceled) && (!ends || time.Now().Before(deadline))
}

// recordedBody records a response that breaks off.
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

// refusal is the error of a response, without its text, nil for one that says
// something of the objects: that they are there, are not, or are there already.
func refusal(request *http.Request, code int) error {
	exists := request.Method == http.MethodPost && code == http.StatusConflict
	if code < http.StatusBadRequest || code == http.StatusNotFound || exists {
		return nil
	}
	return apierrors.NewGenericServerResponse(code, request.Method, schema.GroupResource{}, "", "", 0, false)
}

// recordingFactory makes clients for objects whose requests are noted. Everything else
// is shared by all operations.
type recordingFactory struct {
	kube.Factory
	getter recordingGetter
}

// NewBuilder makes what Helm reads manifests with, and sends objects.
func (f recordingFactory) NewBuilder() *resource.Builder { return resource.NewBuilder(f.getter) }

type recordingGetter struct {
	genericclioptions.RESTClientGetter
	requests *requestErrors
	ahead    *responseCache
	masker   *diff.Masker
	//nolint:containedctx // Helm hands none on to its requests; the getter lives for one operation
	ctx context.Context
}

// ToRESTConfig gives the connection of the cluster.
func (g recordingGetter) ToRESTConfig() (*rest.Config, error) {
	config, err := g.RESTClientGetter.ToRESTConfig()
	if err != nil {
		return nil, err
	}
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return errorRecorder{next: cachingTransport{next: next, ahead: g.ahead, ctx: g.ctx}, requests: g.requests, masker: g.masker, ctx: g.ctx}
	})
	return config, nil
}

// withCause gives an error that is text only the type of the request that failed.
func (r *requestErrors) withCause(err error) error {
	cause := r.err()
	if err == nil || cause == nil {
		return err
	}
	return diff.WithText(errors.Join(err, cause), err.Error())
}

// validatesFields says whether an API server checks the fields of all kinds itself:
// server-side validation is final since Kubernetes 1.27. Helm has nothing to check
// there, and finds that out with the OpenAPI documents of the kinds, again for each
// manifest: some dozen MiB of memory and most of what an apply reads.
func validatesFields(server chartutil.KubeVersion) bool {
	found, err := version.ParseGeneric(server.Version)
	return err == nil && found.AtLeast(version.MajorMinor(1, 27))
}

// Build reads a manifest. To check it Helm reads what the API server says of its
// kinds, and when that fails keeps the text of the error
// (k8s.io/cli-runtime, pkg/resource/query_param_verifier.go); so the server is asked
// something else. A factory keeps a failure for good
// (k8s.io/kubectl, pkg/util/openapi), so another one takes its place.
func (k *kubeClient) Build(stream io.Reader, validate bool) (kube.ResourceList, error) {
	text, err := io.ReadAll(stream)
	if err != nil {
		return nil, err
	}
	isTarget := validate // Only what is to be written is checked, and then looked for.
	validate = validate && !k.validated
	built, err := k.buildOnce(text, validate, isTarget)
	if _, refused := errors.AsType[*manifest.ForbiddenRecordError](err); err == nil || refused || !validate {
		return built, err
	}
	server, failure := k.Factory.KubernetesClientSet()
	if failure == nil {
		_, failure = server.Discovery().ServerVersion()
	}
	if failure != nil {
		return nil, diff.WithText(errors.Join(err, failure), err.Error())
	}
	k.Factory = k.renew()
	return k.buildOnce(text, validate, isTarget)
}

// buildOnce builds objects, and notes those that are to be written.
func (k *kubeClient) buildOnce(text []byte, validate, isTarget bool) (kube.ResourceList, error) {
	built, err := k.Client.Build(bytes.NewReader(text), validate)
	if err == nil && isTarget { // Before anything is written: Helm stores the release after that.
		err = refuseBuiltRecords(built)
	}
	if err == nil && isTarget {
		k.ahead.expect(built)
		k.expected = built
		for _, object := range built {
			k.targets[object] = true
		}
	}
	return built, err
}

// WatchUntilReady waits for a hook. Helm's own cannot be ended before its time; left
// alone it goes on looking, and writes nothing.
func (k *kubeClient) WatchUntilReady(objects kube.ResourceList, timeout time.Duration) error {
	watched, client := make(chan error, 1), *k.Client // Build can exchange the factory of k when nobody waits any more.
	go func() {
		watched <- status.Recovering("waiting for a hook", func() error { return client.WatchUntilReady(objects, timeout) })()
	}()
	if len(objects) > 0 {
		k.pending(release.Unready{Object: titleOf(objects[0]), Reason: "a hook that has not ended"}, len(objects))
		defer k.pending(release.Unready{}, 0)
	}
	select {
	case err := <-watched:
		return err
	case <-k.ctx.Done():
		return context.Cause(k.ctx)
	}
}
