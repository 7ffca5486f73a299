package target

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/fleetyaml"
)

const (
	// valuesPlace is the option that contains values.
	valuesPlace = "helm.values"
	// labelReference is the prefix of a value that is replaced by a label.
	labelReference = "global.fleet.clusterLabels."
	// maxDepth is how many maps deep label references are searched.
	maxDepth = 50
)

var errTooDeep = fmt.Errorf("values are more than %d maps deep", maxDepth)

// templating is what can be computed from some options without a cluster.
type templating struct {
	helm *fleetyaml.Helm
	// namespace are the labels and annotations of the namespace that have a template.
	namespace []namespaceKey
	// err is an error that every cluster has.
	err           error
	hasReferences bool
	// shared are the templates of all clusters, nil if they are made for each cluster.
	shared *templates
}

// newTemplating returns nil when there is nothing to template.
func newTemplating(options fleetyaml.Options) *templating {
	helm := options.Helm
	if helm == nil {
		helm = &fleetyaml.Helm{}
	}
	t := &templating{helm: helm, namespace: namespaceKeysOf(options)}
	if len(helm.Values) == 0 && len(helm.TemplateValues) == 0 && len(t.namespace) == 0 {
		return nil
	}
	if t.hasReferences, t.err = hasReferences(helm.Values, 0); t.err != nil {
		t.err = &TemplateError{Place: valuesPlace, Err: t.err}
		return t
	}
	if t.hasReferences {
		return t
	}
	if helm.DisablePreProcess {
		return nil
	}
	t.shared, t.err = t.newTemplates(helm.Values)
	if t.err == nil && t.shared == nil {
		return nil
	}
	return t
}

// job is the templating of the values of one cluster.
type job struct {
	values map[string]any
	// templates are nil if values are final.
	templates *templates
	// texts are the templates after templating, nil if the evaluator is needed.
	texts []string
	// run is the index of the run in the batch if the evaluator is needed.
	run int
}

// prepare makes the job of one cluster, and adds it to the batch if the evaluator is
// needed. The values of the options are not changed.
func (t *templating) prepare(c *candidate, b *batch) (*job, error) {
	j, err := t.newJob(c)
	if err != nil || j.templates == nil {
		return j, err
	}
	if j.texts = j.templates.readFields(c); j.texts == nil {
		j.run = b.add(j.templates, c)
	}
	return j, nil
}

func (t *templating) newJob(c *candidate) (*job, error) {
	if t.err != nil {
		return nil, t.err
	}
	if !t.hasReferences {
		return &job{values: t.helm.Values, templates: t.shared}, nil
	}
	values := replaceReferences(t.helm.Values, c.visible)
	if t.helm.DisablePreProcess {
		return &job{values: values}, nil
	}
	own, err := t.newTemplates(values)
	if err != nil {
		return nil, err
	}
	if own != nil {
		// Template values are the same for all clusters, so their errors are reported first.
		own.set.FirstParsedLast = own.hasValues
	}
	return &job{values: values, templates: own}, nil
}

// finish returns what is templated.
func (j *job) finish(results []Evaluated, err error) (templated, error) {
	if j.templates == nil {
		return templated{values: j.values}, nil
	}
	if j.texts != nil {
		return j.templates.decode(j.values, Evaluated{Texts: j.texts})
	}
	if err != nil {
		return templated{}, &TemplateError{Err: err}
	}
	return j.templates.decode(j.values, results[j.run])
}

// templates are the templates of one cluster, or of all clusters.
type templates struct {
	// set has no parts yet. Only the evaluator needs them.
	set    TemplateSet
	values map[string]any
	// hasValues is true if the first template of the set is the YAML of all values. The next
	// templates are template values, by keys. The last are those of the namespace.
	hasValues bool
	keys      []string
	namespace []namespaceKey
	// fields are the templates of the set if all of them only read fields, else nil. Other
	// templates can change what the templates after them read.
	fields [][]segment
	key    string // The cached result of identity.
}

// newTemplates returns nil if there is no template. All values together are one template, as YAML.
func (t *templating) newTemplates(values map[string]any) (*templates, error) {
	text, err := yaml.Marshal(values)
	if err != nil {
		return nil, &TemplateError{Place: valuesPlace, Err: err}
	}
	made := &templates{
		values:    values,
		hasValues: bytes.Contains(text, []byte(LeftDelim)),
		keys:      slices.Sorted(maps.Keys(t.helm.TemplateValues)),
		namespace: t.namespace,
	}
	if made.hasValues {
		made.set.Templates = append(made.set.Templates, Template{Place: valuesPlace, Text: string(text)})
	}
	for _, key := range made.keys {
		made.set.Templates = append(made.set.Templates, Template{Place: templateValuePlace(key), Text: t.helm.TemplateValues[key]})
	}
	for _, key := range made.namespace {
		made.set.Templates = append(made.set.Templates, Template{Place: key.place(), Text: key.text})
	}
	if len(made.set.Templates) == 0 {
		return nil, nil
	}
	made.fields = fieldsOf(made.set)
	return made, nil
}

func templateValuePlace(key string) string { return "helm.templateValues." + key }

func fieldsOf(set TemplateSet) [][]segment {
	fields := make([][]segment, len(set.Templates))
	for i, template := range set.Templates {
		if fields[i] = parseFieldReads(template.Text); fields[i] == nil {
			return nil
		}
	}
	return fields
}

// readFields returns the templates after templating, or nil if the evaluator is needed. A missing
// field needs the evaluator too, because the error must be the error of text/template.
func (t *templates) readFields(c *candidate) []string {
	if t.fields == nil {
		return nil
	}
	texts := make([]string, len(t.fields))
	for i, segments := range t.fields {
		var ok bool
		if texts[i], ok = readFields(segments, c.context()); !ok {
			return nil
		}
	}
	return texts
}

// identity returns the same string for equal templates.
func (t *templates) identity() string {
	if t.key != "" {
		return t.key
	}
	var key strings.Builder
	fmt.Fprintf(&key, "%t", t.set.FirstParsedLast)
	for _, template := range t.set.Templates {
		fmt.Fprintf(&key, " %q %q", template.Place, template.Text)
	}
	t.key = key.String()
	return t.key
}

// complete returns the set with the parts of the values.
func (t *templates) complete() TemplateSet {
	if t.hasValues {
		t.set.Templates[0].Parts = partsOf(t.values)
	}
	return t.set
}

// partsOf returns the keys and values that have a template in them.
func partsOf(values map[string]any) []TemplatePart {
	var parts []TemplatePart
	eachText(values, valuesPlace, func(place, text string) {
		if strings.Contains(text, LeftDelim) {
			parts = append(parts, TemplatePart{Place: place, Text: text})
		}
	})
	return parts
}

// decode reads what is templated from the texts. An error in an earlier text is reported before the
// failure of a later template.
func (t *templates) decode(values map[string]any, result Evaluated) (templated, error) {
	texts := result.Texts
	if t.hasValues && len(texts) > 0 {
		values = nil
		if err := unmarshal(texts[0], &values); err != nil {
			return templated{}, &TemplateError{Place: valuesPlace, Err: fmt.Errorf("they are not YAML after templating: %w", err)}
		}
		texts = texts[1:]
	}
	own := min(len(texts), len(t.keys))
	values, err := t.addTemplateValues(values, texts[:own])
	if err != nil {
		return templated{}, err
	}
	if result.Failure != nil {
		return templated{}, result.Failure.err()
	}
	return templated{values: values, namespace: t.namespace, texts: texts[own:]}, nil
}

// unmarshal reads the output of a template, within the limits of a values file.
func unmarshal(text string, into any) error {
	if len(text) > fleetyaml.MaxSize {
		return fmt.Errorf("larger than %d MiB", fleetyaml.MaxSize>>20)
	}
	if err := fleetyaml.CheckAliases([]byte(text)); err != nil {
		return err
	}
	return yaml.Unmarshal([]byte(text), into)
}

// addTemplateValues replaces whole keys of values.
func (t *templates) addTemplateValues(values map[string]any, texts []string) (map[string]any, error) {
	if len(texts) == 0 {
		return values, nil
	}
	added := make(map[string]any, len(values)+len(texts))
	maps.Copy(added, values)
	for i, text := range texts {
		var value any
		if err := unmarshal(text, &value); err != nil {
			return nil, &TemplateError{Place: templateValuePlace(t.keys[i]), Err: fmt.Errorf("it is not YAML after templating: %w", err)}
		}
		added[t.keys[i]] = value
	}
	return added, nil
}

// eachText calls see for every key and text below value, in order.
func eachText(value any, place string, see func(place, text string)) {
	switch value := value.(type) {
	case string:
		see(place, value)
	case []any:
		for i, item := range value {
			eachText(item, fmt.Sprintf("%s[%d]", place, i), see)
		}
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(value)) {
			see(place, key)
			eachText(value[key], place+"."+key, see)
		}
	}
}

// hasReferences searches for label references where Fleet does: in maps, and in maps that are items
// of lists.
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

// replaceReferences replaces references to labels by the labels, "" for labels that the cluster
// does not have.
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
