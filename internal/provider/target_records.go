package provider

import (
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/deploy"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/release"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/status"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/target"
)

// recordsAttribute is what a removal needs. It stands in the state and not in private
// state: the Delete of a tainted resource is not given the stored private state.
func recordsAttribute() schema.MapNestedAttribute {
	text := func(description string) schema.StringAttribute {
		return schema.StringAttribute{Computed: true, MarkdownDescription: description}
	}
	flag := func(description string) schema.BoolAttribute {
		return schema.BoolAttribute{Computed: true, MarkdownDescription: description}
	}
	return schema.MapNestedAttribute{
		Computed: true, Sensitive: true,
		MarkdownDescription: "What the provider knows of each release, by `cluster/bundle`. Only these releases are ever removed, and only as it stands here: " +
			"what a release record in a cluster says is a claim. A release that a failed move left behind has the key `cluster/bundle namespace/release`.",
		NestedObject: schema.NestedAttributeObject{Attributes: map[string]schema.Attribute{
			"release":          text("Name of the Helm release."),
			"namespace":        text("Namespace of the Helm release."),
			"cluster_uid":      text("UID of the namespace `kube-system` of the cluster."),
			"instance":         text("Id of the target on the release record."),
			"digest":           text("Digest of the deployment, in full."),
			"content":          text("Digest of the manifest and the hooks in the release record, as this target wrote or verified them. If the record has others, no hook of it is run and no rollback uses it."),
			"service_account":  text("Service account that acts on the release."),
			"target_namespace": text("The one namespace that all objects of the release are in."),
			"keep_resources":   flag("The removal leaves the objects where they are."),
			"delete_namespace": flag("The removal deletes the namespace with the last release in it."),
			"namespace_keys":   flag("The release has labels or annotations on its namespace."),
			"own_values":       flag("No value came from the cluster."),
		}},
	}
}

func knownTypes() map[string]attr.Type {
	made := map[string]attr.Type{}
	for name, attribute := range recordsAttribute().NestedObject.Attributes {
		made[name] = attribute.GetType()
	}
	return made
}

func knownType() types.ObjectType { return types.ObjectType{AttrTypes: knownTypes()} }

func knownValue(known release.Known) types.Object {
	return types.ObjectValueMust(knownTypes(), map[string]attr.Value{
		"release":          types.StringValue(known.Release),
		"namespace":        types.StringValue(known.Namespace),
		"cluster_uid":      types.StringValue(known.UID),
		"instance":         types.StringValue(known.Instance),
		"digest":           types.StringValue(known.Digest),
		"content":          types.StringValue(known.Content),
		"service_account":  types.StringValue(known.Terms.ServiceAccount),
		"target_namespace": types.StringValue(known.TargetNamespace),
		"keep_resources":   types.BoolValue(known.Terms.KeepResources),
		"delete_namespace": types.BoolValue(known.Terms.DeleteNamespace),
		"namespace_keys":   types.BoolValue(known.Terms.NamespaceKeys),
		"own_values":       types.BoolValue(known.Terms.OwnValues),
	})
}

// knownOf leaves Terraform.
func knownOf(value types.Object) release.Known {
	attributes := value.Attributes()
	text := func(name string) string {
		found, _ := attributes[name].(types.String)
		return found.ValueString()
	}
	flag := func(name string) bool {
		found, _ := attributes[name].(types.Bool)
		return found.ValueBool()
	}
	return release.Known{
		Release: text("release"), Namespace: text("namespace"), UID: text("cluster_uid"), Instance: text("instance"),
		Digest: text("digest"), Content: text("content"), TargetNamespace: text("target_namespace"),
		Terms: release.Terms{
			ServiceAccount: text("service_account"), KeepResources: flag("keep_resources"), DeleteNamespace: flag("delete_namespace"),
			NamespaceKeys: flag("namespace_keys"), OwnValues: flag("own_values"),
		},
	}
}

// knownReleases are the elements of records, by deployment: the current release, and those
// that a failed move left.
func (m *targetModel) knownReleases() (current map[deploy.Key]release.Known, left map[deploy.Key][]release.Known) {
	current, left = map[deploy.Key]release.Known{}, map[deploy.Key][]release.Known{}
	elements := m.Records.Elements()
	for _, name := range slices.Sorted(maps.Keys(elements)) {
		value, ok := elements[name].(types.Object)
		if !ok || value.IsUnknown() || value.IsNull() {
			continue
		}
		deployment, _, isLeft := strings.Cut(name, " ")
		cluster, bundle, _ := strings.Cut(deployment, "/")
		key := deploy.Key{Cluster: cluster, Bundle: bundle}
		if isLeft {
			left[key] = append(left[key], knownOf(value))
			continue
		}
		current[key] = knownOf(value)
	}
	return current, left
}

// lostReleases are those in records without a deployment: they were not on their cluster
// when it was last looked at. Should their objects be there, they are this target's.
func (m *targetModel) lostReleases() map[deploy.Key]release.Known {
	lost, _ := m.knownReleases()
	for name := range m.Deployments.Elements() {
		cluster, bundle, _ := strings.Cut(name, "/")
		delete(lost, deploy.Key{Cluster: cluster, Bundle: bundle})
	}
	return lost
}

// wantedLost are the lost releases of wanted deployments.
func (m *targetModel) wantedLost(wanted []target.Deployment) map[deploy.Key]release.Known {
	lost, kept := m.lostReleases(), map[deploy.Key]release.Known{}
	for _, d := range wanted {
		if known, is := lost[keyOf(d)]; is {
			kept[keyOf(d)] = known
		}
	}
	return kept
}

// withLost are records and, as to be looked for again, the releases that were lost.
func withLost(records map[deploy.Key]deploy.Record, lost map[deploy.Key]release.Known) map[deploy.Key]deploy.Record {
	all := maps.Clone(records)
	for key, known := range lost {
		all[key] = deploy.Record{
			Release: known.Release, Namespace: known.Namespace, State: status.WaitApplied, Message: "it was gone and is there again", Known: known,
		}
	}
	return all
}

// addKnown adds what is known of a deployment to the elements of records.
func addKnown(to map[string]attr.Value, key deploy.Key, record deploy.Record) {
	known := record.Known
	known.Release, known.Namespace = record.Release, record.Namespace
	to[key.String()] = knownValue(known)
	for _, left := range record.Left {
		to[key.String()+" "+release.Key(left.Namespace, left.Release)] = knownValue(left)
	}
}
