package provider

import (
	"context"
	"errors"
	"maps"
	"os"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/bundle"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/chart"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/deploy/run"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/diagnostics"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/fetch"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/framework"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/git"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/report"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/sops"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/source"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/target"
)

// bundleTypes are the attributes of one element of `bundles`. In this attribute, fleet_gitrepo and
// fleet_bundle pass bundles to fleet_cluster_target.
func bundleTypes() map[string]attr.Type {
	return framework.StringTypes("digest", "chart", "version", "path", "descriptor")
}

func bundleObjectType() types.ObjectType { return types.ObjectType{AttrTypes: bundleTypes()} }

// bundlesAttribute is the computed map of bundles. It is sensitive as a whole, so that a plan shows
// one line for it. contentsAttribute is the readable form.
func bundlesAttribute() schema.MapNestedAttribute {
	return schema.MapNestedAttribute{
		Computed: true, Sensitive: true,
		MarkdownDescription: "The bundles by name, for `bundles` of a `fleet_cluster_target`. Sensitive as a whole, so that a plan shows one line; `contents` shows what is in it. " +
			"A `for` expression can select some of them for a target. Where Terraform refuses a sensitive value, as in `for_each`, use `contents`.",
		NestedObject: schema.NestedAttributeObject{Attributes: map[string]schema.Attribute{
			"digest":  framework.ComputedString("Digest of the files and options of the bundle. A commit that changes neither does not change it."),
			"chart":   framework.ComputedString("Name of the Helm chart."),
			"version": framework.ComputedString("Version of the Helm chart."),
			"path":    framework.ComputedString("Folder of the bundle in its source."),
			// Not sensitive by itself: Terraform compares every value with the path of every sensitive one.
			"descriptor": framework.ComputedString("How another process builds exactly this bundle again. For the provider only; contains no credentials."),
		}},
	}
}

// contentsAttribute is the computed map with a short description of each bundle.
func contentsAttribute() schema.MapAttribute {
	return schema.MapAttribute{
		Computed: true, ElementType: types.StringType,
		MarkdownDescription: "What is in the bundles, by their names, always in three words: chart and version (the name alone if the bundle has no chart), path, and the first eight digits of the digest, such as `web-1.0.0 apps/web ac881d87`. " +
			"A plan shows here which bundles change, and `for_each` can use it. The path of the root is `.`; white space, control characters and `%` are percent-encoded. " +
			"Unknown as long as the bundles are unknown.",
	}
}

// contentsOf returns the description of each bundle of a map. The description of an unknown bundle
// is unknown.
func contentsOf(bundles types.Map) types.Map {
	if bundles.IsUnknown() {
		return types.MapUnknown(types.StringType)
	}
	if bundles.IsNull() {
		return types.MapNull(types.StringType)
	}
	values := make(map[string]attr.Value, len(bundles.Elements()))
	for name, listed := range listedOf(bundles) {
		values[name] = types.StringUnknown()
		if listed.IsKnown {
			values[name] = types.StringValue(listed.Content())
		}
	}
	return types.MapValueMust(types.StringType, values)
}

func valueOfElement(e source.Element) types.Object {
	values := framework.StringValues(map[string]string{"digest": e.Digest, "chart": e.Chart, "version": e.Version, "path": e.Path, "descriptor": e.Descriptor})
	if e.Descriptor == "" {
		values["descriptor"] = types.StringUnknown()
	}
	return types.ObjectValueMust(bundleTypes(), values)
}

// listedOf reads the elements of a map of bundles. It returns nil if the map is unknown.
func listedOf(bundles types.Map) map[string]source.Listed {
	if bundles.IsUnknown() {
		return nil
	}
	listed := make(map[string]source.Listed, len(bundles.Elements()))
	for name, value := range bundles.Elements() {
		object, ok := value.(types.Object)
		if !ok || object.IsUnknown() || object.IsNull() {
			listed[name] = source.Listed{}
			continue
		}
		texts := framework.KnownStrings(object.Attributes())
		listed[name] = source.Listed{
			Element: source.Element{Digest: texts["digest"], Chart: texts["chart"], Version: texts["version"], Path: texts["path"], Descriptor: texts["descriptor"]},
			IsKnown: !object.Attributes()["digest"].IsUnknown(),
		}
	}
	return listed
}

// elementsOf reads the known elements of a map of bundles.
func elementsOf(bundles types.Map) map[string]source.Element {
	found := map[string]source.Element{}
	for name, listed := range listedOf(bundles) {
		if listed.IsKnown {
			found[name] = listed.Element
		}
	}
	return found
}

// elementsIn reads the known elements of a bundles attribute. The names of its bundles are unique.
func elementsIn(bundles types.List) map[string]source.Element {
	found := map[string]source.Element{}
	for _, value := range bundles.Elements() {
		if of, ok := value.(types.Map); ok {
			maps.Copy(found, elementsOf(of))
		}
	}
	return found
}

// bundlesOf converts elements to a Terraform map.
func bundlesOf(elements map[string]source.Element) types.Map {
	values := make(map[string]attr.Value, len(elements))
	for name, element := range elements {
		values[name] = valueOfElement(element)
	}
	return types.MapValueMust(bundleObjectType(), values)
}

// readBundles reads the bundles of a bundles attribute. reason names what is not known yet, "" if
// everything is known. user is named in errors. A bundle that cannot be read is added to
// unreadable; if unreadable is nil, it is an error.
func (p *providerData) readBundles(ctx context.Context, user string, list types.List, unreadable map[string]error, diags *diag.Diagnostics) (bundles []*bundle.Bundle, reason string) {
	listed := make([]map[string]source.Listed, len(list.Elements()))
	for i, value := range list.Elements() {
		if of, ok := value.(types.Map); ok {
			listed[i] = listedOf(of)
		}
	}
	if list.IsUnknown() {
		return nil, "the bundles"
	}
	reader := source.BundleReader{Store: p.source, NeedsUnknown: needsUnknown, Unreadable: unreadable}
	bundles, reason, err := reader.Read(ctx, listed)
	diagnostics.Add(diags, report.UnreadBundles(user, err, otherBlock))
	return bundles, reason
}

// otherBlock is the advice about a server that refuses access to a bundle, or to its files. The
// resource of the bundle has read the same before.
func otherBlock(err error) string {
	var (
		refused *git.AuthenticationError
		hidden  *git.RepositoryNotFoundError
		local   *fetch.ConnectError
		locked  *sops.NoKeyError
		denied  *chart.FetchError
	)
	isGit := errors.As(err, &refused) || errors.As(err, &hidden) || errors.As(err, &local)
	isChart := errors.As(err, &denied) && (denied.Reason == chart.Unauthorized || denied.Reason == chart.NoLogin)
	if isGit || isChart || errors.As(err, &locked) {
		return report.OtherBlockAdvice
	}
	return ""
}

// describer returns a function that describes the provenance of a deployment.
func describer(name string, bundles types.List) func(target.Deployment) string {
	commits := source.Commits(elementsIn(bundles))
	return func(d target.Deployment) string {
		return run.Provenance(name, d, commits[d.Bundle.Name], os.Getenv)
	}
}
