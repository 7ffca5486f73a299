package provider

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/tfsdk"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/bundle"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/diagnostics"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/framework"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/report"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/target"
)

func valuesWriteOnlyAttribute() schema.DynamicAttribute {
	return schema.DynamicAttribute{
		Optional: true, WriteOnly: true,
		MarkdownDescription: "Secret values: an object from the name of a bundle to its values, an object or a map written as YAML or JSON. " +
			"They are merged last, also over `valuesFrom`, and `${ }` in them is not a template. Terraform stores them in no plan and no state. They can be ephemeral. " +
			"Every write of a release uses the current value. Change a value only together with its version in `values_wo_version`: " +
			"a changed value alone deploys nothing. See the guide [Secrets](../guides/secrets.md).",
	}
}

func filesWriteOnlyAttribute() schema.DynamicAttribute {
	return schema.DynamicAttribute{
		Optional: true, WriteOnly: true,
		MarkdownDescription: "Secret manifests: an object from the name of a bundle to an object from a path in the bundle to the content of the file. " +
			"The bundle must consist of plain manifests, without a chart or a kustomization, and must not contain a file with that path. " +
			"Otherwise it works like `values_wo`, with `files_wo_version`.",
	}
}

func writeOnlyVersionAttribute(of string) schema.MapAttribute {
	return schema.MapAttribute{
		Optional: true, ElementType: types.StringType,
		MarkdownDescription: "Versions of `" + of + "`: a map from the name of a bundle to any text or number. Each bundle of `" + of + "` needs one. " +
			"A changed version deploys this bundle again on each of its clusters, and no other bundle. The versions are stored in plan and state.",
	}
}

// readWriteOnly reads the write-only input for deployments of the bundles. Only the configuration
// contains it. reason names an unknown value that the plan depends on, "" if there is none.
func (m *targetModel) readWriteOnly(ctx context.Context, config tfsdk.Config, bundles []*bundle.Bundle, diags *diag.Diagnostics) (found map[string]*target.WriteOnly, reason string) {
	if framework.IsUnknownInside(ctx, m.ValuesVersions) {
		return nil, target.ValuesVersionsAttribute
	}
	if framework.IsUnknownInside(ctx, m.FilesVersions) {
		return nil, target.FilesVersionsAttribute
	}
	input := target.WriteOnlyInput{
		Values: writeOnlyEntries(ctx, config, target.ValuesAttribute, diags), ValuesVersions: framework.StringMap(ctx, m.ValuesVersions, diags),
		Files: writeOnlyEntries(ctx, config, target.FilesAttribute, diags), FilesVersions: framework.StringMap(ctx, m.FilesVersions, diags),
	}
	if diags.HasError() {
		return nil, ""
	}
	names := make([]string, len(bundles))
	for i, b := range bundles {
		names[i] = b.Name
	}
	found, err := input.Read(names)
	diagnostics.Add(diags, report.InvalidWriteOnly(m.Name.ValueString(), err))
	return found, ""
}

// writeOnlyEntries returns nil for an unknown attribute, and an empty map for one that is not set.
func writeOnlyEntries(ctx context.Context, config tfsdk.Config, attribute string, diags *diag.Diagnostics) map[string]any {
	var given types.Dynamic
	diags.Append(config.GetAttribute(ctx, path.Root(attribute), &given)...)
	if given.IsUnknown() || given.IsUnderlyingValueUnknown() {
		return nil
	}
	// A value of a configuration can always be converted. An error could quote the value, so it is
	// dropped.
	plain, _ := framework.Conversion{Unknown: target.Unknown{}, Floats: true}.Plain(given)
	switch value := plain.(type) {
	case nil:
		return map[string]any{}
	case map[string]any:
		return value
	}
	diagnostics.Add(diags, report.NoBundleNames(attribute))
	return map[string]any{}
}
