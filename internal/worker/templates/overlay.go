package templates

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strings"

	jsonpatch "github.com/evanphx/json-patch/v5"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/yaml"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/bundle"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/render"
)

const (
	patchSuffix = "_patch"
	// maxPatched is the limit in bytes for the result of a patch, and for what the patch copies.
	maxPatched = 32 << 20
)

// overlay applies overlays/NAME of the bundle to its files, for each name in order. A file replaces
// or adds the file of the same path; NAME_patch.yaml changes NAME.yaml. The overlays themselves are
// not manifests and are left out (Fleet: internal/helmdeployer/render/patch/patch.go). Files of one
// overlay are applied in the order of their names, so x.yaml is replaced before x_patch.yaml
// changes it. A name without a folder has no effect, as in Fleet.
func overlay(files []bundle.File, names []string) ([]bundle.File, error) {
	content := make(map[string][]byte, len(files))
	for _, file := range files {
		if !strings.HasPrefix(file.Name, render.OverlaysDir) {
			content[file.Name] = file.Content
		}
	}
	for _, name := range names {
		prefix := render.OverlaysDir + name + "/"
		for _, file := range files {
			relative, ok := strings.CutPrefix(file.Name, prefix)
			if !ok {
				continue
			}
			base, isPatch := patched(relative)
			if !isPatch {
				content[relative] = file.Content
				continue
			}
			original, ok := content[base]
			if !ok {
				return nil, fmt.Errorf("%s changes %s, which the bundle does not contain", file.Name, base)
			}
			changed, err := patch(original, file.Content)
			if err != nil {
				return nil, fmt.Errorf("applying %s to %s: %w", file.Name, base, err)
			}
			content[base] = changed
		}
	}
	laid := make([]bundle.File, 0, len(content))
	for name, data := range content {
		laid = append(laid, bundle.File{Name: name, Content: data})
	}
	slices.SortFunc(laid, func(a, b bundle.File) int { return strings.Compare(a.Name, b.Name) })
	return laid, nil
}

// patched turns "dir/x_patch.yaml" into "dir/x.yaml".
func patched(name string) (string, bool) {
	ext := path.Ext(name)
	base, ok := strings.CutSuffix(strings.TrimSuffix(name, ext), patchSuffix)
	return base + ext, ok
}

// patch applies a JSON patch (a list), or a strategic merge patch for built-in
// kinds and a JSON merge patch for all others.
func patch(original, change []byte) ([]byte, error) { return patchWithin(original, change, maxPatched) }

// patchWithin is patch with a limit. It fails if the result is larger than most bytes, or if the
// patch copies more than most bytes.
func patchWithin(original, change []byte, most int) ([]byte, error) {
	base, err := yaml.YAMLToJSON(original)
	if err != nil {
		return nil, fmt.Errorf("reading the original: %w", err)
	}
	diff, err := yaml.YAMLToJSON(change)
	if err != nil {
		return nil, fmt.Errorf("reading the patch: %w", err)
	}
	changed, err := applyPatch(base, diff, most)
	if err != nil {
		return nil, err
	}
	if len(changed) > most {
		return nil, fmt.Errorf("the result is larger than %d KiB", most>>10)
	}
	return yaml.JSONToYAML(changed)
}

func applyPatch(base, diff []byte, most int) ([]byte, error) {
	if bytes.HasPrefix(bytes.TrimSpace(diff), []byte("[")) {
		operations, err := jsonpatch.DecodePatch(diff)
		if err != nil {
			return nil, fmt.Errorf("reading the JSON patch: %w", err)
		}
		options := jsonpatch.NewApplyOptions()
		options.AccumulatedCopySizeLimit = int64(most) // Each line that copies the whole object into itself doubles its size.
		return operations.ApplyWithOptions(base, options)
	}
	var object unstructured.Unstructured
	if err := json.Unmarshal(base, &object.Object); err != nil {
		return nil, fmt.Errorf("reading the original: %w", err)
	}
	known, err := scheme.Scheme.New(object.GroupVersionKind())
	if err != nil {
		// A kind without Go type has no merge strategy.
		return jsonpatch.MergePatch(base, diff)
	}
	return strategicpatch.StrategicMergePatch(base, diff, known)
}
