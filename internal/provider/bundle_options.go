package provider

import (
	"maps"
	"regexp"

	"github.com/hashicorp/terraform-plugin-framework-validators/int64validator"
	"github.com/hashicorp/terraform-plugin-framework-validators/listvalidator"
	"github.com/hashicorp/terraform-plugin-framework-validators/stringvalidator"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/fleetyaml"
)

func textAttribute(description string) schema.StringAttribute {
	return schema.StringAttribute{Optional: true, MarkdownDescription: description}
}

func flagAttribute(description string) schema.BoolAttribute {
	return schema.BoolAttribute{Optional: true, MarkdownDescription: description}
}

func numberAttribute(description string) schema.Int64Attribute {
	return schema.Int64Attribute{Optional: true, MarkdownDescription: description, Validators: []validator.Int64{int64validator.AtLeast(0)}}
}

func textsAttribute(description string) schema.ListAttribute {
	return schema.ListAttribute{Optional: true, ElementType: types.StringType, MarkdownDescription: description}
}

func textMapAttribute(description string) schema.MapAttribute {
	return schema.MapAttribute{Optional: true, ElementType: types.StringType, MarkdownDescription: description}
}

func objectAttribute(description string, attributes map[string]schema.Attribute) schema.SingleNestedAttribute {
	return schema.SingleNestedAttribute{Optional: true, MarkdownDescription: description, Attributes: attributes}
}

func objectsAttribute(description string, attributes map[string]schema.Attribute) schema.ListNestedAttribute {
	return schema.ListNestedAttribute{
		Optional: true, MarkdownDescription: description,
		NestedObject: schema.NestedAttributeObject{Attributes: attributes},
	}
}

// definitionAttributes are the keys of a fleet.yaml's root that are not options.
func definitionAttributes() map[string]schema.Attribute {
	return map[string]schema.Attribute{
		"labels":      textMapAttribute("Labels of the bundle, which `depends_on_bundles` of others can select."),
		"annotations": textMapAttribute("Annotations of the bundle."),
		"paused":      flagAttribute("Hold the bundle back: changes are planned as held, and what is there stays as it is."),
		"depends_on_bundles": objectsAttribute("Bundles that must be deployed on a cluster before this one, as `dependsOn` in fleet.yaml. "+
			"They are bundles of the same target, or, by name alone, of another target with the same owner that stands in its `depends_on`.", map[string]schema.Attribute{
			"name":            textAttribute("Name of the bundle, as `bundles` says it."),
			"selector":        objectAttribute("The bundles of the target with these labels; all that match count.", selectorAttributes()),
			"accepted_states": textsAttribute("States in which a bundle does not keep others waiting. Default: `Ready`."),
		}),
		"rollout_strategy": objectAttribute("How many clusters change at once, and which of them first. Without it, clusters do not wait for each other.", rolloutAttributes()),
		"target_customizations": objectsAttribute("What differs from cluster to cluster: the first entry that matches a cluster is laid on the options of the bundle.",
			customizationAttributes()),
		"target_customization_mode": schema.StringAttribute{
			Optional:            true,
			MarkdownDescription: "`FirstMatch` (default) or `AllMatches`: whether only the first matching customization counts, or all in their order.",
			Validators:          []validator.String{stringvalidator.OneOf(fleetyaml.FirstMatch, fleetyaml.AllMatches)},
		},
		"override_targets": schema.ListNestedAttribute{
			Optional:            true,
			MarkdownDescription: "Rules that take the place of those of the target, for this bundle.",
			Validators:          []validator.List{listvalidator.SizeAtLeast(1)},
			NestedObject:        schema.NestedAttributeObject{Attributes: choiceAttributes()},
		},
	}
}

// choiceAttributes choose clusters, or keep a bundle off them.
func choiceAttributes() map[string]schema.Attribute {
	attributes := ruleAttributes()
	attributes["name"] = textAttribute("Name of the entry, for messages.")
	attributes["do_not_deploy"] = flagAttribute("Keep the bundle off the clusters that match.")
	return attributes
}

func customizationAttributes() map[string]schema.Attribute {
	attributes := choiceAttributes()
	maps.Copy(attributes, optionAttributes())
	return attributes
}

// optionAttributes say how a bundle becomes a release. They stand at the root
// and in each customization.
func optionAttributes() map[string]schema.Attribute {
	return map[string]schema.Attribute{
		"default_namespace":     textAttribute("Namespace of the release, and of objects that name none."),
		"namespace":             textAttribute("Namespace of the release and of all its objects; a cluster-scoped object is an error."),
		"namespace_labels":      textMapAttribute("Labels of the namespace of the release. Other labels of it stay as they are."),
		"namespace_annotations": textMapAttribute("Annotations of the namespace of the release. Other annotations of it stay as they are."),
		"create_namespace":      flagAttribute("Whether the namespace of the release is made. Default `true`."),
		"helm":                  objectAttribute("How the Helm release is made, as `helm` in fleet.yaml.", helmAttributes()),
		"kustomize": objectAttribute("Options for kustomize.", map[string]schema.Attribute{
			"dir": textAttribute("Folder of the bundle with the kustomization.yaml."),
		}),
		"yaml": objectAttribute("Options for plain manifests.", map[string]schema.Attribute{
			"overlays": textsAttribute("Folders below `overlays/` that are laid over the manifests, in this order."),
		}),
		"diff": objectAttribute("Differences between wanted and live objects that do not count.", map[string]schema.Attribute{
			"compare_patches": objectsAttribute("Objects, and what of them is not compared.", comparePatchAttributes()),
		}),
		"ignore": objectAttribute("What does not count for readiness.", map[string]schema.Attribute{
			"conditions": schema.ListAttribute{
				Optional: true, ElementType: types.MapType{ElemType: types.StringType},
				MarkdownDescription: "Conditions of objects that are left out; one that has all keys and values of an entry is meant.",
			},
		}),
		"correct_drift":         objectAttribute("Whether changes made on the cluster are taken back.", correctDriftAttributes()),
		"service_account":       textAttribute("Service account of the namespace `cattle-fleet-system` on the cluster that the release is installed and removed as."),
		"force_sync_generation": numberAttribute("Another number deploys the bundle again."),
		"keep_resources":        flagAttribute("Leave the objects on the cluster when the bundle leaves it: only the release record is removed."),
		"delete_namespace":      flagAttribute("Delete the namespace of the release when the bundle leaves the cluster, if it was made for a release of this `owner` and nothing else is in it."),
		"delete_crd_resources":  flagAttribute("Delete custom resource definitions when the bundle leaves the cluster."),
	}
}

func helmAttributes() map[string]schema.Attribute {
	reference := map[string]schema.Attribute{
		"name":      schema.StringAttribute{Required: true, MarkdownDescription: "Its name."},
		"namespace": textAttribute("Its namespace. Default: that of the release."),
		"key":       textAttribute("Key that holds the values. Default `values.yaml`."),
	}
	return map[string]schema.Attribute{
		"chart":        textAttribute("Folder of the chart inside the bundle. Default: the bundle itself."),
		"repo":         textAttribute("Repository of the chart, for a chart kept elsewhere than the other files of the bundle."),
		"version":      textAttribute("Version of a chart kept elsewhere, or a constraint."),
		"release_name": textAttribute("Name of the release. Default: made from the bundle's name."),
		"values": schema.StringAttribute{
			Optional: true, CustomType: yamlType{},
			MarkdownDescription: "Values as YAML or JSON, for example by `yamlencode`. `${ }` in them is a template over the cluster's facts (written `$${ }` in HCL).",
		},
		"values_files": textsAttribute("Files of the bundle with values; later ones win, and all win over `values`."),
		"values_from": objectsAttribute("Values in a ConfigMap or Secret of the cluster; later ones win, and all win over other values.", map[string]schema.Attribute{
			"config_map_key_ref": objectAttribute("A ConfigMap.", reference),
			"secret_key_ref":     objectAttribute("A Secret.", reference),
		}),
		"template_values":           textMapAttribute("Top-level values made by a template each."),
		"timeout_seconds":           numberAttribute("How long to wait for the release's objects to be ready."),
		"max_history":               numberAttribute("Revisions kept, instead of the target's `max_history`."),
		"atomic":                    flagAttribute("Roll back when an install or upgrade fails."),
		"force":                     flagAttribute("Replace objects that cannot be changed."),
		"take_ownership":            flagAttribute("Adopt objects that exist already."),
		"wait_for_jobs":             flagAttribute("Wait until jobs are complete."),
		"disable_pre_process":       flagAttribute("Do not run `${ }` templates in values."),
		"disable_dns":               flagAttribute("Do not let templates look up host names."),
		"skip_schema_validation":    flagAttribute("Do not check values against the chart's schema."),
		"disable_dependency_update": flagAttribute("Do not fetch what the chart depends on."),
	}
}

func comparePatchAttributes() map[string]schema.Attribute {
	return map[string]schema.Attribute{
		"api_version": textAttribute("API version of the objects."),
		"kind":        textAttribute("Kind of the objects."),
		"namespace":   textAttribute("Namespace of the objects."),
		"name":        textAttribute("Name of the objects; for `ignore`, a regular expression."),
		"operations": objectsAttribute("JSON patch operations that are run on both sides first. They hold for exactly this `api_version`, `kind`, `namespace` and `name`, and count for nothing when one of them fails.", map[string]schema.Attribute{
			"op":    textAttribute("`remove`, `add`, `replace` or `test`, or `ignore`: such an object may be missing."),
			"path":  textAttribute("JSON pointer to what is changed."),
			"value": textAttribute("The new value."),
		}),
		"json_pointers": textsAttribute("JSON pointers to what is not compared. They hold for any version of the kind, and for any name and namespace that is not given."),
	}
}

func correctDriftAttributes() map[string]schema.Attribute {
	return map[string]schema.Attribute{
		"enabled":           flagAttribute("Take changes back, as without a word. `false` only reports them."),
		"force":             flagAttribute("Replace objects instead of changing them."),
		"keep_fail_history": flagAttribute("No effect: failed revisions are always kept, as far as the history goes."),
	}
}

func rolloutAttributes() map[string]schema.Attribute {
	count := func(description string) schema.StringAttribute {
		return schema.StringAttribute{
			Optional: true, MarkdownDescription: description + " A number, or a percentage such as `25%`.",
			Validators: []validator.String{stringvalidator.RegexMatches(regexp.MustCompile(`^\d+%?$`), "must be a number or a percentage")},
		}
	}
	partition := ruleAttributes()
	partition["name"] = textAttribute("Name of the partition.")
	partition["max_unavailable"] = count("How many of its clusters may be unavailable: while it is upgraded, and for the next partition to be begun. Default: that of the strategy.")
	return map[string]schema.Attribute{
		"max_unavailable":            count("How many clusters may be unavailable for others to be upgraded. A cluster that is being upgraded, is not ready or does not answer is unavailable; a first installation is not limited by it. 0 upgrades nothing that is ready. Default `100%`."),
		"max_unavailable_partitions": count("How many partitions may have more unavailable clusters than they may have. After one more, the later partitions are held. Default 0."),
		"auto_partition_size":        count("Size of the partitions that are made when none are given. Default `25%`."),
		"auto_partition_threshold":   numberAttribute("Number of clusters from which on partitions are made. Default 200."),
		"max_new":                    numberAttribute("How many clusters get the bundle for the first time at once. Default 50."),
		"partitions":                 objectsAttribute("Sets of clusters that change together, one set after the other. A cluster in none of them never gets the bundle.", partition),
	}
}
