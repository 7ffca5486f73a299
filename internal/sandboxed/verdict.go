package sandboxed

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"helm.sh/helm/v3/pkg/chart"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/manifest"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/render"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/target"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/wellknown"
)

// varying returns the keys of the objects whose content can vary because templates use functions
// whose results vary. ok is false if no object is known, because the names can vary as well.
// dependsOnRevision is true if templates read which revision they make.
//
// The templates are run several times with functions of seeds, and all their steps are compared,
// see comparison.
func (r *Renderer) varying(d target.Deployment, first rendered, dependsOnRevision bool) (keys map[string]bool, ok bool) {
	all, err := r.seeded(d, dependsOnRevision)
	if err != nil {
		return nil, false
	}
	contents := make([]map[string]string, 0, len(all))
	for _, one := range all {
		content, err := contentsOf(one.objects, d.Namespace)
		if err != nil || !slices.Equal(hookEvents(one.hooks), hookEvents(first.hooks)) {
			return nil, false
		}
		contents = append(contents, content)
	}
	helms, err := contentsOf(first.objects, d.Namespace)
	if err != nil {
		return nil, false
	}
	keys = map[string]bool{}
	for key := range helms {
		if slices.ContainsFunc(contents, func(content map[string]string) bool { return content[key] != contents[0][key] }) {
			keys[key] = true
		}
	}
	for _, content := range contents {
		for key := range content {
			if helms[key] == "" || contents[0][key] == "" {
				return nil, false
			}
		}
		if len(content) != len(helms) {
			return nil, false
		}
	}
	// The other objects have to be the same as in Helm's rendering.
	for key, content := range helms {
		if !keys[key] && content != contents[0][key] {
			return nil, false
		}
	}
	return keys, true
}

// unsoundError reports that the renderings of seeds prove nothing about other renderings.
type unsoundError struct{ file string }

func (e *unsoundError) Error() string {
	return fmt.Sprintf("%s can do other things than in the renderings that are compared", e.file)
}

// seeded renders a deployment once for each seed.
func (r *Renderer) seeded(d target.Deployment, dependsOnRevision bool) ([]rendered, error) {
	style := render.Style{}
	tracers := make([]*tracer, seededRenderings)
	files := make([][]templateContext, seededRenderings)
	places := renderContexts(d)
	sums := newSummarizer()
	for i := range tracers {
		loaded, made, err := r.load(d)
		if err != nil {
			return nil, err
		}
		if style = made; style.Kustomize {
			return nil, &unsoundError{file: "a kustomization"} // A kustomization can copy parts of objects.
		}
		place := places[1]
		if dependsOnRevision {
			const apart = 16
			place = places[min(i, 1)]
			place.Revision += apart * max(i-1, 0)
		}
		values, err := renderValues(d, loaded, place)
		if err != nil {
			return nil, err
		}
		t := newSeeded(i, sums, candidateKeys(loaded, values))
		t.observer.live = func(field string) {
			if field == capabilitiesField && d.Capabilities == nil || field != capabilitiesField && !dependsOnRevision {
				t.observer.failed = true
			}
		}
		tracers[i] = t
		if files[i], err = t.prepare(loaded, values, place); err != nil {
			return nil, err
		}
	}
	if err := compareFiles(tracers, files); err != nil {
		return nil, err
	}
	all := make([]rendered, seededRenderings)
	for i, t := range tracers {
		loaded, _, err := r.load(d)
		if err != nil {
			return nil, err
		}
		if all[i], err = r.assemble(d, style, loaded, t.files); err != nil {
			return nil, err
		}
		if all[i], err = applied(d, all[i]); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// newSeeded returns a tracer with one seed.
func newSeeded(number int, sums *summarizer, keys []string) *tracer {
	t := &tracer{}
	t.observer = &observer{summarizer: sums, templates: map[string]*source{}, aside: func() bool { return t.aside }}
	t.seed = &seed{number: number, keys: keys, unsupported: func() { t.observer.failed = t.observer.failed || !t.aside }}
	return t
}

// compareFiles runs the files of all renderings one by one, so that only the events of one file are
// in memory.
func compareFiles(tracers []*tracer, files [][]templateContext) error {
	for i, file := range files[0] {
		events := make([][]*event, len(tracers))
		for j, t := range tracers {
			if len(files[j]) != len(files[0]) {
				return &unsoundError{file: file.name}
			}
			root := t.observer.start()
			if err := t.run(files[j][i]); err != nil {
				return err
			}
			if t.observer.failed || t.mutated || len(t.reached) > 0 || len(t.observer.open) != 1 {
				return &unsoundError{file: file.name}
			}
			events[j] = root.inner
		}
		if !isNotes(file.name) && !(comparison{}).isSound(events...) {
			return &unsoundError{file: file.name}
		}
	}
	return nil
}

// contentsOf returns the contents of objects by key. Objects with equal keys are concatenated.
func contentsOf(objects []*unstructured.Unstructured, namespace string) (map[string]string, error) {
	contents := map[string]string{}
	for _, object := range manifest.Flatten(objects) {
		content, err := json.Marshal(object.Object)
		if err != nil {
			return nil, fmt.Errorf("writing %s %s: %w", object.GetKind(), object.GetName(), err)
		}
		contents[manifest.Identify(object, namespace).Key()] += string(content)
	}
	return contents, nil
}

// hookEvents returns the events of hooks, sorted.
func hookEvents(hooks []*unstructured.Unstructured) []string {
	events := make([]string, len(hooks))
	for i, hook := range hooks {
		events[i] = manifest.Annotations(hook)[wellknown.Hook]
	}
	slices.Sort(events)
	return events
}

var keyOfData = regexp.MustCompile(`^[-._a-zA-Z0-9]+$`)

// Limits for the objects that lookups find: bytes of a key, and number of keys.
const (
	maxKeyOfData     = 63
	maxCandidateKeys = 2000
)

// candidateKeys returns the keys that templates could read from an object that a lookup finds:
// constants in templates, and texts among the values. If a key is missing here, the only effect is
// that objects are unknown.
func candidateKeys(c *chart.Chart, values map[string]any) []string {
	found := keySet{}
	if !found.addTemplates(c) {
		return nil
	}
	if set, ok := values["Values"].(interface{ AsMap() map[string]any }); ok {
		found.addValues(set.AsMap())
	}
	return slices.Sorted(maps.Keys(found))
}

// keySet is a set of keys of data in objects.
type keySet map[string]bool

func (k keySet) add(text string) {
	if len(k) < maxCandidateKeys && len(text) <= maxKeyOfData && keyOfData.MatchString(text) {
		k[text] = true
	}
}

// addTemplates adds the constants of templates, and reports whether one of them has a lookup.
func (k keySet) addTemplates(c *chart.Chart) (hasLookup bool) {
	for _, file := range c.Templates {
		text := string(file.Data)
		if !strings.Contains(text, "lookup") && !strings.Contains(text, "ecret") {
			continue
		}
		hasLookup = hasLookup || strings.Contains(text, "lookup")
		for _, word := range words.FindAllString(text, -1) {
			k.add(strings.Trim(word, `"'.`+"`"))
		}
	}
	for _, child := range c.Dependencies() {
		hasLookup = k.addTemplates(child) || hasLookup
	}
	return hasLookup
}

func (k keySet) addValues(value any) {
	switch value := value.(type) {
	case string:
		k.add(value)
	case []any:
		for _, item := range value {
			k.addValues(item)
		}
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(value)) {
			k.addValues(value[key])
		}
	}
}

// words matches constants and fields in templates.
var words = regexp.MustCompile("[\"'`][-._a-zA-Z0-9]+[\"'`]|\\.[a-zA-Z_][a-zA-Z0-9_]*")
