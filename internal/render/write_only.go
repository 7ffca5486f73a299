package render

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"helm.sh/helm/v3/pkg/chart/loader"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/bundle"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/target"
)

// checkWriteOnlyStyle refuses write-only files for a bundle that would not deploy them.
func checkWriteOnlyStyle(d target.Deployment, s Style) error {
	if !d.HasWriteOnlyFiles() {
		return nil
	}
	switch {
	case s.Helm:
		return writeOnlyError(d, errors.New("the bundle is a Helm chart, which deploys only its templates; pass the secrets in "+
			"values_wo, or the manifests in another bundle"))
	case s.Kustomize:
		return writeOnlyError(d, errors.New("the bundle is a kustomization, which lists its own files; pass the manifests in another bundle"))
	}
	return nil
}

// writeOnlyFiles returns the write-only files of a deployment for the chart of its manifests. files
// are those of the bundle.
func writeOnlyFiles(d target.Deployment, files []bundle.File) ([]*loader.BufferedFile, error) {
	if d.WriteOnly == nil {
		return nil, nil
	}
	var made []*loader.BufferedFile
	for _, file := range d.WriteOnly.Content.Reveal().Files {
		switch {
		case hasFile(files, file.Name) || hasFile(d.Bundle.Files, file.Name):
			return nil, writeOnlyError(d, fmt.Errorf("the bundle already contains the file %q", file.Name))
		case strings.HasPrefix(file.Name, templatesDir), strings.HasPrefix(file.Name, OverlaysDir),
			!isManifest(file.Name, files), file.Name == "Chart.yaml":
			return nil, writeOnlyError(d, fmt.Errorf("%q is not deployed: manifests end in .yaml, .yml or .json, are not called "+
				"fleet.yaml, and are not below %s, %s or a folder with a bundle or chart of its own",
				file.Name, templatesDir, OverlaysDir))
		}
		stream, err := rawManifest(file)
		if err != nil { // A parser's error can quote the content.
			return nil, writeOnlyError(d, fmt.Errorf("%q is not a manifest of Kubernetes objects", file.Name))
		}
		made = slices.Concat(made, quoted(file.Name, stream))
	}
	return made, nil
}

func writeOnlyError(d target.Deployment, err error) error {
	return &target.WriteOnlyError{Attribute: target.FilesAttribute, Bundle: d.Bundle.Name, Err: err}
}
