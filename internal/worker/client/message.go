package client

import (
	"github.com/agentless-fleet/terraform-provider-fleet/internal/bundle"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/mask"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/render"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/target"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/worker"
)

// Methods of a worker.
const (
	// Plan takes a Request and returns a Result with a release.Rendering.
	Plan = "plan"
	// Upgrade takes a Request and returns a Result with a release.Rendering.
	Upgrade = "upgrade"
	// Template takes a Request and returns a Result with Documents.
	Template = "template"
	// Apply takes a Request and returns a Result with render.Files.
	Apply = "apply"
	// Evaluate takes a target.Templates and returns a list of target.Evaluated.
	Evaluate = "evaluate"
)

// Questions of a worker.
const (
	// AskFiles has no content. The response is a list of bundle.File: the files of the bundle of
	// the request.
	AskFiles = "files"
	// AskLookup has a Lookup as its content. The response is a map.
	AskLookup = "lookup"
)

// Request is a request for a rendering.
type Request struct {
	// Deployment has a bundle without files and definition. A worker that does not have the files
	// requests them.
	Deployment target.Deployment
	// Content is the content of its write-only input, which no encoder writes.
	Content target.Content
	// KubeVersion is used by Template, and Revision by Apply and Upgrade.
	KubeVersion string
	Revision    render.Revision
	// Once is used by Plan: if true, the worker does not find out which objects can vary.
	Once bool
}

// newRequest removes data that workers do not need.
func newRequest(d target.Deployment) Request {
	d, content := render.Open(d)
	of := d.Bundle
	d.Bundle = &bundle.Bundle{Name: of.Name, Path: of.Path, Content: of.Content}
	// Equal input is rendered alike.
	d.Cluster = ""
	d.Partitions = nil
	d.Public = nil
	return Request{Deployment: d, Content: content}
}

var _ worker.Failing = (*Result[Documents])(nil)

// Result is the response to a Request. Failure is set instead of Value if there is no rendering.
type Result[T any] struct {
	Value   T
	Failure *RenderError
}

// ResultOf returns the result of a rendering.
func ResultOf[T any](value T, err error) Result[T] {
	if err != nil {
		return Result[T]{Failure: &RenderError{Text: err.Error(), Public: render.PublicText(err)}}
	}
	return Result[T]{Value: value}
}

// Failed implements worker.Failing.
func (r *Result[T]) Failed() bool { return r.Failure != nil }

// Documents are YAML documents: the objects of a release, and its hooks.
type Documents struct{ Objects, Hooks string }

// RenderError is the reason why a deployment cannot be rendered.
type RenderError struct {
	Text string
	// Public is the text for a deployment whose templates had secret input.
	Public string
}

func (e *RenderError) Error() string { return e.Text }

// PublicText is the error without what templates have made.
func (e *RenderError) PublicText() string { return e.Public }

// Err returns the failure with texts of limited length, nil if there is none.
func (e *RenderError) Err() error {
	if e == nil {
		return nil
	}
	return &RenderError{Text: mask.WithoutMiddle(e.Text, maxText), Public: mask.WithoutMiddle(e.Public, maxText)}
}

// maxText is the maximum length of a failure's text. Templates that include each other can cause an
// error of 100 KB.
const maxText = 3 << 10

// Lookup is a request for objects of a cluster, see render.Lookup.
type Lookup struct{ APIVersion, Kind, Namespace, Name string }
