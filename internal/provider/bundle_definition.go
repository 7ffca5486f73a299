package provider

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/fleetyaml"
)

// definition leaves Terraform: attributes that are called like the keys of a
// fleet.yaml, in snake case, become what the fleet.yaml would say. Null stands
// for a key that is not there.
func definition(attributes map[string]attr.Value) (fleetyaml.Definition, error) {
	fields, err := plainFields(attributes)
	if err != nil {
		return fleetyaml.Definition{}, err
	}
	text, err := json.Marshal(fields)
	if err != nil {
		return fleetyaml.Definition{}, fmt.Errorf("writing options as JSON: %w", err)
	}
	var d fleetyaml.Definition
	if err := json.Unmarshal(text, &d); err != nil {
		return fleetyaml.Definition{}, fmt.Errorf("reading options: %w", err)
	}
	return d, nil
}

// fieldName turns "release_name" into "releaseName".
func fieldName(attribute string) string {
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

func plainFields(attributes map[string]attr.Value) (map[string]any, error) {
	fields := map[string]any{}
	for name, value := range attributes {
		plain, err := plain(value)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		if plain != nil {
			fields[fieldName(name)] = plainCount(name, plain)
		}
	}
	return fields, nil
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

// plain is a value as it stands in JSON, nil for null. Keys of objects are
// names of fields, keys of maps are the user's own.
func plain(value attr.Value) (any, error) {
	if value.IsNull() || value.IsUnknown() {
		return nil, nil //nolint:nilnil // nil is JSON's null
	}
	switch value := value.(type) {
	case yamlValue:
		return value.object()
	case types.String:
		return value.ValueString(), nil
	case types.Bool:
		return value.ValueBool(), nil
	case types.Int64:
		return value.ValueInt64(), nil
	case types.Object:
		return plainFields(value.Attributes())
	case types.List:
		return plainList(value.Elements())
	case types.Map:
		fields := make(map[string]any, len(value.Elements()))
		for key, element := range value.Elements() {
			plain, err := plain(element)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", key, err)
			}
			fields[key] = plain
		}
		return fields, nil
	}
	return nil, fmt.Errorf("unexpected value of type %T; this is an error of the provider, please report it", value)
}

func plainList(elements []attr.Value) ([]any, error) {
	list := make([]any, len(elements))
	for i, element := range elements {
		plain, err := plain(element)
		if err != nil {
			return nil, fmt.Errorf("entry %d: %w", i+1, err)
		}
		list[i] = plain
	}
	return list, nil
}
