package render

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"

	"helm.sh/helm/v3/pkg/chart"
	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/manifest"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/target"
)

// Chart is a rendered chart, for Helm to install.
type Chart struct {
	// Rendered contains no templates of the chart, only quotes of their outputs.
	Rendered *chart.Chart
	// Recorded is the chart that the release record contains.
	Recorded *chart.Chart

	// outputs are the outputs of the templates. If the objects were changed, there is one output.
	outputs map[string]string
	mapper  meta.RESTMapper
}

// Chart renders the chart of a deployment for a revision of its release. Helm itself would run the
// templates in this process. mapper is used to find kinds of the cluster that have no namespace.
func (c *Charts) Chart(ctx context.Context, d target.Deployment, revision Revision, lookup Lookup, mapper meta.RESTMapper) (Chart, error) {
	loaded, style, err := c.loader.Load(d)
	if err != nil {
		return Chart{}, err
	}
	files, err := c.apply(ctx, d, revision, lookup)
	if err != nil {
		return Chart{}, err
	}
	if size := files.size(); size > manifest.MaxSize {
		return Chart{}, &TooManyObjectsError{Bundle: d.Bundle.Name, Size: size}
	}
	made := Chart{mapper: mapper, outputs: files.Outputs}
	switch {
	case style.KustomizesChart() || d.Options.Namespace != "":
		made, err = confinedChart(loaded, d, files, mapper)
	case style.Kustomize:
		made.Rendered, err = BuiltChart(loaded, []byte(files.Objects))
		made.Recorded, made.outputs = made.Rendered, map[string]string{"": files.Objects}
	default:
		made.Rendered = quoteChart(loaded, files.Outputs, files.CRDs)
		made.Recorded, err = loaded, files.process(loaded)
	}
	if err != nil {
		return Chart{}, err
	}
	return made, CheckCRDs(made.Rendered, d)
}

// apply renders a deployment. If a plan in this process has found that every rendering has the same
// result, it is rendered once for all clusters with equal input. Other deployments, such as those
// with random passwords, are rendered for each cluster.
func (c *Charts) apply(ctx context.Context, d target.Deployment, revision Revision, lookup Lookup) (Files, error) {
	render := func() (Files, error) { return c.Sandbox.Apply(ctx, d, revision, lookup) }
	key, ok := planKey(d)
	if !ok {
		return render()
	}
	if known, ok := c.planned.known(key); !ok || known.RenderEach {
		return render()
	}
	return c.applied.get(ctx, applyKey(key, revision), render)
}

// confinedChart returns a chart whose objects were changed after its templates ran. Helm's own
// post-renderer cannot be used: Helm does not pass hooks to it, while Fleet changes hooks like all
// other objects (internal/helmdeployer/postrender.go).
func confinedChart(loaded *chart.Chart, d target.Deployment, files Files, mapper meta.RESTMapper) (Chart, error) {
	objects, err := manifest.Parse([]byte(files.Objects))
	if err != nil {
		return Chart{}, &ManifestError{Bundle: d.Bundle.Name, Err: err}
	}
	if objects, err = Confine(objects, d, mapper); err != nil {
		return Chart{}, err
	}
	changed, err := ChangedChart(loaded, objects, files.CRDs)
	if err != nil {
		return Chart{}, err
	}
	stream, err := manifest.Join(objects)
	return Chart{Rendered: changed, Recorded: changed, outputs: map[string]string{"": stream}, mapper: mapper}, err
}

// size returns how many bytes are parsed as YAML.
func (f Files) size() int {
	size := len(f.Objects)
	for _, output := range f.Outputs {
		size += len(output)
	}
	for _, crd := range f.CRDs {
		size += len(crd)
	}
	return size
}

// process changes a chart in the same way as the sandbox did.
func (f Files) process(c *chart.Chart) error {
	if len(f.Metadata) == 0 {
		return nil
	}
	var metadata chart.Metadata
	if err := json.Unmarshal(f.Metadata, &metadata); err != nil {
		return fmt.Errorf("reading the metadata of chart %s: %w", c.Name(), err)
	}
	numbers := json.NewDecoder(bytes.NewReader(f.Values))
	numbers.UseNumber() // They are written as they are.
	var values map[string]any
	if err := numbers.Decode(&values); err != nil {
		return fmt.Errorf("reading the values of chart %s: %w", c.Name(), err)
	}
	c.Metadata, c.Values = &metadata, values
	return nil
}
