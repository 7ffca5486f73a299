// Package fleetschema describes Fleet's terms as attributes of Terraform: selectors, rules for
// clusters and the options of a fleet.yaml. It turns their values into plain ones.
package fleetschema

import (
	"maps"
	"regexp"

	"github.com/hashicorp/terraform-plugin-framework-validators/listvalidator"
	"github.com/hashicorp/terraform-plugin-framework-validators/stringvalidator"
	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/fleetyaml"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/framework"
)

// Definition returns the keys of a fleet.yaml's root that are not options.
func Definition() map[string]schema.Attribute {
	return map[string]schema.Attribute{
		"labels": framework.OptionalStringMap("Labels of the bundle. Other bundles can select them in `depends_on_bundles`."),
		"annotations": framework.OptionalStringMap(
			"Annotations of the bundle. They have no effect, because no Bundle object exists; the plan warns."),
		"paused":             framework.OptionalBool("Pause the bundle: changes are planned as held, and existing deployments stay as they are."),
		"depends_on_bundles": dependencies(),
		"rollout_strategy": framework.OptionalObject("How many clusters change at once, and which clusters change first. Without "+
			"it, clusters do not wait for each other.", rolloutAttributes()),
		"target_customizations": OptionalRules("Options that differ between clusters: the first entry that matches a cluster is "+
			"merged into the options of the bundle.",
			customizationAttributes()),
		"target_customization_mode": schema.StringAttribute{
			Optional: true,
			MarkdownDescription: "`FirstMatch` (default) or `AllMatches`: whether only the first matching customization counts, or " +
				"all in their order.",
			Validators: []validator.String{stringvalidator.OneOf(fleetyaml.FirstMatch, fleetyaml.AllMatches)},
		},
		"override_targets": schema.ListNestedAttribute{
			Optional:            true,
			MarkdownDescription: "Rules that replace the rules of the target for this bundle.",
			Validators:          []validator.List{listvalidator.SizeAtLeast(1)},
			NestedObject:        Rules(choiceAttributes()),
		},
	}
}

func dependencies() schema.ListNestedAttribute {
	return schema.ListNestedAttribute{
		Optional: true,
		MarkdownDescription: "Bundles that must be deployed on a cluster before this one, as `dependsOn` in fleet.yaml. " +
			"They are bundles of the same target, or of another target with the same owner that is listed in its `depends_on`. Those " +
			"are found by name only.",
		NestedObject: schema.NestedAttributeObject{
			Attributes: map[string]schema.Attribute{
				"name":            framework.OptionalString("Name of the bundle, as in `bundles`."),
				"selector":        SelectorObject("The bundles of the target with these labels. All matching bundles count."),
				"accepted_states": framework.OptionalStrings("States of a bundle in which bundles that depend on it are deployed. Default: `Ready`."),
			},
			Validators: []validator.Object{framework.Criteria{"name", "selector"}},
		},
	}
}

// choiceAttributes returns the attributes that select clusters for a bundle, or exclude them.
func choiceAttributes() map[string]schema.Attribute {
	attributes := Rule()
	attributes["name"] = framework.OptionalString("Name of the entry, for readers. It has no effect.")
	attributes["do_not_deploy"] = framework.OptionalBool("Do not deploy the bundle to the clusters that match.")
	return attributes
}

func customizationAttributes() map[string]schema.Attribute {
	attributes := choiceAttributes()
	maps.Copy(attributes, Options())
	return attributes
}

// Options returns the keys that decide how a bundle becomes a release. A fleet.yaml has them at its root
// and in each customization.
func Options() map[string]schema.Attribute {
	return map[string]schema.Attribute{
		"default_namespace": framework.OptionalString("Namespace of the release, and of objects without a namespace. Default: `default`."),
		"namespace": framework.OptionalString(
			"Namespace of the release and of all its objects; a cluster-scoped object is an error."),
		"namespace_labels": framework.OptionalStringMap(
			"Labels of the namespace of the release. Their values are templated as values of a chart. Its other labels stay as they are."),
		"namespace_annotations": framework.OptionalStringMap(
			"Annotations of the namespace of the release, templated as `namespace_labels`. Its other annotations stay as they are."),
		"create_namespace": framework.OptionalBool(
			"Whether the namespace of the release is created. Default `true`, or `false` where `fleet_policies` of the provider require it."),
		"helm": framework.OptionalObject("Options of the Helm release, as `helm` in fleet.yaml.", helmAttributes()),
		"kustomize": framework.OptionalObject("Options for kustomize.", map[string]schema.Attribute{
			"dir": framework.OptionalString("Folder of the bundle with the kustomization.yaml."),
		}),
		"yaml": framework.OptionalObject("Options for plain manifests.", map[string]schema.Attribute{
			"overlays": framework.OptionalStrings("Folders below `overlays/` that are applied over the manifests, in this order. They " +
				"have no effect on a Helm chart or a kustomization."),
		}),
		"diff": framework.OptionalObject("Differences between wanted and live objects that are ignored.", map[string]schema.Attribute{
			"compare_patches": framework.OptionalObjects("Objects, and the parts of them that are not compared.", comparePatchAttributes()),
		}),
		"ignore": framework.OptionalObject("Conditions that are ignored for readiness.", map[string]schema.Attribute{
			"conditions": schema.ListAttribute{
				Optional: true, ElementType: types.MapType{ElemType: types.StringType},
				MarkdownDescription: "Conditions to ignore. An entry matches a condition that has all its keys and values.",
			},
		}),
		"correct_drift": framework.OptionalObject("Whether changes made on the cluster are reverted.", CorrectDrift()),
		"service_account": framework.OptionalString(
			"Service account that installs and removes the release. It is in the namespace `cattle-fleet-system` of the cluster."),
		"force_sync_generation": framework.OptionalNumber(
			"A changed number makes a new revision of each release. Pods whose objects do not change are not restarted."),
		"keep_resources": framework.OptionalBool(
			"Keep the objects when the bundle is removed from a cluster: only the release record is removed."),
		"delete_namespace": framework.OptionalBool("Delete the namespace of the release when the bundle is removed from the " +
			"cluster. It is deleted only if it was created for a release of this `owner` and contains nothing else."),
		"delete_crd_resources": framework.OptionalBool("Delete custom resource definitions when the bundle is removed from the cluster."),
	}
}

func helmAttributes() map[string]schema.Attribute {
	reference := map[string]schema.Attribute{
		"name":      framework.RequiredString("Its name."),
		"namespace": framework.OptionalString("Its namespace. Default: that of the release."),
		"key":       framework.OptionalString("Key of the values. Default `values.yaml`."),
	}
	return map[string]schema.Attribute{
		"chart": framework.OptionalString("Folder of the chart inside the bundle. Default: the bundle itself."),
		"repo":  framework.OptionalString("Repository of the chart, for a chart outside the bundle."),
		"version": framework.OptionalString("Version of a chart outside the bundle, or a constraint. It has no effect on a " +
			"chart in the bundle."),
		"release_name": framework.OptionalString("Name of the release. Default: derived from the bundle's name, as the function `release_name` does."),
		"values": schema.StringAttribute{
			Optional: true, CustomType: framework.YAMLType{},
			MarkdownDescription: "Values as YAML or JSON, for example by `yamlencode`. `${ }` in them is a template over the " +
				"cluster's facts (written `$${ }` in HCL).",
		},
		"values_files": framework.OptionalStrings("Files of the bundle with values. Later files override earlier ones, and all " +
			"override `values`."),
		"values_from": framework.OptionalObjects("Values in a ConfigMap or Secret of the cluster. Later entries override earlier "+
			"ones, and all override other values.", map[string]schema.Attribute{
			"config_map_key_ref": framework.OptionalObject("A ConfigMap.", reference),
			"secret_key_ref":     framework.OptionalObject("A Secret.", reference),
		}),
		"template_values": framework.OptionalStringMap("Top-level values, each from a template."),
		"timeout_seconds": framework.OptionalNumber("How long to wait for the release's objects to be ready. Default: `deployment_timeout` of the target."),
		"max_history":     framework.OptionalNumber("Revisions to keep, instead of the target's `max_history`."),
		"atomic": framework.OptionalBool("Roll back when an install or upgrade fails. Waits until the objects are ready, " +
			"also where the target has `wait = false`."),
		"force": framework.OptionalBool("Delete an object and create it again if the apply changes a field of it that no update " +
			"can change, such as `spec.template` of a Job. Other objects are updated as without it. " +
			"The plan lists the objects. The pods of a StatefulSet stay, unless its selector changes. Volumes, their claims and " +
			"custom resource definitions are never deleted."),
		"take_ownership": framework.OptionalBool("Take over objects that exist and belong to no release, or to another one. It " +
			"counts in every apply, and for no releases. " +
			"For releases, and for one apply alone, use `take_ownership_of` of the `fleet_cluster_target`."),
		"wait_for_jobs":             framework.OptionalBool("Wait until jobs are complete."),
		"disable_pre_process":       framework.OptionalBool("Do not run `${ }` templates in values."),
		"disable_dns":               framework.OptionalBool("Do not let templates look up host names."),
		"skip_schema_validation":    framework.OptionalBool("Do not check values against the chart's schema."),
		"crds":                      CRDs("Default: `crds` of the `fleet_cluster_target`, else `create`."),
		"disable_dependency_update": framework.OptionalBool("Do not fetch dependencies of the chart. It has no effect in a customization."),
	}
}

// CRDs returns the attribute for crds/ of charts, which Fleet lacks. missing describes its default.
func CRDs(missing string) schema.StringAttribute {
	return schema.StringAttribute{
		Optional: true,
		MarkdownDescription: "What happens to custom resource definitions in `crds/` of charts. `create`: as in Helm and Fleet, " +
			"missing ones are created when the release is installed, and an upgrade " +
			"changes none; the plan lists the definitions that it does not apply. `create_replace`: missing ones are created and " +
			"differing ones replaced, also by an upgrade; the plan lists them. " +
			"`skip`: none is applied. Definitions in `crds/` are never deleted, and `helm.atomic` does not roll them back. " + missing,
		Validators: []validator.String{stringvalidator.OneOf(fleetyaml.CRDsCreate, fleetyaml.CRDsCreateReplace, fleetyaml.CRDsSkip)},
	}
}

func comparePatchAttributes() map[string]schema.Attribute {
	return map[string]schema.Attribute{
		"api_version": framework.OptionalString("API version of the objects."),
		"kind":        framework.OptionalString("Kind of the objects."),
		"namespace":   framework.OptionalString("Namespace of the objects."),
		"name":        framework.OptionalString("Name of the objects; for `ignore`, a regular expression."),
		"operations": framework.OptionalObjects("JSON patch operations that are applied to both objects before the comparison. "+
			"They apply to exactly this `api_version`, `kind`, `namespace` and `name`. If one of them fails, none has an "+
			"effect.", map[string]schema.Attribute{
			"op":    framework.OptionalString("`remove`, `add`, `replace` or `test`, or `ignore`: the object may be missing."),
			"path":  framework.OptionalString("JSON pointer to the changed field."),
			"value": framework.OptionalString("The new value."),
		}),
		"json_pointers": framework.OptionalStrings(
			"JSON pointers to fields that are not compared. They apply to any version of the kind, and to any name or namespace if none is given."),
	}
}

// CorrectDrift returns the options for drift.
func CorrectDrift() map[string]schema.Attribute {
	return map[string]schema.Attribute{
		"enabled":           framework.OptionalBool("Whether an apply corrects drift. Default `true`; `false` only reports it."),
		"force":             framework.OptionalBool("Delete objects that cannot be updated, and create them again, as `helm.force`."),
		"keep_fail_history": framework.OptionalBool("No effect: failed revisions are always kept, within the limit of the history."),
	}
}

func rolloutAttributes() map[string]schema.Attribute {
	count := func(description string) schema.StringAttribute {
		return schema.StringAttribute{
			Optional: true, MarkdownDescription: description + " A number, or a percentage such as `25%`.",
			Validators: []validator.String{stringvalidator.RegexMatches(regexp.MustCompile(`^\d+%?$`), "must be a number or a percentage")},
		}
	}
	partition := Rule()
	partition["name"] = framework.OptionalString("Name of the partition.")
	partition["max_unavailable"] = count("How many of its clusters may be unavailable: while it is upgraded, and before the " +
		"next partition starts. Default: the value of the strategy.")
	return map[string]schema.Attribute{
		"max_unavailable": count("How many clusters may be unavailable while others are upgraded. A cluster is " +
			"unavailable if it is being upgraded, is not ready or does not respond. It does not limit a first installation. 0 " +
			"upgrades no ready deployment. Default `100%`."),
		"max_unavailable_partitions": count("How many partitions may exceed their number of unavailable clusters. If one more " +
			"does, the later partitions are held. Default 0."),
		"auto_partition_size":      count("Size of the automatic partitions, which are used if `partitions` is not set. Default `25%`."),
		"auto_partition_threshold": framework.OptionalNumber("Number of clusters from which automatic partitions are used. Default 200."),
		"max_new": framework.OptionalNumber(
			"How many clusters may get their first installation of the bundle at the same time. Default 50."),
		"partitions": OptionalRules(
			"Sets of clusters that change together, one set after the other. A cluster in no partition never gets the bundle.", partition),
	}
}

// DefinitionOf returns the definition of attributes that are named like the keys of a fleet.yaml,
// in snake case.
func DefinitionOf(attributes map[string]attr.Value) (fleetyaml.Definition, error) {
	options := framework.Conversion{Object: func(object map[string]any) any { return fleetyaml.Attributes(object) }}
	fields, err := options.Fields(attributes)
	if err != nil {
		return fleetyaml.Definition{}, err
	}
	return fleetyaml.Attributes(fields).Definition()
}
