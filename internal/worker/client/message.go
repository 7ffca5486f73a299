package client

import (
	"github.com/agentless-fleet/terraform-provider-fleet/internal/bundle"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/mask"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/release"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/render"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/target"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/worker"
)

// Methods of a worker.
const (
	// Plan takes a Request and returns a Planned.
	Plan = "plan"
	// Upgrade takes a Request and returns a Planned.
	Upgrade = "upgrade"
	// Template takes a Request and returns a Templated.
	Template = "template"
	// Apply takes a Request and returns an Applied.
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

var _, _, _ worker.Failing = (*Planned)(nil), (*Templated)(nil), (*Applied)(nil)

// Planned is the result of Plan and Upgrade. Failure is set instead if there is no rendering.
type Planned struct {
	Rendering release.Rendering
	Failure   *RenderError
}

// Failed implements worker.Failing.
func (p *Planned) Failed() bool { return p.Failure != nil }

// Templated is the result of Template.
type Templated struct {
	Objects, Hooks string
	Failure        *RenderError
}

// Failed implements worker.Failing.
func (t *Templated) Failed() bool { return t.Failure != nil }

// Applied is the result of Apply.
type Applied struct {
	Files   render.Files
	Failure *RenderError
}

// Failed implements worker.Failing.
func (a *Applied) Failed() bool { return a.Failure != nil }

// RenderError is the reason why a deployment cannot be rendered.
type RenderError struct {
	Text string
	// Public is the text for a deployment whose templates had secret input.
	Public string
}

func (e *RenderError) Error() string { return e.Text }

// PublicText is the error without what templates have made.
func (e *RenderError) PublicText() string { return e.Public }

// FailureOf returns nil if err is nil.
func FailureOf(err error) *RenderError {
	if err == nil {
		return nil
	}
	return &RenderError{Text: err.Error(), Public: render.PublicText(err)}
}

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
