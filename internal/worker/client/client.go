// Package client sends the templates of charts and of values, and kustomizations, to worker
// processes that render them. Requests and results are plain values; the code of the workers is in
// package templates.
package client

import (
	"context"
	"errors"
	"fmt"
	"path"
	"strings"
	"time"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/mask"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/release"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/render"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/target"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/worker"
)

const (
	// maxLookups is the limit for the lookups of one rendering, and maxLookedUp the limit for the
	// bytes that they return.
	maxLookups  = 100
	maxLookedUp = 16 << 20
)

// Client sends requests to workers. It is safe for concurrent use.
type Client struct{ pool *worker.Pool }

var (
	_ render.Sandbox   = (*Client)(nil)
	_ target.Evaluator = (*Client)(nil)
)

// New makes a client. timeout limits each rendering; 0 is a minute. New starts no worker.
func New(timeout time.Duration) *Client {
	return &Client{pool: worker.New(worker.Options{Timeout: timeout})}
}

// Start starts a worker in the background, ahead of the first rendering.
func (c *Client) Start() { c.pool.Start() }

// Close ends all workers.
func (c *Client) Close() error { return c.pool.Close() }

// Plan implements render.Sandbox.
func (c *Client) Plan(ctx context.Context, d target.Deployment) (release.Rendering, error) {
	d = d.WithoutContent() // No plan may depend on it.
	request := newRequest(d)
	request.Once = true
	rendering, err := call[release.Rendering](ctx, c, Plan, d, request, nil)
	if err != nil || rendering.Irreproducible == "" || rendering.DependsOnCluster || rendering.Documents == nil {
		return rendering, err
	}
	// To find out which objects vary, templates run with other results of functions. If the worker
	// ends during that run, the plan succeeds without this information.
	var result Result[release.Rendering]
	asked := questions{deployment: d}
	if err := c.pool.Try(ctx, Plan, newRequest(d), &result, asked.answer); err == nil && result.Failure == nil {
		rendering = result.Value
	}
	return rendering, nil
}

// Upgrade implements render.Sandbox.
func (c *Client) Upgrade(ctx context.Context, d target.Deployment,
	revision render.Revision, lookup render.Lookup,
) (release.Rendering, error) {
	d = d.WithoutContent() // No plan may depend on it.
	request := newRequest(d)
	request.Revision = revision
	return call[release.Rendering](ctx, c, Upgrade, d, request, lookup)
}

// Template implements render.Sandbox.
func (c *Client) Template(ctx context.Context, d target.Deployment, kubeVersion string) (objects, hooks string, err error) {
	request := newRequest(d)
	request.KubeVersion = kubeVersion
	made, err := call[Documents](ctx, c, Template, d, request, nil)
	return made.Objects, made.Hooks, err
}

// Apply implements render.Sandbox.
func (c *Client) Apply(ctx context.Context, d target.Deployment, revision render.Revision, lookup render.Lookup) (render.Files, error) {
	request := newRequest(d)
	request.Revision = revision
	return call[render.Files](ctx, c, Apply, d, request, lookup)
}

// Evaluate implements target.Evaluator.
func (c *Client) Evaluate(ctx context.Context, request target.Templates) ([]target.Evaluated, error) {
	var results []target.Evaluated
	if err := c.pool.Call(ctx, Evaluate, request, &results, nil); err != nil {
		return nil, explain(err, target.Deployment{})
	}
	for _, result := range results {
		if result.Failure != nil {
			result.Failure.Cause = mask.WithoutMiddle(result.Failure.Cause, maxText)
		}
	}
	return results, nil
}

// call sends a request for a rendering to a worker.
func call[T any](ctx context.Context, c *Client, method string, d target.Deployment, request Request, lookup render.Lookup) (T, error) {
	var result Result[T]
	asked := questions{deployment: d, lookup: lookup}
	err := c.pool.Call(ctx, method, request, &result, asked.answer)
	if spent, ok := errors.AsType[*worker.BudgetError](err); ok {
		return result.Value, notRendered(spent) // All deployments have one cause.
	}
	if err != nil {
		return result.Value, &callError{err: d.MaskError(fmt.Errorf("rendering %s: %w", describe(d), explain(err, d))), of: describe(d)}
	}
	return result.Value, result.Failure.Err()
}

// callError reports a call of a worker that has failed.
type callError struct {
	err error
	of  string
}

func (e *callError) Error() string { return e.err.Error() }

func (e *callError) Unwrap() error { return e.err }

// PublicText is the error without what templates have made.
func (e *callError) PublicText() string {
	if failed, ok := errors.AsType[*worker.HandlerError](e.err); ok {
		return "rendering " + e.of + ": " + render.PublicText(failed)
	}
	return e.Error() // The limits of workers and how they end.
}

func notRendered(spent *worker.BudgetError) error {
	return &callError{err: fmt.Errorf("not rendered: %w, the budget for all failures; correct those templates, or raise "+
		"render_timeout of the provider", spent)}
}

// describe names a bundle and the chart that its options name, if any. It cannot name the template
// that was running when a worker ended, because Helm's engine does not report it.
func describe(d target.Deployment) string {
	if d.Options.Helm == nil {
		return "bundle " + d.Bundle.Name
	}
	chart := path.Base(d.Options.Helm.Chart)
	if chart == "." || strings.ContainsAny(chart, "@:?") { // An address may contain a password.
		return "bundle " + d.Bundle.Name
	}
	return fmt.Sprintf("bundle %s (chart %s)", d.Bundle.Name, chart)
}

// explain adds advice to the error of a time limit, and shortens the text of a worker. Secrets of
// the deployment are masked before the text is cut.
func explain(err error, d target.Deployment) error {
	if spent, ok := errors.AsType[*worker.BudgetError](err); ok {
		return notRendered(spent)
	}
	if failed, ok := errors.AsType[*worker.HandlerError](err); ok {
		return &worker.HandlerError{Text: mask.WithoutMiddle(d.Mask(failed.Text), maxText)}
	}
	if exceeded, ok := errors.AsType[*worker.LimitError](err); ok && exceeded.Limit == worker.LimitTime {
		return fmt.Errorf("%w, the render_timeout of the provider; raise it if the chart is large, otherwise look for a loop in "+
			"its templates", err)
	}
	return err
}

// questions handles the questions of a worker during one rendering.
type questions struct {
	deployment target.Deployment
	lookup     render.Lookup
	// lookups and bytes count the lookups so far and the bytes that they returned.
	lookups, bytes int
}

func (q *questions) answer(ctx context.Context, kind string, question []byte) ([]byte, error) {
	switch {
	case kind == AskFiles:
		return worker.Marshal(q.deployment.Bundle.PlainFiles())
	case kind == AskLookup && q.lookup != nil:
		return q.lookUp(ctx, question)
	}
	return nil, fmt.Errorf("a worker requested %q, which is not permitted", kind)
}

func (q *questions) lookUp(ctx context.Context, question []byte) ([]byte, error) {
	var wanted Lookup
	if err := worker.Unmarshal(question, &wanted); err != nil {
		return nil, err
	}
	if q.lookups++; q.lookups > maxLookups {
		return nil, fmt.Errorf("templates look up objects more than %d times", maxLookups)
	}
	found, err := q.lookup(ctx, wanted.APIVersion, wanted.Kind, wanted.Namespace, wanted.Name)
	if err != nil {
		return nil, err
	}
	answer, err := worker.Marshal(found)
	if err != nil {
		return nil, err
	}
	if q.bytes += len(answer); q.bytes > maxLookedUp {
		return nil, fmt.Errorf("templates look up objects of more than %d MiB", maxLookedUp>>20)
	}
	return answer, nil
}
