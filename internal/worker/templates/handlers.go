package templates

import (
	"context"
	"sync"
	_ "time/tzdata" // A worker cannot read the time zones of its machine.

	"github.com/agentless-fleet/terraform-provider-fleet/internal/bundle"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/kustomize"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/release"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/render"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/secret"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/target"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/worker"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/worker/client"
)

type asker = func(kind string, question []byte) ([]byte, error)

// Handlers returns the methods of a worker.
func Handlers() map[string]worker.Handler {
	s := &service{renderer: Renderer{Kustomize: kustomize.Build}}
	return map[string]worker.Handler{
		client.Plan: handle(s, func(_ context.Context, of client.Request, _ render.Lookup) (release.Rendering, error) {
			return s.renderer.plan(of.Deployment, of.Once)
		}),
		client.Upgrade: handle(s, func(ctx context.Context, of client.Request, lookup render.Lookup) (release.Rendering, error) {
			return s.renderer.Upgrade(ctx, of.Deployment, of.Revision, lookup)
		}),
		client.Template: handle(s, func(ctx context.Context, of client.Request, _ render.Lookup) (made client.Documents, err error) {
			made.Objects, made.Hooks, err = s.renderer.Template(ctx, of.Deployment, of.KubeVersion)
			return made, err
		}),
		client.Apply: handle(s, func(ctx context.Context, of client.Request, lookup render.Lookup) (render.Files, error) {
			return s.renderer.Apply(ctx, of.Deployment, of.Revision, lookup)
		}),
		client.Evaluate: evaluate,
	}
}

// handle returns a handler that reads a request and renders it.
func handle[T any](s *service, render func(context.Context, client.Request, render.Lookup) (T, error)) worker.Handler {
	return func(ctx context.Context, data []byte, ask asker) (any, error) {
		request, err := s.read(data, ask)
		if err != nil {
			return nil, err
		}
		return client.ResultOf(render(ctx, request, lookupBy(ask))), nil
	}
}

// service caches the charts and files of one worker.
type service struct {
	renderer Renderer
	bundles  sync.Map // bundleKey -> []bundle.File
}

type bundleKey struct{ name, content string }

// lookupBy returns a lookup that requests objects from the provider.
func lookupBy(ask asker) render.Lookup {
	return func(_ context.Context, apiVersion, kind, namespace, name string) (map[string]any, error) {
		question, err := worker.Marshal(client.Lookup{APIVersion: apiVersion, Kind: kind, Namespace: namespace, Name: name})
		if err != nil {
			return nil, err
		}
		answer, err := ask(client.AskLookup, question)
		if err != nil {
			return nil, err
		}
		var found map[string]any
		return found, worker.Unmarshal(answer, &found)
	}
}

func evaluate(_ context.Context, data []byte, _ asker) (any, error) {
	var request target.Templates
	if err := worker.Unmarshal(data, &request); err != nil {
		return nil, err
	}
	return EvaluateValues(request), nil
}

// read decodes a request and adds the files of its bundle, which are requested once.
func (s *service) read(data []byte, ask asker) (client.Request, error) {
	var request client.Request
	if err := worker.Unmarshal(data, &request); err != nil {
		return request, err
	}
	if input := request.Deployment.WriteOnly; input != nil {
		input.Content = secret.Hide(request.Content)
	}
	of := request.Deployment.Bundle
	key := bundleKey{name: of.Name, content: of.Content}
	if known, ok := s.bundles.Load(key); ok && of.Content != "" {
		of.Files, _ = known.([]bundle.File)
		return request, nil
	}
	answer, err := ask(client.AskFiles, nil)
	if err != nil {
		return request, err
	}
	if err := worker.Unmarshal(answer, &of.Files); err != nil {
		return request, err
	}
	s.bundles.Store(key, of.Files)
	return request, nil
}
