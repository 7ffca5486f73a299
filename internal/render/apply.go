package render

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"helm.sh/helm/v3/pkg/chart"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/diff"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/fleetyaml"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/manifest"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/target"
)

// Chart is a rendered chart, for Helm to install. Its objects were read and checked once. Helm gets
// text that was written from them, and renders nothing itself.
type Chart struct {
	// Bare contains what Helm itself takes from a chart: metadata, notes, and the files below crds/.
	Bare *chart.Chart
	// Recorded is the chart that the release record contains.
	Recorded *chart.Chart
	// Objects are the objects of the release in the order in which Helm creates them, and Manifest
	// the documents written from them. Hooks have their documents.
	Objects  []*unstructured.Unstructured
	Manifest string
	Hooks    []Hook
	// Written are the documents of the manifest, of the hooks and below crds/.
	Written []manifest.Written
	// HiddenTexts are the texts in objects that must not be printed, because the templates had secret
	// input and they are written in no file. HidesNames reports that parts of the identities of
	// objects are among them, and ReadsForeign that templates looked up an object that does not belong
	// to the release.
	HidesNames, ReadsForeign bool
	HiddenTexts              []string

	ordinary []Document
	crds     []chart.CRD
	mapper   meta.RESTMapper
}

// Chart renders the chart of a deployment for a revision of its release. Helm itself would run the
// templates in this process. mapper is used to find kinds of the cluster that have no namespace.
func (c *Charts) Chart(ctx context.Context, d target.Deployment, revision Revision, lookup Lookup, mapper meta.RESTMapper) (Chart, error) {
	watch := &lookupWatch{lookup: lookup, release: d.Namespace + "/" + d.Release}
	made, err := c.chart(ctx, d, revision, watch.look, mapper)
	if !d.HasSecretContent() && !d.ReadsSecrets() && !watch.found.Load() {
		return made, err
	}
	if err != nil {
		return Chart{}, hide(err)
	}
	documents, err := made.documentsOfTemplates(d)
	if err != nil {
		return Chart{}, hide(err)
	}
	known := c.nameSources(d, made.Recorded.Name())
	made.ReadsForeign, made.HiddenTexts = watch.foreign.Load(), known.hiddenTexts(documents)
	made.HidesNames = len(known.hiddenNames(objectsOf(documents))) > 0
	return made, nil
}

func (c *Charts) chart(ctx context.Context, d target.Deployment, revision Revision, lookup Lookup, mapper meta.RESTMapper) (Chart, error) {
	loaded, style, err := c.loader.Load(d, nil)
	if err != nil {
		return Chart{}, err
	}
	files, err := c.apply(ctx, d, revision, lookup)
	if err != nil {
		return Chart{}, err
	}
	if len(files.Chart) > 0 {
		if loaded, err = chartOf(d, files.Chart); err != nil {
			return Chart{}, d.MaskError(err)
		}
	}
	if size := files.parsed(); size > manifest.MaxSize {
		return Chart{}, &TooManyObjectsError{Bundle: d.Bundle.Name, Size: size}
	}
	recorded, documents, err := recordedChart(loaded, style, d, files, mapper)
	if err != nil {
		return Chart{}, err
	}
	made := Chart{Recorded: recorded, mapper: mapper}
	if err := made.write(d, documents); err != nil {
		return Chart{}, err
	}
	if err := made.readCRDs(d, files.CRDs); err != nil {
		return Chart{}, err
	}
	made.Bare = bareChart(loaded, files.Outputs, made.crds)
	return made, nil
}

// apply renders a deployment. If a plan in this process has found that every rendering has the same
// result, it is rendered once for all clusters with equal input. Other deployments, such as those
// with random passwords, are rendered for each cluster.
func (c *Charts) apply(ctx context.Context, d target.Deployment, revision Revision, lookup Lookup) (Files, error) {
	render := func(ctx context.Context) (Files, error) { return c.Sandbox.Apply(ctx, d, revision, lookup) }
	key, ok := planKey(d)
	if !ok {
		return render(ctx)
	}
	if known, ok := c.planned.known(key); !ok || known.RenderEach {
		return render(ctx)
	}
	return c.applied.get(ctx, applyKey(key, revision), render)
}

// recordedChart returns the chart for the release record, and the documents that it renders. If the
// objects were changed after the templates ran, one template quotes them all. Helm's own
// post-renderer cannot be used for such changes: Helm does not pass hooks to it, while Fleet changes
// hooks like all other objects (internal/helmdeployer/postrender.go).
func recordedChart(loaded *chart.Chart, style Style, d target.Deployment, files Files, mapper meta.RESTMapper) (*chart.Chart, []Document, error) {
	switch {
	case style.Helm && style.Kustomize || d.Options.Namespace != "":
		objects, err := manifest.ParseAll([]byte(files.Objects))
		if err != nil {
			return nil, nil, &ManifestError{Bundle: d.Bundle.Name, Err: err}
		}
		if objects, err = Confine(objects, d, mapper); err != nil {
			return nil, nil, err
		}
		stream, err := manifest.Join(objects)
		return ChangedChart(loaded, stream, files.CRDs), documentsOf(objects, templateOf(loaded, changedFile)), err
	case style.Kustomize:
		documents, err := Documents(d.Bundle.Name, map[string]string{templateOf(loaded, builtFile): files.Objects})
		return quotingChart(*loaded.Metadata, builtFile, files.Objects, nil), documents, err
	}
	documents, err := Documents(d.Bundle.Name, files.Outputs)
	if err != nil {
		return nil, nil, err
	}
	return loaded, documents, files.process(loaded)
}

// write writes the documents that the chart renders.
func (c *Chart) write(d target.Deployment, documents []Document) error {
	objects := make([]*unstructured.Unstructured, len(documents))
	for i, document := range documents {
		objects[i] = document.Object
	}
	if err := manifest.RefuseRecords(objects, d.Namespace); err != nil {
		return err
	}
	ordinary, hooks, err := classify(documents)
	if err != nil {
		return &ManifestError{Bundle: d.Bundle.Name, Err: err}
	}
	c.ordinary, c.Hooks = ordinary, hooks
	if err := c.writeManifest(d); err != nil {
		return err
	}
	return c.writeHooks()
}

// writeManifest writes the objects of the release, each after the name of its template.
func (c *Chart) writeManifest(d target.Deployment) error {
	var stream strings.Builder
	for _, document := range c.ordinary {
		objects := manifest.Flatten([]*unstructured.Unstructured{document.Object})
		if !d.Options.DeleteCRDResources {
			manifest.KeepCRDs(objects)
		}
		written, err := manifest.WriteManifest(objects)
		if err != nil {
			return err
		}
		c.Objects, c.Written = append(c.Objects, objects...), append(c.Written, written...)
		for _, one := range written {
			fmt.Fprintf(&stream, "---\n# Source: %s\n%s", printable(document.Source), one.Text)
		}
	}
	c.Manifest = stream.String()
	if len(c.Manifest) > manifest.MaxSize { // Aliases of YAML are written out.
		return &TooManyObjectsError{Bundle: d.Bundle.Name, Size: len(c.Manifest)}
	}
	return nil
}

func (c *Chart) writeHooks() error {
	for _, hook := range c.Hooks {
		written, err := manifest.Write(hook.Objects)
		if err != nil {
			return err
		}
		hook.Manifest = manifest.Stream(written)
		c.Written = append(c.Written, written...)
	}
	return nil
}

// readCRDs reads the files below crds/, which contain any objects, and writes them again.
func (c *Chart) readCRDs(d target.Deployment, files [][]byte) error {
	for i, file := range files {
		name := fmt.Sprintf("crds/%06d.yaml", i)
		objects, err := readCRD(name, file, d)
		if err != nil {
			return err
		}
		written, err := manifest.Write(objects)
		if err != nil {
			return err
		}
		c.Written = append(c.Written, written...)
		data := []byte(manifest.Stream(written))
		c.crds = append(c.crds, chart.CRD{Name: name, Filename: name, File: &chart.File{Name: name, Data: data}})
	}
	return nil
}

// Documents returns the objects that Helm is going to write, with hooks and the objects below
// crds/. Kinds without a namespace are those that the cluster reports.
func (c *Chart) Documents(d target.Deployment) ([]diff.Document, error) {
	var all []diff.Document
	if d.HelmOptions().CRDs != fleetyaml.CRDsSkip {
		crds, err := crdDocuments(d, c.crds)
		if err != nil {
			return nil, err
		}
		all = crds
	}
	made, err := c.documentsOfTemplates(d)
	if err != nil {
		return nil, err
	}
	return withScopes(append(all, made...), c.mapper), nil
}

// documentsOfTemplates returns the objects without those below crds/.
func (c *Chart) documentsOfTemplates(d target.Deployment) (all []diff.Document, err error) {
	for _, document := range c.ordinary {
		found, err := manifest.Documents([]*unstructured.Unstructured{document.Object}, nil, d.Namespace)
		if err != nil {
			return nil, err
		}
		all = append(all, placed(found, document.Place)...)
	}
	for _, hook := range c.Hooks {
		found, err := manifest.Documents(nil, hook.Objects, d.Namespace)
		if err != nil {
			return nil, err
		}
		all = append(all, placed(found, hook.Place)...)
	}
	return all, nil
}

func placed(documents []diff.Document, place string) []diff.Document {
	for i := range documents {
		documents[i].Place = place
	}
	return documents
}

// withScopes removes the namespace from objects of kinds that have none on the cluster.
func withScopes(documents []diff.Document, mapper meta.RESTMapper) []diff.Document {
	roots := map[schema.GroupKind]bool{}
	for i := range documents {
		kind := schema.GroupKind{Group: documents[i].Group, Kind: documents[i].Kind}
		root, known := roots[kind]
		if !known {
			root = isRoot(mapper, kind)
			roots[kind] = root
		}
		if root {
			documents[i].Namespace = ""
		}
	}
	return documents
}

// size returns how many bytes a memo keeps.
func (f Files) size() int {
	size := f.parsed()
	for _, file := range f.Chart {
		size += len(file.Data)
	}
	return size
}

// parsed returns how many bytes are parsed as YAML.
func (f Files) parsed() int {
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
