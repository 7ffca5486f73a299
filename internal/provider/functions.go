package provider

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/function"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/bundle"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/fleetyaml"
)

// call is a function that is described, and computed from its arguments.
type call struct {
	name       string
	definition function.Definition
	run        func(context.Context, function.RunRequest, *function.RunResponse)
}

func (c call) Metadata(_ context.Context, _ function.MetadataRequest, resp *function.MetadataResponse) {
	resp.Name = c.name
}

func (c call) Definition(_ context.Context, _ function.DefinitionRequest, resp *function.DefinitionResponse) {
	resp.Definition = c.definition
}

func (c call) Run(ctx context.Context, req function.RunRequest, resp *function.RunResponse) {
	c.run(ctx, req, resp)
}

func newReleaseNameFunction() function.Function {
	return call{
		name: "release_name",
		definition: function.Definition{
			Summary:             "Name of the Helm release of a bundle",
			MarkdownDescription: "Answers the name that the release of a bundle gets when the bundle names none, as Fleet makes it: a DNS label of at most 53 characters.",
			Parameters: []function.Parameter{
				function.StringParameter{Name: "bundle", MarkdownDescription: "Name of the bundle."},
			},
			Return: function.StringReturn{},
		},
		run: func(ctx context.Context, req function.RunRequest, resp *function.RunResponse) {
			var name string
			if resp.Error = req.Arguments.Get(ctx, &name); resp.Error == nil {
				resp.Error = resp.Result.Set(ctx, bundle.ReleaseName(name))
			}
		},
	}
}

func newMatchFunction() function.Function {
	return call{
		name: "match",
		definition: function.Definition{
			Summary: "Whether labels match a selector",
			MarkdownDescription: "Answers whether a label selector, an object with `match_labels` and `match_expressions`, matches labels, as in a rule of a target. " +
				"An empty selector matches everything.",
			Parameters: []function.Parameter{
				function.DynamicParameter{Name: "selector", MarkdownDescription: "The selector, such as `{ match_labels = { env = \"prod\" } }`."},
				function.MapParameter{Name: "labels", ElementType: types.StringType, MarkdownDescription: "The labels, such as those of a cluster."},
			},
			Return: function.BoolReturn{},
		},
		run: runMatch,
	}
}

func runMatch(ctx context.Context, req function.RunRequest, resp *function.RunResponse) {
	var (
		selector types.Dynamic
		on       map[string]string
	)
	if resp.Error = req.Arguments.Get(ctx, &selector, &on); resp.Error != nil {
		return
	}
	text, err := selectorText(selector)
	if err != nil {
		resp.Error = function.NewArgumentFuncError(0, sentence(err))
		return
	}
	compiled, err := compileSelector(text)
	if err != nil {
		resp.Error = function.NewArgumentFuncError(0, sentence(err))
		return
	}
	resp.Error = resp.Result.Set(ctx, compiled.Matches(labels.Set(on)))
}

// selectorText writes a selector as JSON. Its own keys are in snake case; those of
// labels are the user's.
func selectorText(selector types.Dynamic) ([]byte, error) {
	free, err := freeform(selector)
	if err != nil {
		return nil, err
	}
	given, ok := free.(map[string]any)
	if !ok {
		return nil, errors.New("a selector is an object; write {} for one that matches everything")
	}
	fields := make(map[string]any, len(given))
	for name, value := range given {
		fields[fieldName(name)] = value
	}
	return json.Marshal(fields)
}

// compileSelector reads a selector as JSON. A key that a selector does not have
// would make it match too much, so it is refused.
func compileSelector(text []byte) (labels.Selector, error) {
	definition := fmt.Appendf(nil, `{"overrideTargets":[{"clusterSelector":%s}]}`, text)
	parsed, _, err := fleetyaml.Parse("", definition, true)
	if err != nil {
		invalid, ok := errors.AsType[*fleetyaml.Error](err)
		if ok && len(invalid.Problems) > 0 {
			return nil, errors.New(invalid.Problems[0].Message)
		}
		return nil, err
	}
	return parsed.OverrideTargets[0].ClusterSelector.Compile()
}

func newMergeValuesFunction() function.Function {
	return call{
		name: "merge_values",
		definition: function.Definition{
			Summary: "Merges Helm values as Fleet does",
			MarkdownDescription: "Lays values on values, later ones on earlier ones: maps are merged at every depth, and everything else, lists too, is replaced. " +
				"Answers an object.",
			VariadicParameter: function.DynamicParameter{Name: "values", AllowNullValue: true, MarkdownDescription: "Objects, such as what `yamldecode` answers."},
			Return:            function.DynamicReturn{},
		},
		run: runMergeValues,
	}
}

func runMergeValues(ctx context.Context, req function.RunRequest, resp *function.RunResponse) {
	var layers []types.Dynamic
	if resp.Error = req.Arguments.Get(ctx, &layers); resp.Error != nil {
		return
	}
	merged := map[string]any{}
	for i, layer := range layers {
		if layer.IsNull() || layer.IsUnderlyingValueNull() {
			continue
		}
		values, err := freeform(layer.UnderlyingValue())
		if err != nil {
			resp.Error = function.NewArgumentFuncError(int64(i), sentence(err))
			return
		}
		object, ok := values.(map[string]any)
		if !ok {
			resp.Error = function.NewArgumentFuncError(int64(i), "Values are an object or a map.")
			return
		}
		merged = fleetyaml.MergeValues(merged, object)
	}
	resp.Error = resp.Result.Set(ctx, types.DynamicValue(valueOf(ctx, merged)))
}

func newParseFleetYAMLFunction() function.Function {
	return call{
		name: "parse_fleet_yaml",
		definition: function.Definition{
			Summary: "Reads a fleet.yaml",
			MarkdownDescription: "Reads the text of a fleet.yaml as this provider and Fleet do, and answers it as an object in Fleet's field names. " +
				"An unknown key, a wrong type or a bad value is an error that names line and column.",
			Parameters: []function.Parameter{
				function.StringParameter{Name: "text", MarkdownDescription: "Content of the file, such as `file(\"fleet.yaml\")`."},
			},
			Return: function.DynamicReturn{},
		},
		run: runParseFleetYAML,
	}
}

func runParseFleetYAML(ctx context.Context, req function.RunRequest, resp *function.RunResponse) {
	var text string
	if resp.Error = req.Arguments.Get(ctx, &text); resp.Error != nil {
		return
	}
	parsed, _, err := fleetyaml.Parse("fleet.yaml", []byte(text), true)
	if err != nil {
		resp.Error = function.NewArgumentFuncError(0, sentence(err))
		return
	}
	content, err := json.Marshal(parsed)
	if err != nil {
		resp.Error = function.NewFuncError(sentence(err))
		return
	}
	var fields any
	if err := json.Unmarshal(content, &fields); err != nil {
		resp.Error = function.NewFuncError(sentence(err))
		return
	}
	resp.Error = resp.Result.Set(ctx, types.DynamicValue(valueOf(ctx, fields)))
}

// valueOf enters Terraform with JSON of any shape: objects and tuples.
func valueOf(ctx context.Context, value any) attr.Value {
	switch value := value.(type) {
	case map[string]any:
		kinds, values := make(map[string]attr.Type, len(value)), make(map[string]attr.Value, len(value))
		for key, field := range value {
			values[key] = valueOf(ctx, field)
			kinds[key] = values[key].Type(ctx)
		}
		return types.ObjectValueMust(kinds, values)
	case []any:
		kinds, values := make([]attr.Type, len(value)), make([]attr.Value, len(value))
		for i, item := range value {
			values[i] = valueOf(ctx, item)
			kinds[i] = values[i].Type(ctx)
		}
		return types.TupleValueMust(kinds, values)
	case string:
		return types.StringValue(value)
	case bool:
		return types.BoolValue(value)
	case float64:
		return types.NumberValue(big.NewFloat(value))
	case int64:
		return types.NumberValue(new(big.Float).SetInt64(value))
	}
	return types.DynamicNull()
}

// freeform leaves Terraform with a value of any shape, whose keys are the user's
// own.
func freeform(value attr.Value) (any, error) {
	if value.IsNull() {
		return nil, nil //nolint:nilnil // nil is JSON's null
	}
	switch value := value.(type) {
	case types.Object:
		return freeformFields(value.Attributes())
	case types.Map:
		return freeformFields(value.Elements())
	case types.Tuple:
		return freeformItems(value.Elements())
	case types.List:
		return freeformItems(value.Elements())
	case types.Set:
		return freeformItems(value.Elements())
	case types.Dynamic:
		if value.IsNull() || value.IsUnderlyingValueNull() {
			return nil, nil //nolint:nilnil // nil is JSON's null
		}
		return freeform(value.UnderlyingValue())
	case types.Number:
		if whole, accuracy := value.ValueBigFloat().Int64(); accuracy == big.Exact {
			return whole, nil
		}
		number, _ := value.ValueBigFloat().Float64()
		return number, nil
	}
	return plain(value)
}

func freeformFields(fields map[string]attr.Value) (any, error) {
	free := make(map[string]any, len(fields))
	for key, field := range fields {
		value, err := freeform(field)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", key, err)
		}
		free[key] = value
	}
	return free, nil
}

func freeformItems(items []attr.Value) (any, error) {
	free := make([]any, len(items))
	for i, item := range items {
		value, err := freeform(item)
		if err != nil {
			return nil, fmt.Errorf("entry %d: %w", i+1, err)
		}
		free[i] = value
	}
	return free, nil
}
