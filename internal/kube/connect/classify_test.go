package connect_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"sync"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/kube"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/kube/connect"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/secret"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/status"
)

// The types that Classify can give an error.
const (
	unreachable = "unreachable"
	denied      = "denied"
	busy        = "busy"
	neither     = "neither"
)

func class(err error) string {
	switch {
	case errors.As(err, new(*status.UnreachableError)):
		return unreachable
	case errors.As(err, new(*status.DeniedError)):
		return denied
	case errors.As(err, new(*status.BusyError)):
		return busy
	}
	return neither
}

func TestClassifyResponses(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		code   int32
		reason metav1.StatusReason
		want   string
		is     func(error) bool
	}{
		"wrong credentials":  {code: http.StatusUnauthorized, reason: metav1.StatusReasonUnauthorized, want: denied, is: apierrors.IsUnauthorized},
		"no right":           {code: http.StatusForbidden, reason: metav1.StatusReasonForbidden, want: denied, is: apierrors.IsForbidden},
		"not found":          {code: http.StatusNotFound, reason: metav1.StatusReasonNotFound, want: neither, is: apierrors.IsNotFound},
		"exists":             {code: http.StatusConflict, reason: metav1.StatusReasonAlreadyExists, want: neither, is: apierrors.IsAlreadyExists},
		"conflict":           {code: http.StatusConflict, reason: metav1.StatusReasonConflict, want: busy, is: apierrors.IsConflict},
		"invalid":            {code: http.StatusUnprocessableEntity, reason: metav1.StatusReasonInvalid, want: neither, is: apierrors.IsInvalid},
		"bad request":        {code: http.StatusBadRequest, reason: metav1.StatusReasonBadRequest, want: neither, is: apierrors.IsBadRequest},
		"too many":           {code: http.StatusTooManyRequests, reason: metav1.StatusReasonTooManyRequests, want: busy, is: apierrors.IsTooManyRequests},
		"webhook fails":      {code: http.StatusInternalServerError, reason: metav1.StatusReasonInternalError, want: busy, is: apierrors.IsInternalError},
		"not implemented":    {code: http.StatusNotImplemented, want: neither},
		"no storage left":    {code: http.StatusInsufficientStorage, want: neither},
		"gateway: no server": {code: http.StatusBadGateway, want: unreachable},
		"starting or ending": {code: http.StatusServiceUnavailable, reason: metav1.StatusReasonServiceUnavailable, want: unreachable, is: apierrors.IsServiceUnavailable},
		"gateway: too late":  {code: http.StatusGatewayTimeout, reason: metav1.StatusReasonTimeout, want: unreachable, is: apierrors.IsTimeout},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := serve(t, refuse(test.code, test.reason))
			_, err := clientOf(t, to(server)).UID(t.Context())
			got := connect.Classify("c1", fmt.Errorf("doing something: %w", err))
			if class(got) != test.want {
				t.Errorf("%v is %s, want %s", got, class(got), test.want)
			}
			if test.is != nil && !test.is(got) {
				t.Errorf("%v lost what the API server said", got)
			}
			if again := connect.Classify("c2", got); again.Error() != got.Error() {
				t.Errorf("classifying twice gives %v, want %v", again, got)
			}
		})
	}
}

// An internal error is no temporary one if the cluster has nothing left to allocate.
func TestClassifyWhatIsUsedUp(t *testing.T) {
	t.Parallel()
	full := apierrors.NewInternalError(errors.New("failed to allocate a serviceIP: range is full"))
	for _, test := range []struct {
		err  error
		want string
	}{{full, busy}, {&status.ExhaustedError{Err: full}, neither}, {errors.Join(full, &status.ExhaustedError{Err: full}), neither}} {
		if got := class(connect.Classify("c1", test.err)); got != test.want {
			t.Errorf("%v is %s, want %s", test.err, got, test.want)
		}
	}
}

// begin responds with the beginning of an object.
func begin(then func(*http.Request)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, `{"kind": "Name`)
		_ = http.NewResponseController(w).Flush()
		then(r)
	}
}

func TestClassifyConnections(t *testing.T) {
	t.Parallel()
	trustedByNobody, _ := pair(t, "another authority", time.Hour)
	deadline := make(chan struct{})
	passDeadline := sync.OnceFunc(func() { close(deadline) })
	certificate, key := pair(t, "client", time.Hour)
	expiredCertificate, expiredKey := pair(t, "expired", -time.Minute)
	expired, err := tls.X509KeyPair([]byte(expiredCertificate), []byte(expiredKey))
	if err != nil {
		t.Fatal(err)
	}
	tests := map[string]struct {
		connection func(*testing.T) connect.Connection
		ctx        func(context.Context) (context.Context, context.CancelFunc)
		want       string
		is         any  // the error that it wraps
		once       bool // without the retries of client-go, which take 10 s
	}{
		"nothing listens": {
			connection: func(t *testing.T) connect.Connection {
				t.Helper()
				server := httptest.NewTLSServer(http.NotFoundHandler())
				server.Close()
				return to(server)
			},
			want: unreachable,
		},
		"hangs": {
			connection: func(t *testing.T) connect.Connection {
				t.Helper()
				connection := to(serve(t, func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }))
				connection.RequestTimeout = 50 * time.Millisecond
				return connection
			},
			want: unreachable,
		},
		"takes the connection and says nothing": {
			connection: func(t *testing.T) connect.Connection {
				t.Helper()
				return connect.Connection{Host: "https://" + listen(t, func(net.Conn) {}), Token: secret.Hide("t"), Insecure: true, RequestTimeout: 50 * time.Millisecond}
			},
			want: unreachable,
		},
		"hangs up during the handshake": {
			connection: func(t *testing.T) connect.Connection {
				t.Helper()
				return connect.Connection{Host: "https://" + listen(t, hangUp), Token: secret.Hide("t"), Insecure: true}
			},
			want: unreachable, once: true,
		},
		"breaks off in an answer": {
			connection: func(t *testing.T) connect.Connection {
				t.Helper()
				return to(serve(t, begin(func(*http.Request) { panic(http.ErrAbortHandler) })))
			},
			want: busy,
		},
		"is cancelled in an answer": {
			connection: func(t *testing.T) connect.Connection {
				t.Helper()
				return to(serve(t, begin(func(r *http.Request) { <-r.Context().Done() })))
			},
			ctx: func(ctx context.Context) (context.Context, context.CancelFunc) {
				ctx, cancel := context.WithCancel(ctx)
				time.AfterFunc(50*time.Millisecond, cancel)
				return ctx, cancel
			},
			want: neither,
		},
		"a deadline passes": {
			connection: func(t *testing.T) connect.Connection {
				t.Helper()
				return to(serve(t, func(_ http.ResponseWriter, r *http.Request) {
					passDeadline()
					<-r.Context().Done()
				}))
			},
			ctx: func(ctx context.Context) (context.Context, context.CancelFunc) {
				return expiring{ctx, deadline}, func() {}
			},
			want: unreachable,
		},
		"is cancelled": {
			connection: func(t *testing.T) connect.Connection {
				t.Helper()
				return to(serve(t, respondWithUID))
			},
			ctx: func(ctx context.Context) (context.Context, context.CancelFunc) {
				ctx, cancel := context.WithCancel(ctx)
				cancel()
				return ctx, cancel
			},
			want: neither,
		},
		"is cancelled on the way": {
			connection: func(t *testing.T) connect.Connection {
				t.Helper()
				return to(serve(t, func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }))
			},
			ctx: func(ctx context.Context) (context.Context, context.CancelFunc) {
				ctx, cancel := context.WithCancel(ctx)
				time.AfterFunc(50*time.Millisecond, cancel)
				return ctx, cancel
			},
			want: neither,
		},
		"unknown authority": {
			connection: func(t *testing.T) connect.Connection {
				t.Helper()
				connection := to(serve(t, respondWithUID))
				connection.ClusterCACertificate = trustedByNobody
				return connection
			},
			want: neither, is: new(x509.UnknownAuthorityError),
		},
		"certificate for another name": {
			connection: func(t *testing.T) connect.Connection {
				t.Helper()
				connection := to(serve(t, respondWithUID))
				connection.TLSServerName = "wrong.example.org"
				return connection
			},
			want: neither, is: new(x509.HostnameError),
		},
		"expired certificate": {
			connection: func(t *testing.T) connect.Connection {
				t.Helper()
				connection := to(serveWith(t, &tls.Config{Certificates: []tls.Certificate{expired}, MinVersion: tls.VersionTLS12}, respondWithUID))
				connection.ClusterCACertificate = expiredCertificate
				return connection
			},
			want: neither, is: new(x509.CertificateInvalidError),
		},
		"client certificate refused": {
			connection: func(t *testing.T) connect.Connection {
				t.Helper()
				server := serveWith(t, &tls.Config{ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: x509.NewCertPool(), MinVersion: tls.VersionTLS12}, respondWithUID)
				return connect.Connection{Host: server.URL, ClientCertificate: certificate, ClientKey: secret.Hide(key), ClusterCACertificate: trusted(server)}
			},
			want: denied,
		},
		"no TLS there": {
			connection: func(t *testing.T) connect.Connection {
				t.Helper()
				server := httptest.NewServer(http.HandlerFunc(respondWithUID))
				t.Cleanup(server.Close)
				return connect.Connection{Host: "https://" + server.Listener.Addr().String(), Token: secret.Hide("t"), Insecure: true}
			},
			want: neither,
		},
		"proxy does not answer": {
			connection: func(t *testing.T) connect.Connection {
				t.Helper()
				connection := to(serve(t, respondWithUID))
				proxy := httptest.NewServer(http.NotFoundHandler())
				proxy.Close()
				connection.ProxyURL = proxy.URL
				return connection
			},
			want: unreachable,
		},
		"token file missing": {
			connection: func(t *testing.T) connect.Connection {
				t.Helper()
				connection := to(serve(t, respondWithUID))
				connection.Token, connection.TokenFile = secret.Hide(""), t.TempDir()+"/none"
				return connection
			},
			want: neither,
		},
		"exec command missing": {
			connection: func(t *testing.T) connect.Connection {
				t.Helper()
				connection := to(serve(t, respondWithUID))
				connection.Token = secret.Hide("")
				connection.Exec = &connect.Exec{APIVersion: "client.authentication.k8s.io/v1", Command: t.TempDir() + "/none"}
				return connection
			},
			want: neither,
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx := t.Context()
			if test.ctx != nil {
				limited, cancel := test.ctx(ctx)
				defer cancel()
				ctx = limited
			}
			client := clientOf(t, test.connection(t))
			ask := client.UID
			if test.once {
				ask = func(ctx context.Context) (string, error) { return requestOnce(ctx, t, client) }
			}
			_, err := ask(ctx)
			if err == nil {
				t.Fatal("the cluster answers")
			}
			got := connect.Classify("c1", err)
			if class(got) != test.want {
				t.Errorf("%v is %s, want %s", got, class(got), test.want)
			}
			if test.is != nil && !errors.As(got, test.is) {
				t.Errorf("%v holds no %T", got, test.is)
			}
		})
	}
}

func TestClassifyLeavesOtherErrors(t *testing.T) {
	t.Parallel()
	if err := connect.Classify("c1", nil); err != nil {
		t.Errorf("no error became %v", err)
	}
	plain := errors.New("the chart is broken")
	if err := connect.Classify("c1", plain); !errors.Is(err, plain) || class(err) != neither {
		t.Errorf("%v became %v", plain, err)
	}
	// A deadline that passed before any request was sent does not mean that a cluster is
	// unreachable.
	if err := connect.Classify("c1", fmt.Errorf("waiting: %w", context.DeadlineExceeded)); class(err) != neither {
		t.Errorf("the deadline became %v", err)
	}
	cancelled := &url.Error{Op: "Get", URL: "https://x", Err: &net.OpError{Op: "dial", Net: "tcp", Err: context.Canceled}}
	if err := connect.Classify("c1", cancelled); class(err) != neither {
		t.Errorf("%v is %s, want %s", cancelled, class(err), neither)
	}
	lookup := &url.Error{Op: "Get", URL: "https://x", Err: &net.DNSError{Err: "no such host", Name: "x", IsNotFound: true}}
	if err := connect.Classify("c1", lookup); class(err) != unreachable {
		t.Errorf("%v is %s, want %s", lookup, class(err), unreachable)
	}
}

// expiring is a context whose deadline passes in the middle of a request.
type expiring struct {
	context.Context //nolint:containedctx // It is a context itself.

	deadline chan struct{}
}

func (e expiring) Done() <-chan struct{} { return e.deadline }

func (e expiring) Err() error {
	select {
	case <-e.deadline:
		return context.DeadlineExceeded
	default:
		return e.Context.Err()
	}
}

// listen accepts connections, passes them to a function and keeps them open.
func listen(t *testing.T, handle func(net.Conn)) string {
	t.Helper()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	accepting := make(chan struct{})
	go func() {
		defer close(accepting)
		for {
			connection, err := listener.Accept()
			if err != nil {
				return
			}
			defer hangUp(connection)
			handle(connection)
		}
	}()
	t.Cleanup(func() {
		if err := listener.Close(); err != nil {
			t.Error(err)
		}
		<-accepting
	})
	return listener.Addr().String()
}

// hangUp may be called twice.
func hangUp(connection net.Conn) { _ = connection.Close() }

func requestOnce(ctx context.Context, t *testing.T, client *kube.Client) (string, error) {
	t.Helper()
	config, err := client.ToRESTConfig()
	if err != nil {
		t.Fatal(err)
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, config.Host, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	caller := http.Client{Transport: config.Transport, Timeout: config.Timeout}
	response, err := caller.Do(request)
	if err != nil {
		return "", err
	}
	return response.Status, response.Body.Close()
}
