// Package sandbox has templates rendered by worker processes: those of charts, of
// kustomizations and of values. What is asked and returned are plain values; what the
// workers do with them is in package sandboxed.
package sandbox

import (
	"context"
	"errors"
	"fmt"
	"path"
	"strings"
	"time"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/diff"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/release"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/render"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/target"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/worker"
)

const (
	// maxLookups bounds the lookups of one rendering, and maxLookedUp the bytes of what they
	// return.
	maxLookups  = 100
	maxLookedUp = 16 << 20
)

// Client asks workers. It is safe for concurrent use.
type Client struct{ pool *worker.Pool }

var (
	_ render.Sandbox   = (*Client)(nil)
	_ target.Evaluator = (*Client)(nil)
)

// New makes a client whose renderings may take this long, 0 for a minute. It starts no
// worker.
func New(timeout time.Duration) *Client {
	return &Client{pool: worker.New(worker.Options{Timeout: timeout})}
}

// Start starts a worker in the background, ahead of the first rendering.
func (c *Client) Start() { c.pool.Start() }

// Close ends all workers.
func (c *Client) Close() error { return c.pool.Close() }

// Plan is that of render.Sandbox.
func (c *Client) Plan(ctx context.Context, d target.Deployment) (release.Rendering, error) {
	d = d.WithoutContent() // No plan may depend on it.
	request := newRequest(d)
	request.Once = true
	var once, result Planned
	if err := c.render(ctx, Plan, d, request, &once, nil); err != nil {
		return release.Rendering{}, err
	}
	rendering, err := once.Rendering, once.Failure.masked(d).Err()
	if err != nil || rendering.Irreproducible == "" || rendering.AsksCluster || rendering.Documents == nil {
		return rendering, err
	}
	// To find out which objects vary, templates run with other results of functions. A worker that
	// ends in that costs the knowledge, and not the plan.
	if err := c.render(ctx, Plan, d, newRequest(d), &result, nil); err == nil && result.Failure == nil {
		rendering = result.Rendering
	}
	return rendering, nil
}

// Upgrade is that of render.Sandbox.
func (c *Client) Upgrade(ctx context.Context, d target.Deployment, revision render.Revision, lookup render.Lookup) (release.Rendering, error) {
	d = d.WithoutContent() // No plan may depend on it.
	request := newRequest(d)
	request.Revision = revision
	var result Planned
	if err := c.render(ctx, Upgrade, d, request, &result, lookup); err != nil {
		return release.Rendering{}, err
	}
	return result.Rendering, result.Failure.masked(d).Err()
}

// Template is that of render.Sandbox.
func (c *Client) Template(ctx context.Context, d target.Deployment, kubeVersion string) (objects, hooks string, err error) {
	request := newRequest(d)
	request.KubeVersion = kubeVersion
	var result Templated
	if err := c.render(ctx, Template, d, request, &result, nil); err != nil {
		return "", "", err
	}
	return result.Objects, result.Hooks, result.Failure.masked(d).Err()
}

// Apply is that of render.Sandbox.
func (c *Client) Apply(ctx context.Context, d target.Deployment, revision render.Revision, lookup render.Lookup) (render.Files, error) {
	request := newRequest(d)
	request.Revision = revision
	var result Applied
	if err := c.render(ctx, Apply, d, request, &result, lookup); err != nil {
		return render.Files{}, err
	}
	return result.Files, result.Failure.masked(d).Err()
}

// Evaluate is that of target.Evaluator.
func (c *Client) Evaluate(ctx context.Context, request target.Templates) ([]target.Evaluated, error) {
	var results []target.Evaluated
	if err := c.pool.Call(ctx, Evaluate, request, &results, nil); err != nil {
		return nil, explain(err, target.Deployment{})
	}
	for _, result := range results {
		if result.Failure != nil {
			result.Failure.Cause = diff.WithoutMiddle(result.Failure.Cause, maxText)
		}
	}
	return results, nil
}

func (c *Client) render(ctx context.Context, method string, d target.Deployment, request Request, result any, lookup render.Lookup) error {
	asked := questions{deployment: d, lookup: lookup}
	if err := c.pool.Call(ctx, method, request, result, asked.answer); err != nil {
		return d.MaskError(fmt.Errorf("rendering %s: %w", describe(d), explain(err, d)))
	}
	return nil
}

// describe names a bundle and the chart that it names, if any. Which template was running
// when a worker ended is not known: Helm's engine reports none.
func describe(d target.Deployment) string {
	if d.Options.Helm == nil {
		return "bundle " + d.Bundle.Name
	}
	chart := path.Base(d.Options.Helm.Chart)
	if chart == "." || strings.ContainsAny(chart, "@:?") { // An address may hold a password.
		return "bundle " + d.Bundle.Name
	}
	return fmt.Sprintf("bundle %s (chart %s)", d.Bundle.Name, chart)
}

// explain adds what to do about a limit, and bounds the text of a worker. Secrets of the
// deployment are masked before the text is cut.
func explain(err error, d target.Deployment) error {
	if failed, ok := errors.AsType[*worker.HandlerError](err); ok {
		return &worker.HandlerError{Text: diff.WithoutMiddle(d.Mask(failed.Text), maxText)}
	}
	if exceeded, ok := errors.AsType[*worker.LimitError](err); ok && exceeded.Limit == worker.LimitTime {
		return fmt.Errorf("%w; correct its templates, or raise render_timeout of the provider", err)
	}
	return err
}

// questions are those of one rendering.
type questions struct {
	deployment target.Deployment
	lookup     render.Lookup
	// lookups and bytes are those so far.
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
