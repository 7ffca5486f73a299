package render

import (
	"context"
	"sync"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/bundle"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/manifest"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/panics"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/release"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/target"
)

// Charts renders deployments. It reads charts itself; their templates run in the sandbox. It
// is safe for concurrent use.
type Charts struct {
	Sandbox Sandbox

	loader   Loader
	features sync.Map // chartKey -> mentions
	words    sync.Map // content of a bundle -> map[string]bool, see wordsOf
	planned  memo[planned]
	applied  memo[Files]
}

// Render renders a deployment without a cluster, with the capabilities that it has, or with made-up
// ones if it has none. The result is the same as that of an install, unless Irreproducible is set:
// then templates read data that only the cluster has, or that differs each time, such as the clock.
// A release that no cluster could store is an error, as is each failure that the sandbox reports.
// Equal deployments are rendered once.
func (c *Charts) Render(ctx context.Context, d target.Deployment) (_ release.Rendering, err error) {
	defer panics.Recover("rendering release "+d.Release, &err)
	key, ok := planKey(d)
	if !ok {
		return c.plan(ctx, d)
	}
	made, err := c.planned.get(ctx, key, func(ctx context.Context) (planned, error) {
		rendering, err := c.plan(ctx, d)
		return planned{rendering}, err
	})
	return made.Rendering, err
}

// plan renders a deployment. Hashes of objects and names reveal nothing about decrypted content. No
// other secret is read while planning.
func (c *Charts) plan(ctx context.Context, d target.Deployment) (release.Rendering, error) {
	rendering, err := c.Sandbox.Plan(ctx, d)
	if !d.Bundle.HasSecrets() {
		return rendering, err
	}
	if err != nil {
		return release.Rendering{}, hide(err)
	}
	manifest.HideContent(rendering.Objects, d.Digest)
	rendering.UnknownFields = nil // A key can be decrypted, too.
	rendering.Irreproducible = d.Mask(rendering.Irreproducible)
	rendering = c.withoutHiddenNames(d, rendering)
	rendering.HiddenTexts = c.nameSources(d, rendering.Chart).hiddenTexts(rendering.Documents)
	return rendering, nil
}

// Template renders a deployment for a cluster of the given Kubernetes version, such as "v1.36.0",
// without access to one. It returns YAML documents: the objects of the release, and its hooks.
// Neither contains custom resource definitions below crds/. It returns the errors of the sandbox.
func (c *Charts) Template(ctx context.Context, d target.Deployment, kubeVersion string) (objects, hooks string, err error) {
	objects, hooks, err = c.Sandbox.Template(ctx, d, kubeVersion)
	if err != nil && d.HasSecretContent() {
		err = hide(err)
	}
	return objects, hooks, err
}

// Describe reads the name and version of a deployment's chart.
func (c *Charts) Describe(d target.Deployment) (name, version string, err error) {
	loaded, _, err := c.loader.Load(d, nil)
	if err != nil {
		return "", "", err
	}
	return loaded.Name(), loaded.Metadata.Version, nil
}

// DescribeBundle is Describe for the options of the bundle itself.
func (c *Charts) DescribeBundle(b *bundle.Bundle) (name, version string, err error) {
	return c.Describe(target.Deployment{Bundle: b, Options: b.Definition.Options})
}
