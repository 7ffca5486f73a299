package provider

import (
	"context"
	"maps"
	"slices"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/bundle"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/render"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/source"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/target"
)

// bundleTypes are the attributes of one element of `bundles`, by which
// fleet_gitrepo and fleet_bundle hand bundles to fleet_cluster_target.
func bundleTypes() map[string]attr.Type {
	return map[string]attr.Type{
		"digest":     types.StringType,
		"chart":      types.StringType,
		"version":    types.StringType,
		"path":       types.StringType,
		"descriptor": types.StringType,
	}
}

func bundleObjectType() types.ObjectType { return types.ObjectType{AttrTypes: bundleTypes()} }

// bundlesAttribute is the computed map of bundles.
func bundlesAttribute() schema.MapNestedAttribute {
	return schema.MapNestedAttribute{
		Computed:            true,
		MarkdownDescription: "The bundles by name, for `bundles` of a `fleet_cluster_target`.",
		NestedObject: schema.NestedAttributeObject{Attributes: map[string]schema.Attribute{
			"digest": schema.StringAttribute{
				Computed:            true,
				MarkdownDescription: "Covers the files and options of the bundle. It stays the same for as long as they do, whatever the commit.",
			},
			"chart":   schema.StringAttribute{Computed: true, MarkdownDescription: "Name of the Helm chart."},
			"version": schema.StringAttribute{Computed: true, MarkdownDescription: "Version of the Helm chart."},
			"path":    schema.StringAttribute{Computed: true, MarkdownDescription: "Folder of the bundle in its source."},
			"descriptor": schema.StringAttribute{
				Computed: true, Sensitive: true,
				MarkdownDescription: "How another process makes exactly this bundle again. Not meant to be read; holds no credentials.",
			},
		}},
	}
}

// bundleElement is one element of `bundles`. Descriptor may be unknown.
type bundleElement struct {
	Digest     types.String
	Chart      types.String
	Version    types.String
	Path       types.String
	Descriptor types.String
}

func (e bundleElement) value() types.Object {
	return types.ObjectValueMust(bundleTypes(), map[string]attr.Value{
		"digest":     e.Digest,
		"chart":      e.Chart,
		"version":    e.Version,
		"path":       e.Path,
		"descriptor": e.Descriptor,
	})
}

// elementOf reads an element that is an object, known or not inside.
func elementOf(value attr.Value) (bundleElement, bool) {
	object, ok := value.(types.Object)
	if !ok || object.IsUnknown() || object.IsNull() {
		return bundleElement{}, false
	}
	text := func(name string) types.String {
		found, ok := object.Attributes()[name].(types.String)
		if !ok {
			return types.StringUnknown()
		}
		return found
	}
	return bundleElement{
		Digest: text("digest"), Chart: text("chart"), Version: text("version"), Path: text("path"), Descriptor: text("descriptor"),
	}, true
}

// elementsOf reads a known map of bundles.
func elementsOf(bundles types.Map) map[string]bundleElement {
	found := map[string]bundleElement{}
	for name, value := range bundles.Elements() {
		if element, ok := elementOf(value); ok {
			found[name] = element
		}
	}
	return found
}

// bundlesOf enters Terraform: elements become the map.
func bundlesOf(elements map[string]bundleElement) types.Map {
	values := make(map[string]attr.Value, len(elements))
	for name, element := range elements {
		values[name] = element.value()
	}
	return types.MapValueMust(bundleObjectType(), values)
}

// describe makes the element of a generated bundle. The descriptor stays
// unknown when it cannot be told before the apply.
func describe(charts *render.Charts, generated source.Generated, pinned bool) (bundleElement, error) {
	chart, version, err := charts.Describe(target.Deployment{Bundle: generated.Bundle, Options: generated.Bundle.Definition.Options})
	if err != nil {
		return bundleElement{}, err
	}
	element := bundleElement{
		Digest:     types.StringValue(generated.Bundle.Digest),
		Chart:      types.StringValue(chart),
		Version:    types.StringValue(version),
		Path:       types.StringValue(generated.Bundle.Path),
		Descriptor: types.StringUnknown(),
	}
	if pinned {
		element.Descriptor = types.StringValue(generated.Descriptor)
	}
	return element, nil
}

// merge makes the map of generated bundles. An element whose digest stays is
// the prior one, word for word, so that a commit which leaves a bundle alone
// moves nothing downstream. changed says whether any element is another or
// missing; lasts whether what was generated is sure to be generated again.
func merge(charts *render.Charts, generated []source.Generated, prior map[string]bundleElement, lasts func(source.Generated) bool, diags *diag.Diagnostics) (elements map[string]bundleElement, changed bool) {
	elements = make(map[string]bundleElement, len(generated))
	for _, made := range generated {
		name := made.Bundle.Name
		before, ok := prior[name]
		if ok && before.Digest.ValueString() == made.Bundle.Digest {
			elements[name] = before
			continue
		}
		element, err := describe(charts, made, lasts(made))
		if err != nil {
			diags.AddError("Cannot read the chart of bundle "+name, sentence(err))
			continue
		}
		elements[name] = element
		changed = true
	}
	return elements, changed || len(elements) != len(prior)
}

// readBundles answers the contents of a bundles attribute, in the order of their
// names. reason says what is not known yet, "" if all is; who is named in errors.
func (f *fleet) readBundles(ctx context.Context, who string, list types.List, diags *diag.Diagnostics) (bundles []*bundle.Bundle, reason string) {
	if list.IsUnknown() {
		return nil, "the bundles"
	}
	elements := map[string]bundleElement{}
	for i, value := range list.Elements() {
		of, ok := value.(types.Map)
		if !ok || of.IsUnknown() {
			return nil, "the bundles"
		}
		for name, element := range of.Elements() {
			known, ok := elementOf(element)
			if !ok || known.Digest.IsUnknown() {
				return nil, "the bundle " + name
			}
			if _, twice := elements[name]; twice {
				diags.AddAttributeError(path.Root("bundles").AtListIndex(i), who+": two bundles are called "+name,
					"A cluster can hold only one release of that name. Rename one of them.")
				return nil, ""
			}
			elements[name] = known
		}
	}
	for _, name := range slices.Sorted(maps.Keys(elements)) {
		element := elements[name]
		if element.Descriptor.IsUnknown() {
			cached, ok := f.source.Cached(element.Digest.ValueString())
			if !ok {
				return nil, "the content of bundle " + name
			}
			bundles = append(bundles, cached)
			continue
		}
		content, err := f.source.Bundle(ctx, element.Descriptor.ValueString(), element.Digest.ValueString())
		if needsUnknown(err) {
			return nil, "the credentials for bundle " + name
		}
		if err != nil {
			diags.AddAttributeError(path.Root("bundles"), who+": cannot read bundle "+name,
				sentence(err)+"\n\nNothing was changed on any cluster.")
			return nil, ""
		}
		bundles = append(bundles, content)
	}
	return bundles, ""
}
