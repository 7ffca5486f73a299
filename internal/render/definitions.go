package render

import (
	"fmt"
	"slices"

	"helm.sh/helm/v3/pkg/chart"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/diff"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/manifest"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/release"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/target"
)

// Definitions returns the custom resource definitions in files below crds/. Other objects in these
// files are left out: only Helm applies them.
func Definitions(files []chart.CRD) ([]*unstructured.Unstructured, error) {
	var found []*unstructured.Unstructured
	for _, file := range files {
		objects, err := manifest.ParseAll(file.File.Data)
		if err != nil {
			return nil, fmt.Errorf("reading %s: %w", file.Filename, err)
		}
		for _, object := range manifest.Flatten(objects) {
			if object.GetKind() == manifest.CRDKind {
				found = append(found, object)
			}
		}
	}
	return found, nil
}

// CRDHashes returns hashes of the files below crds/ of a chart and its subcharts.
func CRDHashes(c *chart.Chart) []string {
	var hashes []string
	for _, file := range c.CRDObjects() {
		hashes = append(hashes, release.ShortHash(file.File.Data))
	}
	return hashes
}

// Definitions returns the definitions that a deployment has below crds/. Only files whose hashes
// are in rendering.CRDs count, so that disabled subcharts are left out.
func (c *Charts) Definitions(d target.Deployment, rendering release.Rendering) ([]*unstructured.Unstructured, error) {
	files, err := c.crdFiles(d, rendering)
	if err != nil {
		return nil, err
	}
	return Definitions(files)
}

// CRDDocuments returns the objects in the files below crds/ of a deployment. Only files whose
// hashes are in rendering.CRDs count, so that disabled subcharts are left out.
func (c *Charts) CRDDocuments(d target.Deployment, rendering release.Rendering) ([]diff.Document, error) {
	files, err := c.crdFiles(d, rendering)
	if err != nil {
		return nil, err
	}
	return crdDocuments(d, files)
}

// crdFiles returns the files below crds/ whose hashes are in rendering.CRDs.
func (c *Charts) crdFiles(d target.Deployment, rendering release.Rendering) ([]chart.CRD, error) {
	if len(rendering.CRDs) == 0 {
		return nil, nil
	}
	loaded, _, err := c.loader.Load(d, nil)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(loaded.CRDObjects(), func(file chart.CRD) bool {
		return !slices.Contains(rendering.CRDs, release.ShortHash(file.File.Data))
	}), nil
}
