package fleetyaml

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"k8s.io/apimachinery/pkg/labels"
)

// Attributes are keys of a fleet.yaml in snake case, as in HCL. A value is a JSON value, or
// Attributes again if its keys are names of attributes. The keys of a map[string]any are the user's
// own. Null represents a missing key.
type Attributes map[string]any

// Definition returns the definition that a fleet.yaml with these keys would have.
func (a Attributes) Definition() (Definition, error) {
	text, err := json.Marshal(a)
	if err != nil {
		return Definition{}, fmt.Errorf("writing options as JSON: %w", err)
	}
	var d Definition
	if err := json.Unmarshal(text, &d); err != nil {
		return Definition{}, fmt.Errorf("reading options: %w", err)
	}
	return d, nil
}

// MarshalJSON writes the names as a fleet.yaml does. There an empty selector selects everything, so
// "all" of a selector is left out, and "all" of a rule becomes an empty selector.
func (a Attributes) MarshalJSON() ([]byte, error) {
	fields := make(map[string]any, len(a))
	for name, value := range a {
		if value != nil && name != everything {
			fields[FieldName(name)] = plainCount(name, value)
		}
	}
	if _, isRule := a["cluster_selector"]; isRule && a[everything] == true {
		fields["clusterSelector"] = map[string]any{}
	}
	return json.Marshal(fields)
}

// everything is the attribute of selectors and rules that selects everything.
const everything = "all"

// FieldName turns "release_name" into "releaseName".
func FieldName(attribute string) string {
	switch attribute {
	case "delete_crd_resources":
		return "deleteCRDResources"
	case "disable_dns":
		return "disableDNS"
	case "depends_on_bundles": // depends_on is Terraform's own.
		return "dependsOn"
	}
	words := strings.Split(attribute, "_")
	for i, word := range words[1:] {
		if word != "" {
			words[i+1] = strings.ToUpper(word[:1]) + word[1:]
		}
	}
	return strings.Join(words, "")
}

var wholeNumber = regexp.MustCompile(`^\d+$`)

// plainCount turns "2" into a number. Counts of clusters are text in HCL, because
// they may be a percentage.
func plainCount(name string, plain any) any {
	switch name {
	case "max_unavailable", "max_unavailable_partitions", "auto_partition_size":
	default:
		return plain
	}
	if text, ok := plain.(string); ok && wholeNumber.MatchString(text) {
		return json.Number(text)
	}
	return plain
}

// CompileSelector reads a selector. Its own keys are in snake case; the keys of labels are the
// user's. An unknown key is refused: without it, the selector would match too much.
func CompileSelector(attributes map[string]any) (labels.Selector, error) {
	switch all, others := attributes[everything] == true, hasCriteria(attributes); {
	case !all && !others:
		return nil, errors.New("the selector has no criterion; to select everything, set all = true")
	case all && others:
		return nil, errors.New("the selector has all = true, which selects everything, and other criteria; remove one of them")
	}
	text, err := Attributes(attributes).MarshalJSON()
	if err != nil {
		return nil, fmt.Errorf("writing the selector as JSON: %w", err)
	}
	parsed, _, err := ParseHCL(fmt.Appendf(nil, `{"overrideTargets":[{"clusterSelector":%s}]}`, text))
	if invalid, ok := errors.AsType[*Error](err); ok && len(invalid.Problems) > 0 {
		return nil, errors.New(invalid.Problems[0].Message)
	}
	if err != nil {
		return nil, err
	}
	return parsed.OverrideTargets[0].ClusterSelector.Compile()
}

// hasCriteria reports whether a selector has more than the attribute that selects everything.
func hasCriteria(selector map[string]any) bool {
	for name, value := range selector {
		labels, isMap := value.(map[string]any)
		expressions, isList := value.([]any)
		isEmpty := value == nil || isMap && len(labels) == 0 || isList && len(expressions) == 0
		if name != everything && !isEmpty {
			return true
		}
	}
	return false
}

// Fields returns a definition as decoded JSON, with Fleet's names. Numbers are json.Number.
func (d Definition) Fields() (any, error) {
	content, err := json.Marshal(d)
	if err != nil {
		return nil, fmt.Errorf("writing options as JSON: %w", err)
	}
	var fields any
	decoder := json.NewDecoder(bytes.NewReader(content))
	decoder.UseNumber()
	if err := decoder.Decode(&fields); err != nil {
		return nil, fmt.Errorf("reading options: %w", err)
	}
	return fields, nil
}
