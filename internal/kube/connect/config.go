// Package connect makes connections to clusters: from addresses, kubeconfigs, commands that print
// credentials, and environment variables. A connection has limits on requests and responses, and its
// errors have types.
package connect

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/transport"
	"k8s.io/client-go/util/flowcontrol"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/command"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/mask"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/retry"
)

// Config makes the configuration of clients of one cluster. It reads each kubeconfig file once for
// all clusters, and opens no network connection. All clients made from the configuration share one
// transport and one limit on requests. Every credential is added to masker before it is sent.
func (k *Kubeconfigs) Config(c Connection, masker *mask.Masker) (*rest.Config, error) {
	if masker == nil {
		masker = &mask.Masker{}
	}
	c.AddSecrets(masker)
	if err := c.Validate(); err != nil {
		return nil, err
	}
	config, err := c.restConfig(k, masker)
	if err != nil {
		return nil, err
	}
	addConfig(masker, config)
	limit := command.DefaultLimit
	if c.Exec != nil && c.Exec.Timeout > 0 {
		limit = c.Exec.Timeout
	}
	return share(config, limit, masker)
}

// share makes a configuration with a transport and a rate limit for all clients made from it. By
// default client-go gives each client its own limit and, with a proxy or an exec plugin, its own
// connections. A command that prints credentials may take limit. The credentials of requests are
// added to masker.
func share(config *rest.Config, limit time.Duration, masker *mask.Masker) (*rest.Config, error) {
	server, _, err := rest.DefaultServerUrlFor(config)
	if err != nil {
		return nil, &ConnectionError{Attribute: "host", Message: "is not the address of an API server"}
	}
	// The innermost transport sees only what the network returns, not errors from reading the
	// credentials of a request.
	inner := func(next http.RoundTripper) http.RoundTripper {
		signed := credentialCollector{wrapper: wrapper{next}, masker: masker, last: &atomic.Value{}}
		return limitingTransport{wrapper: wrapper{errorTyper{wrapper{signed}}}, prefix: strings.TrimSuffix(server.Path, "/")}
	}
	config.WrapTransport = transport.Wrappers(inner, config.WrapTransport)
	shared, err := transportFor(config, limit)
	if err != nil {
		return nil, fmt.Errorf("reading certificates or credentials: %w", err)
	}
	inflight := inflightLimiter{wrapper: wrapper{shared}, slots: make(chan struct{}, inFlight)}
	limited := &rest.Config{
		Host:      server.String(),
		Transport: retry.Transport{Next: inflight, Policy: retry.Request(), Repeatable: isRepeatable, Passing: isTransient},
		UserAgent: config.UserAgent,
		Timeout:   config.Timeout,
		QPS:       config.QPS,
		Burst:     config.Burst,
		// A warning contains text of a server or of a webhook, and would be logged without masking.
		WarningHandler: rest.NoWarnings{},
	}
	if config.ExecProvider != nil {
		limited.Timeout += limit // The time of a request begins when the command has ended.
	}
	if config.QPS > 0 {
		limited.RateLimiter = flowcontrol.NewTokenBucketRateLimiter(config.QPS, config.Burst)
	}
	return limited, nil
}

// wrapper is the part that all transports here have in common.
type wrapper struct{ next http.RoundTripper }

// WrappedRoundTripper lets client-go find the transport below. Without it, client-go logs a warning
// about each request that takes too long.
func (w wrapper) WrappedRoundTripper() http.RoundTripper { return w.next }

// inFlight is how many requests to one cluster run at once. It is less than the number of streams
// that an API server allows on one connection.
const inFlight = 64

// inflightLimiter limits how many requests run at once. A request counts until its response begins,
// not until the response is read, so that a watch occupies no slot.
type inflightLimiter struct {
	wrapper
	slots chan struct{}
}

func (i inflightLimiter) RoundTrip(request *http.Request) (*http.Response, error) {
	select {
	case i.slots <- struct{}{}:
	case <-request.Context().Done():
		return nil, context.Cause(request.Context())
	}
	defer func() { <-i.slots }()
	return i.next.RoundTrip(request)
}
