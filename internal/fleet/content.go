package fleet

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"fmt"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/bundle"
)

// resource is one file of a Bundle.
type resource struct {
	Name     string `json:"name"`
	Content  string `json:"content,omitempty"`
	Encoding string `json:"encoding,omitempty"`
}

const (
	// compressed is the encoding of a file that is no text, or that is shorter when it is
	// compressed.
	compressed = "base64+gz"
	// minCompressed is the minimum length of a text for compression.
	minCompressed = 1024
)

// A removal deploys a chart without objects in place of a bundle. Fleet builds a kustomization
// beside a chart, so the removal has an empty kustomization, too. A kustomization without any field
// is an error in kustomize.
const (
	emptyChart         = "apiVersion: v2\nname: gone\nversion: 0.0.0\n"
	emptyKustomization = "generatorOptions:\n  disableNameSuffixHash: true\n"
)

// resourcesOf returns the files of a bundle, and the files of its removal. The files of the removal
// are in the Bundle from the start: adding them later would change the deployment on all clusters.
func resourcesOf(b *bundle.Bundle) []resource {
	resources := make([]resource, 0, len(b.Files)+2) // those of the removal
	for _, file := range b.Files {
		resources = append(resources, resourceOf(file))
	}
	gone := emptyFolder(b.Files)
	resources = append(resources, resource{Name: path.Join(gone, "Chart.yaml"), Content: emptyChart})
	if hasKustomization(b.Files) {
		resources = append(resources, resource{Name: path.Join(gone, "kustomization.yaml"), Content: emptyKustomization})
	}
	return resources
}

func resourceOf(file bundle.File) resource {
	isText := utf8.Valid(file.Content)
	if isText && len(file.Content) < minCompressed {
		return resource{Name: file.Name, Content: string(file.Content)}
	}
	short := base64.StdEncoding.EncodeToString(zip(file.Content))
	if isText && len(short) >= len(file.Content) {
		return resource{Name: file.Name, Content: string(file.Content)}
	}
	return resource{Name: file.Name, Content: short, Encoding: compressed}
}

func zip(data []byte) []byte {
	var zipped bytes.Buffer
	writer := gzip.NewWriter(&zipped) // Without a time, so that equal files stay equal.
	_, _ = writer.Write(data)         // A buffer does not fail.
	_ = writer.Close()
	return zipped.Bytes()
}

// emptyFolder returns the folder of the empty chart: a folder that the bundle does not have.
func emptyFolder(files []bundle.File) string {
	for i := 0; ; i++ {
		folder := "gone"
		if i > 0 {
			folder = fmt.Sprintf("gone-%d", i)
		}
		if !slices.ContainsFunc(files, func(file bundle.File) bool { return file.Name == folder || strings.HasPrefix(file.Name, folder+"/") }) {
			return folder
		}
	}
}

// findEmptyFolder finds the folder of the empty chart in the files of a Bundle: the last files belong
// to it. isKustomized reports whether there is an empty kustomization, too.
func findEmptyFolder(resources []resource) (folder string, isKustomized, found bool) {
	for _, file := range slices.Backward(resources) {
		switch {
		case path.Base(file.Name) == "kustomization.yaml" && file.Content == emptyKustomization:
			isKustomized = true
		case path.Base(file.Name) == "Chart.yaml" && file.Content == emptyChart:
			return path.Dir(file.Name), isKustomized, true
		default:
			return "", false, false
		}
	}
	return "", false, false
}

// hasKustomization reports whether Fleet runs kustomize for a bundle
// (Fleet: internal/helmdeployer/postrender.go).
func hasKustomization(files []bundle.File) bool {
	return slices.ContainsFunc(files, func(file bundle.File) bool {
		return slices.ContainsFunc(bundle.KustomizationFiles(), func(name string) bool { return strings.HasSuffix(file.Name, name) })
	})
}
