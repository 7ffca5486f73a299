package kube

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	jsonpatch "github.com/evanphx/json-patch/v5"
	"github.com/gobwas/glob"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/fleetyaml"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/release"
)

// CheckRules fails if an entry of diff.comparePatches cannot be applied. Fleet silently leaves out such a
// rule (internal/cmd/agent/deployer/desiredset/diff.go), and the object then counts as modified.
func CheckRules(r release.Rules) error {
	_, err := compileRules(r)
	return err
}

// rules are release.Rules, compiled.
type rules struct {
	patches []comparePatch
	ignore  []map[string]string
}

// comparePatch is one entry of diff.comparePatches. Its pointers apply to all objects of a kind, in
// any version, that name and namespace do not exclude. Its operations apply to exactly one object.
// An object that it ignores does not count as missing.
type comparePatch struct {
	kind            schema.GroupVersionKind
	group, kindGlob pattern
	namespace, name string
	pointers        jsonpatch.Patch
	operations      jsonpatch.Patch
	ignores         bool
	names           *regexp.Regexp
}

// pattern is a glob of group or kind. Fleet matches with the same version of the library.
type pattern struct{ glob glob.Glob }

func compilePattern(text string) (pattern, error) {
	compiled, err := glob.Compile(text)
	return pattern{compiled}, err
}

// matches is false where the library panics: it does so for some texts and patterns such as
// "Deployment{".
func (p pattern) matches(text string) (matched bool) {
	defer func() {
		if recover() != nil {
			matched = false
		}
	}()
	return p.glob.Match(text)
}

// ignoreOperation is an operation of Fleet that JSON patch does not have.
const ignoreOperation = "ignore"

// Limits of diff.comparePatches. Every pointer and operation takes time for every object that it
// applies to, and a repository can contain any number of them.
const (
	maxOperations = 1000
	maxPattern    = 256 // characters; names in Kubernetes have 253
	// maxGrowth is how much longer operations may make an object, in bytes.
	maxGrowth = 1 << 20
)

func compileRules(r release.Rules) (rules, error) {
	compiled := rules{ignore: r.Ignore}
	operations, growth := 0, 0
	for i, patch := range r.ComparePatches {
		operations += len(patch.JSONPointers) + len(patch.Operations)
		for _, operation := range patch.Operations {
			growth += len(operation.Path) + len(operation.Value)
		}
		if operations > maxOperations || growth > maxGrowth {
			return rules{}, fmt.Errorf("compare patch %d of diff: up to this entry there are more than %d pointers and operations, "+
				"or more than %d KiB of them", i+1, maxOperations, maxGrowth>>10)
		}
		made, err := compilePatch(patch)
		if err != nil {
			return rules{}, fmt.Errorf("compare patch %d of diff: %w", i+1, err)
		}
		compiled.patches = append(compiled.patches, made)
	}
	return compiled, nil
}

func compilePatch(p fleetyaml.ComparePatch) (comparePatch, error) {
	version, err := schema.ParseGroupVersion(p.APIVersion)
	if err != nil {
		return comparePatch{}, fmt.Errorf("apiVersion: %w", err)
	}
	if max(len(p.APIVersion), len(p.Kind), len(p.Name)) > maxPattern {
		return comparePatch{}, fmt.Errorf("apiVersion, kind or name has more than %d characters", maxPattern)
	}
	made := comparePatch{kind: version.WithKind(p.Kind), namespace: p.Namespace, name: p.Name}
	if made.group, err = compilePattern(version.Group); err != nil {
		return comparePatch{}, fmt.Errorf("apiVersion: %w", err)
	}
	if made.kindGlob, err = compilePattern(p.Kind); err != nil {
		return comparePatch{}, fmt.Errorf("kind: %w", err)
	}
	for _, pointer := range p.JSONPointers {
		if !strings.HasPrefix(pointer, "/") {
			return comparePatch{}, fmt.Errorf("the JSON pointer %q does not begin with a slash", pointer)
		}
		removal, err := compileOperation(fleetyaml.Operation{Op: "remove", Path: pointer})
		if err != nil {
			return comparePatch{}, err
		}
		made.pointers = append(made.pointers, removal...)
	}
	for _, operation := range p.Operations {
		if operation.Op == ignoreOperation {
			made.ignores = true
			continue
		}
		compiled, err := compileOperation(operation)
		if err != nil {
			return comparePatch{}, err
		}
		made.operations = append(made.operations, compiled...)
	}
	if made.ignores {
		if made.names, err = regexp.Compile(p.Name); err != nil {
			return comparePatch{}, fmt.Errorf("name: %w", err)
		}
	}
	return made, nil
}

// compileOperation makes a patch of one operation. The value of the operation is a string, as in
// Fleet.
func compileOperation(o fleetyaml.Operation) (jsonpatch.Patch, error) {
	known := []string{"add", "remove", "replace", "test"}
	if !slices.Contains(known, o.Op) {
		return nil, fmt.Errorf("the operation %q is not one of %s and %s", o.Op, strings.Join(known, ", "), ignoreOperation)
	}
	if !strings.HasPrefix(o.Path, "/") {
		return nil, fmt.Errorf("the path %q of operation %s does not begin with a slash", o.Path, o.Op)
	}
	if o.Op != "remove" && o.Value == "" {
		return nil, fmt.Errorf("operation %s %s has no value", o.Op, o.Path)
	}
	raw, err := json.Marshal([]fleetyaml.Operation{o})
	if err != nil {
		return nil, fmt.Errorf("writing operation %s %s: %w", o.Op, o.Path, err)
	}
	patch, err := jsonpatch.DecodePatch(raw)
	if err != nil {
		return nil, fmt.Errorf("operation %s %s: %w", o.Op, o.Path, err)
	}
	return patch, nil
}

// ignoresMissing reports whether an object may be missing.
func (r rules) ignoresMissing(object *unstructured.Unstructured) bool {
	return slices.ContainsFunc(r.patches, func(p comparePatch) bool {
		return p.ignores && p.kind == object.GroupVersionKind() && p.namespace == object.GetNamespace() &&
			(p.name == "" || p.name == object.GetName() || p.names.MatchString(object.GetName()))
	})
}

// normalize returns an object without the fields that are not compared. Both sides of a comparison
// are normalized.
func (r rules) normalize(object *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	var pointers, operations jsonpatch.Patch
	for _, patch := range r.patches {
		if patch.covers(object) {
			pointers = append(pointers, patch.pointers...)
		}
		if patch.kind == object.GroupVersionKind() && patch.namespace == object.GetNamespace() && patch.name == object.GetName() {
			operations = append(operations, patch.operations...)
		}
	}
	if len(pointers)+len(operations) == 0 {
		return object, nil
	}
	content, err := object.MarshalJSON()
	if err != nil {
		return nil, fmt.Errorf("writing %s %s: %w", object.GetKind(), object.GetName(), err)
	}
	content = removeAll(content, pointers)
	// If one operation fails, none is applied, as in Fleet
	// (internal/cmd/agent/deployer/normalizers/jsonpatch.go).
	if changed, err := operations.Apply(content); err == nil {
		content = changed
	}
	normalized := &unstructured.Unstructured{}
	if err := normalized.UnmarshalJSON(content); err != nil {
		return nil, fmt.Errorf("reading %s %s after diff.comparePatches: %w", object.GetKind(), object.GetName(), err)
	}
	return normalized, nil
}

// removeAll removes the fields at the pointers. A missing field is no error. Removing all fields at
// once is much faster than one by one. It fails only where a pointer leads through a text, or
// through a list without such an item.
func removeAll(content []byte, pointers jsonpatch.Patch) []byte {
	options := jsonpatch.NewApplyOptions()
	options.AllowMissingPathOnRemove = true
	if without, err := pointers.ApplyWithOptions(content, options); err == nil {
		return without
	}
	for i := range pointers {
		if without, err := pointers[i : i+1].Apply(content); err == nil {
			content = without
		}
	}
	return content
}

// covers reports whether the pointers of a patch apply to an object.
func (c comparePatch) covers(object *unstructured.Unstructured) bool {
	kind := object.GroupVersionKind()
	return c.group.matches(kind.Group) && c.kindGlob.matches(kind.Kind) &&
		(c.namespace == "" || c.namespace == object.GetNamespace()) && (c.name == "" || c.name == object.GetName())
}

// withoutIgnored returns an object without the conditions that do not count for its readiness:
// those that have all keys and values of an entry.
func withoutIgnored(object *unstructured.Unstructured, ignore []map[string]string) *unstructured.Unstructured {
	if len(ignore) == 0 || object == nil {
		return object
	}
	conditions, found, err := unstructured.NestedSlice(object.Object, "status", "conditions")
	if err != nil || !found {
		return object
	}
	counted := slices.DeleteFunc(conditions, func(item any) bool {
		condition, ok := item.(map[string]any)
		return ok && slices.ContainsFunc(ignore, func(entry map[string]string) bool { return containsAll(condition, entry) })
	})
	changed := object.DeepCopy()
	if err := unstructured.SetNestedSlice(changed.Object, counted, "status", "conditions"); err != nil {
		return object
	}
	return changed
}

func containsAll(condition map[string]any, entry map[string]string) bool {
	for key, value := range entry {
		text, ok := condition[key].(string)
		if !ok || text != value {
			return false
		}
	}
	return true
}
