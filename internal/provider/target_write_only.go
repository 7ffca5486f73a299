package provider

import (
	"context"
	"errors"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/tfsdk"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/bundle"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/target"
)

func valuesWriteOnlyAttribute() schema.DynamicAttribute {
	return schema.DynamicAttribute{
		Optional: true, WriteOnly: true,
		MarkdownDescription: "Secret values: an object from the name of a bundle to its values, an object or a map written as YAML or JSON. " +
			"They are merged last, also over `valuesFrom`, and `${ }` in them is not a template. Terraform stores them in no plan and no state, and they can be ephemeral. " +
			"Every write of a release uses the value of that moment, whatever the reason for the write. Change a value only together with its version in `values_wo_version`: " +
			"another value alone deploys nothing. Needs Terraform 1.11 or OpenTofu 1.11. See the guide [Secrets](../guides/secrets.md).",
	}
}

func filesWriteOnlyAttribute() schema.DynamicAttribute {
	return schema.DynamicAttribute{
		Optional: true, WriteOnly: true,
		MarkdownDescription: "Secret manifests: an object from the name of a bundle to an object from a path in the bundle to the content of the file. " +
			"The bundle must be one of plain manifests, without a chart and without a kustomization, and must not have a file of that path. " +
			"Everything else is as with `values_wo`, with `files_wo_version`.",
	}
}

func writeOnlyVersionAttribute(of string) schema.MapAttribute {
	return schema.MapAttribute{
		Optional: true, ElementType: types.StringType,
		MarkdownDescription: "Versions of `" + of + "`: a map from the name of a bundle to any text or number. Each bundle of `" + of + "` needs one. " +
			"Another version deploys this bundle again, on each of its clusters, and no other. The versions stand in plan and state.",
	}
}

// readWriteOnly adds the write-only input of the configuration to deployments of the bundles.
// Terraform passes it in the configuration alone. reason says what is not known yet that the
// plan depends on, "" if there is no such thing.
func (m *targetModel) readWriteOnly(ctx context.Context, config tfsdk.Config, bundles []*bundle.Bundle, diags *diag.Diagnostics) (found map[string]*target.WriteOnly, reason string) {
	if isUnknownInside(ctx, m.ValuesVersions) {
		return nil, target.ValuesVersionsAttribute
	}
	if isUnknownInside(ctx, m.FilesVersions) {
		return nil, target.FilesVersionsAttribute
	}
	input := target.WriteOnlyInput{
		Values: writeOnlyEntries(ctx, config, target.ValuesAttribute, diags), ValuesVersions: stringMapOf(ctx, m.ValuesVersions, diags),
		Files: writeOnlyEntries(ctx, config, target.FilesAttribute, diags), FilesVersions: stringMapOf(ctx, m.FilesVersions, diags),
	}
	if diags.HasError() {
		return nil, ""
	}
	names := make([]string, len(bundles))
	for i, b := range bundles {
		names[i] = b.Name
	}
	found, err := input.Read(names)
	m.addWriteOnlyErrors(err, diags)
	return found, ""
}

// writeOnlyEntries is nil for an attribute that is unknown, and empty for one that is not
// given.
func writeOnlyEntries(ctx context.Context, config tfsdk.Config, attribute string, diags *diag.Diagnostics) map[string]any {
	var given types.Dynamic
	diags.Append(config.GetAttribute(ctx, path.Root(attribute), &given)...)
	if given.IsUnknown() || given.IsUnderlyingValueUnknown() {
		return nil
	}
	switch value := writeOnlyValue(given).(type) {
	case nil:
		return map[string]any{}
	case map[string]any:
		return value
	}
	diags.AddAttributeError(path.Root(attribute), "Invalid "+attribute, "It must be an object whose keys are names of bundles.")
	return map[string]any{}
}

// writeOnlyValue leaves Terraform. It makes no errors, which could quote a value.
func writeOnlyValue(value attr.Value) any {
	switch {
	case value.IsUnknown():
		return target.Unknown{}
	case value.IsNull():
		return nil
	}
	switch value := value.(type) {
	case types.Dynamic:
		if value.IsUnderlyingValueUnknown() {
			return target.Unknown{}
		}
		if value.IsUnderlyingValueNull() {
			return nil
		}
		return writeOnlyValue(value.UnderlyingValue())
	case types.Object:
		return writeOnlyFields(value.Attributes())
	case types.Map:
		return writeOnlyFields(value.Elements())
	case types.Tuple:
		return writeOnlyItems(value.Elements())
	case types.List:
		return writeOnlyItems(value.Elements())
	case types.Set:
		return writeOnlyItems(value.Elements())
	case types.Number:
		number, _ := value.ValueBigFloat().Float64()
		return number
	case types.String:
		return value.ValueString()
	case types.Bool:
		return value.ValueBool()
	}
	return nil
}

func writeOnlyFields(fields map[string]attr.Value) any {
	free := make(map[string]any, len(fields))
	for key, field := range fields {
		free[key] = writeOnlyValue(field)
	}
	return free
}

func writeOnlyItems(items []attr.Value) any {
	free := make([]any, len(items))
	for i, item := range items {
		free[i] = writeOnlyValue(item)
	}
	return free
}

// addWriteOnlyErrors reports each of the joined errors at its attribute.
func (m *targetModel) addWriteOnlyErrors(err error, diags *diag.Diagnostics) {
	if err == nil {
		return
	}
	errs := []error{err}
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		errs = joined.Unwrap()
	}
	for _, err := range errs {
		at := path.Empty()
		if named, ok := errors.AsType[*target.WriteOnlyError](err); ok {
			at = path.Root(named.Attribute)
		}
		diags.AddAttributeError(at, "Target "+m.Name.ValueString()+": invalid write-only input", sentence(err)+"\n\nNothing was changed on any cluster.")
	}
}
