package target

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"
	"text/template"

	"sigs.k8s.io/yaml"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/fleetyaml"
)

const (
	leftDelim, rightDelim = "${", "}"
	// labelReference is what a value begins with that stands for a label.
	labelReference = "global.fleet.clusterLabels."
	// maxDepth is how many maps deep label references are looked for.
	maxDepth = 50
)

var errTooDeep = fmt.Errorf("values are more than %d maps deep", maxDepth)

// templating is what can be worked out about the values of some options without
// knowing the cluster.
type templating struct {
	helm *fleetyaml.Helm
	base *template.Template // Empty; it holds the functions.
	// err is what is wrong for every cluster.
	err           error
	hasReferences bool
	// values is the template of helm.Values, nil if it has to be made for each
	// cluster, or if there is nothing to do.
	values         *template.Template
	templateValues map[string]*template.Template
}

// newTemplating answers nil when there is nothing to template.
func newTemplating(base *template.Template, helm *fleetyaml.Helm) *templating {
	if helm == nil || (len(helm.Values) == 0 && len(helm.TemplateValues) == 0) {
		return nil
	}
	t := &templating{helm: helm, base: base}
	if t.hasReferences, t.err = hasReferences(helm.Values, 0); t.err != nil {
		t.err = &TemplateError{Place: "helm.values", Err: t.err}
		return t
	}
	if helm.DisablePreProcess {
		if !t.hasReferences {
			return nil
		}
		return t
	}
	t.err = t.parse()
	if t.err == nil && !t.hasReferences && t.values == nil && len(t.templateValues) == 0 {
		return nil
	}
	return t
}

func (t *templating) parse() error {
	if !t.hasReferences {
		var err error
		if t.values, err = t.parseValues(t.helm.Values); err != nil {
			return err
		}
	}
	t.templateValues = make(map[string]*template.Template, len(t.helm.TemplateValues))
	for _, key := range slices.Sorted(maps.Keys(t.helm.TemplateValues)) {
		place := "helm.templateValues." + key
		parsed, err := t.parseText(place, t.helm.TemplateValues[key])
		if err != nil {
			return &TemplateError{Place: place, Err: err}
		}
		t.templateValues[key] = parsed
	}
	return nil
}

// parseValues makes one template of all values, as YAML; nil if none holds one.
func (t *templating) parseValues(values map[string]any) (*template.Template, error) {
	text, err := yaml.Marshal(values)
	if err != nil {
		return nil, &TemplateError{Place: "helm.values", Err: err}
	}
	if !bytes.Contains(text, []byte(leftDelim)) {
		return nil, nil
	}
	parsed, err := t.parseText("helm.values", string(text))
	if err != nil {
		return nil, t.locate(values, nil, err)
	}
	return parsed, nil
}

func (t *templating) parseText(name, text string) (*template.Template, error) {
	own, err := t.base.Clone()
	if err != nil {
		return nil, err
	}
	return own.New(name).Parse(text)
}

// values answers the values of one cluster; those of the options are not changed.
func (t *templating) valuesFor(f facts) (map[string]any, error) {
	if t.err != nil {
		return nil, t.err
	}
	values, parsed := t.helm.Values, t.values
	if t.hasReferences {
		values = replaceReferences(values, f.labels)
	}
	if t.helm.DisablePreProcess {
		return values, nil
	}
	if t.hasReferences {
		var err error
		if parsed, err = t.parseValues(values); err != nil {
			return nil, err
		}
	}
	context := f.context()
	if parsed != nil {
		text, err := execute(parsed, context)
		if err != nil {
			return nil, t.locate(values, f.context(), err)
		}
		values = nil
		if err := yaml.Unmarshal(text, &values); err != nil {
			return nil, &TemplateError{Place: "helm.values", Err: fmt.Errorf("they are not YAML after templating: %w", err)}
		}
	}
	return t.addTemplateValues(values, context)
}

// addTemplateValues replaces whole keys of values.
func (t *templating) addTemplateValues(values, context map[string]any) (map[string]any, error) {
	if len(t.templateValues) == 0 {
		return values, nil
	}
	added := make(map[string]any, len(values)+len(t.templateValues))
	maps.Copy(added, values)
	for _, key := range slices.Sorted(maps.Keys(t.templateValues)) {
		place := "helm.templateValues." + key
		text, err := execute(t.templateValues[key], context)
		if err != nil {
			return nil, &TemplateError{Place: place, Err: err}
		}
		var value any
		if err := yaml.Unmarshal(text, &value); err != nil {
			return nil, &TemplateError{Place: place, Err: fmt.Errorf("it is not YAML after templating: %w", err)}
		}
		added[key] = value
	}
	return added, nil
}

func execute(t *template.Template, context map[string]any) ([]byte, error) {
	var text bytes.Buffer
	if err := t.Execute(&text, context); err != nil {
		return nil, err
	}
	return text.Bytes(), nil
}

// locate finds out which value err comes from, by templating one after the
// other. context is nil when they cannot even be parsed.
func (t *templating) locate(values map[string]any, context map[string]any, err error) error {
	found := &TemplateError{Place: "helm.values", Err: err}
	eachText(values, "helm.values", func(place, text string) bool {
		if !strings.Contains(text, leftDelim) {
			return true
		}
		parsed, err := t.parseText(place, text)
		if err == nil && context != nil {
			_, err = execute(parsed, context)
		}
		if err != nil {
			found = &TemplateError{Place: place, Err: err}
		}
		return err == nil
	})
	return found
}

// eachText calls see for every key and text below value, in order, until it
// answers false.
func eachText(value any, place string, see func(place, text string) bool) bool {
	switch value := value.(type) {
	case string:
		return see(place, value)
	case []any:
		for i, item := range value {
			if !eachText(item, fmt.Sprintf("%s[%d]", place, i), see) {
				return false
			}
		}
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(value)) {
			if !see(place, key) || !eachText(value[key], place+"."+key, see) {
				return false
			}
		}
	}
	return true
}

// hasReferences looks for label references where Fleet does: in maps, and in
// maps that are items of lists.
func hasReferences(values map[string]any, depth int) (bool, error) {
	if depth > maxDepth {
		return false, errTooDeep
	}
	found := false
	for _, value := range values {
		switch value := value.(type) {
		case string:
			found = found || strings.HasPrefix(value, labelReference)
		case map[string]any:
			below, err := hasReferences(value, depth+1)
			if err != nil {
				return false, err
			}
			found = found || below
		case []any:
			for _, item := range value {
				item, ok := item.(map[string]any)
				if !ok {
					continue
				}
				below, err := hasReferences(item, depth+1)
				if err != nil {
					return false, err
				}
				found = found || below
			}
		}
	}
	return found, nil
}

// replaceReferences puts labels in the place of references to them, "" for those
// the cluster does not have.
func replaceReferences(values map[string]any, labels map[string]string) map[string]any {
	replaced := make(map[string]any, len(values))
	for key, value := range values {
		switch value := value.(type) {
		case string:
			if label, ok := strings.CutPrefix(value, labelReference); ok {
				replaced[key] = labels[label]
				continue
			}
			replaced[key] = value
		case map[string]any:
			replaced[key] = replaceReferences(value, labels)
		case []any:
			items := slices.Clone(value)
			for i, item := range items {
				if item, ok := item.(map[string]any); ok {
					items[i] = replaceReferences(item, labels)
				}
			}
			replaced[key] = items
		default:
			replaced[key] = value
		}
	}
	return replaced
}

// newBase is an empty template that has the delimiters and functions.
func newBase() *template.Template {
	return template.New("").Delims(leftDelim, rightDelim).Option("missingkey=error").Funcs(functions())
}
