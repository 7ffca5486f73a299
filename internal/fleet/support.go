package fleet

import (
	"slices"
	"strings"
)

// Effect is the effect of an attribute with an engine.
type Effect string

// The effects of attributes.
const (
	// Same is the same effect as without an engine.
	Same Effect = "same"
	// Differs is another effect, or none. The plan succeeds.
	Differs Effect = "differs"
	// Refused is an error of the plan.
	Refused Effect = "error"
)

// Support is the effect of some attributes with an engine.
type Support struct {
	// Attributes are paths in HCL, such as "helm.crds". Attributes below them are included unless
	// they have a row of their own.
	Attributes []string
	Effect     Effect
	// Values are the refused values, "" for all.
	Values string
	// Text describes what differs, or why the attribute is refused. It is "" for Same.
	Text string
}

// SupportSection is the attributes of the provider or of one resource.
type SupportSection struct {
	// Of is "provider" or the type of a resource.
	Of   string
	Rows []Support
}

// differingValues describes the refused values of an option that Fleet has once for all clusters of
// a bundle.
const differingValues = "values that differ between clusters"

// SupportTable returns the effect of each attribute with an engine. Errors of plans and the guide
// are made from it.
func SupportTable() []SupportSection {
	return []SupportSection{
		{Of: "provider", Rows: providerSupport()},
		{Of: "fleet_cluster_target", Rows: targetSupport()},
		{Of: "fleet_bundle", Rows: slices.Concat(bundleSupport(), optionSupport(), helmSupport())},
		{Of: "fleet_gitrepo", Rows: gitRepoSupport()},
	}
}

// Refusal returns the reason why an attribute is refused with an engine, "" if it is not refused.
func Refusal(of, attribute string) string {
	for _, section := range SupportTable() {
		for _, row := range section.Rows {
			if section.Of == of && row.Effect == Refused && slices.Contains(row.Attributes, attribute) {
				return row.Text
			}
		}
	}
	return ""
}

func same(attributes ...string) Support { return Support{Attributes: attributes, Effect: Same} }

func differs(text string, attributes ...string) Support {
	return Support{Attributes: attributes, Effect: Differs, Text: text}
}

func refused(values, text string, attributes ...string) Support {
	return Support{Attributes: attributes, Effect: Refused, Values: values, Text: text}
}

func below(prefix, names string) []string {
	attributes := strings.Fields(names)
	for i, name := range attributes {
		attributes[i] = prefix + "." + name
	}
	return attributes
}

func providerSupport() []Support {
	return []Support{
		same("owner", "engine", "git", "registries", "tls", "private_addresses", "sops", "render_timeout", "cache_dir"),
		differs("A plan checks the same. Objects that a plan does not know are not checked: agents render them.", "policies", "fleet_policies"),
		differs("Only the management cluster is connected to. Connections of clusters are not used.", below("clusters", `host cluster_ca_certificate token token_file username password
			client_certificate client_key exec kubeconfig config_path config_paths config_context config_context_cluster config_context_auth_info from_environment proxy_url tls_server_name
			insecure impersonate_user qps burst request_timeout uid namespaces`)...),
		differs("Without `clusters`, the clusters are Fleet's Cluster objects. With them, the facts of the configuration count. A cluster needs a Cluster object of the same name.",
			below("clusters", "labels annotations template_values namespace display_name")...),
		differs("The plan holds changes. But Fleet pauses a cluster only by `spec.paused` of its Cluster object.", "clusters.paused"),
		differs("The plan renders with them. Agents render with what their cluster serves.", below("clusters", "kube_version api_versions")...),
		refused("groups without `clusters`", "Without clusters in the provider block, the groups are Fleet's ClusterGroup objects. Remove cluster_groups, or add clusters.", "cluster_groups"),
		differs("How many Bundles are written at the same time. Fleet decides how many clusters change at the same time.", "parallelism"),
		differs("It is about the management cluster. An agent that is offline is no error of a refresh.", "on_unreachable"),
		refused("", "All clusters of a bundle have the same files in its Bundle, so one cluster cannot keep earlier files. Create Schedule objects in the management cluster: Fleet then holds changes itself.",
			"windows", "fleet_schedules", "windows_override"),
		differs("No effect. A deployment on a cluster that has left Fleet is removed from its Bundle, and a warning says what can remain on the cluster.", "on_missing"),
	}
}

func targetSupport() []Support {
	return []Support{
		same("name", "bundles", "allow_empty", "max_removals", "deletion_protection", "plan_objects", "values_wo_version", "id", "records", "planned", "timeouts"),
		differs("Clusters and groups are those of Fleet. The clusters of the plan are delivered to, by name. A cluster that joins later needs another apply.", "targets"),
		differs("With `false`, an apply still waits until the agents have applied the Bundles, and does not wait until objects are ready.", "wait"),
		differs("The time begins when Fleet gives the deployment to the agent. While a rollout holds it, the time begins again with each change of the bundle.", "deployment_timeout"),
		differs("No effect. Agents keep as many revisions as `helm.max_history` of the bundle says, or Fleet's default.", "max_history"),
		differs("A create takes over Bundles with the owner and the name of the target that no state knows. Releases and objects are not meant: an agent upgrades a release of the same name, "+
			"and takes over other objects with `helm.take_ownership` of the bundle.", "take_ownership"),
		refused("", "All clusters of a bundle share its Bundle, which can only be taken over as a whole. Use take_ownership.", "take_ownership_of"),
		refused("", "Fleet decides when objects are ready. Give containers readiness probes.", "ready_for"),
		refused("`true`", "Only agents connect to clusters, and they report no logs.", "explain_logs"),
		differs("Its hash is a label of the Bundles. A create takes over Bundles with the owner, the name and the key of the target, as after a create that was killed. It does not move a release from another target, as it does without an engine.", "adoption_key"),
		differs("Agents compare objects and correct drift all the time. `live` shows what they report, `release` leaves out objects that differ, and `none` checks only that the Bundles exist. "+
			"Agents do not compare the annotations that name the release of an object. The next upgrade writes them if they are absent. If they name another release, agents do not apply the upgrade.", "drift"),
		differs("No diff: only agents read objects on clusters. `objects` shows which objects change.", "diff"),
		refused("`hold`", "All clusters of a bundle have the same files in its Bundle, so one cluster cannot keep earlier files.", "on_error"),
		refused("`create_replace` and `skip`, if a bundle has definitions below `crds/`", "Fleet's agents leave the definitions below crds/ of a chart to Helm, which creates missing ones on an install.", "crds"),
		differs("They are written into a Secret beside the Bundle, never into the Bundle. Values of `helm.values_from` override them: agents merge those last.", "values_wo"),
		refused("", "The files of a Bundle can be read by everybody who can read Bundles in the management cluster. Use values_wo.", "files_wo", "files_wo_version"),
		differs("The digest also covers what a Bundle contains about comparing objects and about the rollout.", "deployments"),
		differs("The objects as this provider renders them. Agents render again with what their cluster serves.", "objects"),
		differs("As agents report. Hooks and definitions can count. With `on_offline = \"leave\"`, both are unknown in plans that change something.", "not_ready", "clusters"),
	}
}

const (
	encryptedManifests = "manifests encrypted by SOPS"
	readable           = "The files of a Bundle are decrypted, and everybody who can read Bundles in the management cluster can read them. Encrypt values files only, or use values_wo."
)

func bundleSupport() []Support {
	return []Support{
		same("name", "chart", "helm_ignore", "sources", "digest", "bundles", "contents", "annotations", "paused", "target_customizations", "target_customization_mode", "override_targets"),
		differs("All files are part of the Bundle. Everybody who can read Bundles in the management cluster can read them.", "files"),
		refused(encryptedManifests, readable, "git", "directory"),
		refused("labels of Fleet, of Rancher and of this provider", "Fleet, Rancher and this provider use these labels themselves.", "labels"),
		differs("Agents wait for the other bundles. They find them by labels, in all targets of the `owner`.", "depends_on_bundles"),
		differs("Fleet's controller carries it out. It also counts for the first step of a removal, which replaces the objects by an empty chart.", "rollout_strategy"),
	}
}

func optionSupport() []Support {
	const once = "Fleet has one value for all clusters of a bundle. Use two bundles."
	return []Support{
		same("default_namespace", "namespace", "kustomize", "yaml", "diff", "service_account", "force_sync_generation"),
		refused(differingValues, once, "namespace_labels", "namespace_annotations", "delete_namespace", "delete_crd_resources", "ignore"),
		refused("`false`", "Fleet's agents always create the namespace.", "create_namespace"),
		differs("The objects stay, and so does the record of the release if its name is not that of the Bundle.", "keep_resources"),
		differs("Agents correct drift all the time, and not only in an apply. `enabled = false` turns that off.", "correct_drift"),
	}
}

func helmSupport() []Support {
	return []Support{
		same(below("helm", "repo version release_name values_files template_values wait_for_jobs disable_pre_process disable_dns disable_dependency_update")...),
		refused("packed charts in the bundle", "Fleet's agents need a folder. Unpack the chart.", "helm.chart"),
		refused("texts that begin with `"+labelReference+"`", "Fleet would replace the text by a label of the cluster.", "helm.values"),
		differs("Agents read the ConfigMaps and Secrets of their cluster. A plan does not show that one of them has changed.", "helm.values_from"),
		differs("How long an apply waits for the deployment. It is not written into the Bundle: with it, an agent repeats a failed operation without end.", "helm.timeout_seconds"),
		refused(differingValues, "Fleet has one value for all clusters of a bundle. Use two bundles.", "helm.max_history", "helm.skip_schema_validation"),
		differs("Without it, what a failed upgrade has added can stay on the cluster, also when the next upgrade no longer has it: agents merge from the last deployed revision. "+
			"Set it where an upgrade may fail.", "helm.atomic"),
		differs("Agents replace all objects and delete none. They fail at an object that cannot be updated, and the plan does not list it.", "helm.force"),
		differs("The agent takes over objects that exist. The plan does not list them.", "helm.take_ownership"),
		refused("`create_replace` and `skip`, if the bundle has definitions below `crds/`", "Fleet's agents leave the definitions below crds/ of a chart to Helm, which creates missing ones on an install.", "helm.crds"),
	}
}

func gitRepoSupport() []Support {
	return []Support{
		refused(encryptedManifests, readable, "repo", "directory"),
		same("name", "branch", "revision", "paths", "bundle_paths", "submodules", "strict", "on_error", "helm_ignore", "image_scans", "follow_charts", "sources", "helm_repo_url_regex", "target_namespace", "service_account",
			"paused", "delete_namespace", "force_sync_generation", "commit", "bundles", "contents"),
		differs("As the attribute of `fleet_bundle`.", "labels", "keep_resources", "correct_drift"),
	}
}
