package provider

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/function"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/bundle"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/fleetyaml"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/framework"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/kube/connect"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/report"
)

func newClustersFromKubeconfigFunction() function.Function {
	return framework.NewFunction("clusters_from_kubeconfig", function.Definition{
		Summary: "Entries of clusters for the contexts of a kubeconfig",
		MarkdownDescription: "Returns an entry of the provider's `clusters` for each context of a kubeconfig, by the name of the context. " +
			"Each has in `kubeconfig` the context with its cluster and its user only, so a change of one context leaves the other entries as they are. " +
			"No file is read, and no cluster is connected to. Names of contexts may be no names of clusters: rename them with `for`.",
		Parameters: []function.Parameter{
			function.StringParameter{Name: "kubeconfig", MarkdownDescription: "Content of the file, such as `file(pathexpand(\"~/.kube/config\"))`."},
		},
		Return: function.MapReturn{ElementType: clusterFromKubeconfigType()},
	}, runClustersFromKubeconfig)
}

func clusterFromKubeconfigType() types.ObjectType {
	return types.ObjectType{AttrTypes: framework.StringTypes("kubeconfig")}
}

func runClustersFromKubeconfig(ctx context.Context, req function.RunRequest, resp *function.RunResponse) {
	var text string
	if resp.Error = req.Arguments.Get(ctx, &text); resp.Error != nil {
		return
	}
	split, err := connect.SplitKubeconfig(text)
	if err != nil {
		resp.Error = function.NewArgumentFuncError(0, report.Sentence(err))
		return
	}
	of := clusterFromKubeconfigType()
	entries := make(map[string]attr.Value, len(split))
	for name, kubeconfig := range split {
		entries[name] = types.ObjectValueMust(of.AttrTypes, map[string]attr.Value{"kubeconfig": types.StringValue(kubeconfig)})
	}
	resp.Error = resp.Result.Set(ctx, types.MapValueMust(of, entries))
}

func newReleaseNameFunction() function.Function {
	return framework.NewFunction("release_name", function.Definition{
		Summary:             "Name of the Helm release of a bundle",
		MarkdownDescription: "Returns the name of a bundle's release if the bundle sets none, as Fleet derives it: a DNS label of at most 53 characters.",
		Parameters: []function.Parameter{
			function.StringParameter{Name: "bundle", MarkdownDescription: "Name of the bundle."},
		},
		Return: function.StringReturn{},
	}, runReleaseName)
}

func runReleaseName(ctx context.Context, req function.RunRequest, resp *function.RunResponse) {
	var name string
	if resp.Error = req.Arguments.Get(ctx, &name); resp.Error == nil {
		resp.Error = resp.Result.Set(ctx, bundle.ReleaseName(name))
	}
}

func newMatchFunction() function.Function {
	return framework.NewFunction("match", function.Definition{
		Summary: "Whether labels match a selector",
		MarkdownDescription: "Returns whether a label selector, an object with `match_labels` and `match_expressions`, matches labels, as in a rule of a target. " +
			"`{ all = true }` matches everything, and an empty selector is an error.",
		Parameters: []function.Parameter{
			function.DynamicParameter{Name: "selector", MarkdownDescription: "The selector, such as `{ match_labels = { env = \"prod\" } }`."},
			function.MapParameter{Name: "labels", ElementType: types.StringType, MarkdownDescription: "The labels, such as those of a cluster."},
		},
		Return: function.BoolReturn{},
	}, runMatch)
}

func runMatch(ctx context.Context, req function.RunRequest, resp *function.RunResponse) {
	var (
		selector types.Dynamic
		on       map[string]string
	)
	if resp.Error = req.Arguments.Get(ctx, &selector, &on); resp.Error != nil {
		return
	}
	free, err := framework.Conversion{}.Plain(selector)
	if err != nil {
		resp.Error = function.NewArgumentFuncError(0, report.Sentence(err))
		return
	}
	given, ok := free.(map[string]any)
	if !ok {
		resp.Error = function.NewArgumentFuncError(0, "A selector is an object. Use { all = true } to match everything.")
		return
	}
	compiled, err := fleetyaml.CompileSelector(given)
	if err != nil {
		resp.Error = function.NewArgumentFuncError(0, report.Sentence(err))
		return
	}
	resp.Error = resp.Result.Set(ctx, compiled.Matches(labels.Set(on)))
}

func newMergeValuesFunction() function.Function {
	return framework.NewFunction("merge_values", function.Definition{
		Summary: "Merges Helm values as Fleet does",
		MarkdownDescription: "Merges values, later ones over earlier ones: maps are merged at every depth, and everything else, lists included, is replaced. " +
			"Returns an object.",
		VariadicParameter: function.DynamicParameter{Name: "values", AllowNullValue: true, MarkdownDescription: "Objects, such as the results of `yamldecode`."},
		Return:            function.DynamicReturn{},
	}, runMergeValues)
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
		values, err := framework.Conversion{}.Plain(layer.UnderlyingValue())
		if err != nil {
			resp.Error = function.NewArgumentFuncError(int64(i), report.Sentence(err))
			return
		}
		object, ok := values.(map[string]any)
		if !ok {
			resp.Error = function.NewArgumentFuncError(int64(i), "Values are an object or a map.")
			return
		}
		merged = fleetyaml.MergeValues(merged, object)
	}
	resp.Error = resp.Result.Set(ctx, types.DynamicValue(framework.Value(ctx, merged)))
}

func newParseFleetYAMLFunction() function.Function {
	return framework.NewFunction("parse_fleet_yaml", function.Definition{
		Summary: "Reads a fleet.yaml",
		MarkdownDescription: "Reads the text of a fleet.yaml as this provider and Fleet do, and returns it as an object with Fleet's field names. " +
			"An unknown key, a wrong type or a bad value is an error with line and column.",
		Parameters: []function.Parameter{
			function.StringParameter{Name: "text", MarkdownDescription: "Content of the file, such as `file(\"fleet.yaml\")`."},
		},
		Return: function.DynamicReturn{},
	}, runParseFleetYAML)
}

func runParseFleetYAML(ctx context.Context, req function.RunRequest, resp *function.RunResponse) {
	var text string
	if resp.Error = req.Arguments.Get(ctx, &text); resp.Error != nil {
		return
	}
	parsed, _, err := fleetyaml.Parser{Strict: true, ImageScans: true}.Parse("fleet.yaml", []byte(text))
	if err != nil {
		resp.Error = function.NewArgumentFuncError(0, report.Sentence(err))
		return
	}
	fields, err := parsed.Fields()
	if err != nil {
		resp.Error = function.NewFuncError(report.Sentence(err))
		return
	}
	resp.Error = resp.Result.Set(ctx, types.DynamicValue(framework.Value(ctx, fields)))
}
