package templates

import (
	"context"
	"encoding/json"
	"fmt"

	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chart/loader"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/fleetyaml"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/manifest"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/render"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/target"
)

// Apply renders a deployment for a revision of its release, see render.Sandbox.
func (r *Renderer) Apply(ctx context.Context, d target.Deployment, revision render.Revision, lookup render.Lookup) (render.Files, error) {
	loaded, style, err := r.load(d)
	if err != nil {
		return render.Files{}, err
	}
	hasDependencies := len(loaded.Metadata.Dependencies) > 0
	outputs, err := runTemplates(d, loaded, Environment{
		Capabilities: render.Capabilities(revision.Capabilities), Revision: revision.Number, Upgrade: revision.Upgrade,
		Lookup: func(apiVersion, kind, namespace, name string) (map[string]any, error) {
			return lookup(ctx, apiVersion, kind, namespace, name)
		},
	})
	if err != nil {
		return render.Files{}, err
	}
	var files render.Files
	if !revision.Upgrade || d.HelmOptions().CRDs == fleetyaml.CRDsCreateReplace {
		files.CRDs = crdsOf(loaded)
	}
	if style.Kustomize || d.Options.Namespace != "" {
		files.Objects, err = r.changed(d, style, outputs)
		return files, err
	}
	files.Outputs = outputs
	if yaml := d.Options.YAML; yaml != nil && len(yaml.Overlays) > 0 && !style.Helm {
		files.Chart = filesOf(loaded)
	}
	if hasDependencies {
		err = describe(&files, loaded)
	}
	return files, err
}

// filesOf returns the files that a chart was read from.
func filesOf(c *chart.Chart) []*loader.BufferedFile {
	files := make([]*loader.BufferedFile, len(c.Raw))
	for i, file := range c.Raw {
		files[i] = &loader.BufferedFile{Name: file.Name, Data: file.Data}
	}
	return files
}

// changed returns the objects of a deployment after its kustomization.
func (r *Renderer) changed(d target.Deployment, style render.Style, outputs map[string]string) (string, error) {
	objects, unique, err := renderedObjects(d, outputs)
	if err != nil {
		return "", err
	}
	if err := unique.check(d); err != nil {
		return "", err
	}
	if style.Kustomize && !style.Helm {
		built, err := r.kustomized(d, style, nil)
		return string(built), err
	}
	if style.Kustomize {
		if objects, err = r.kustomizedObjects(d, style, objects); err != nil {
			return "", err
		}
	}
	return manifest.Join(objects)
}

// describe adds the metadata and values of a chart after its dependencies were processed.
func describe(f *render.Files, c *chart.Chart) (err error) {
	if f.Metadata, err = json.Marshal(c.Metadata); err != nil {
		return fmt.Errorf("writing the metadata of chart %s: %w", c.Name(), err)
	}
	if f.Values, err = json.Marshal(c.Values); err != nil {
		return fmt.Errorf("writing the values of chart %s: %w", c.Name(), err)
	}
	return nil
}
