# Four rules over the JSON of a plan, for OPA 1.0 or newer:
#
#   terraform plan -out=tfplan
#   terraform show -json tfplan > plan.json
#   opa eval --fail-defined --format=pretty --data fleet.rego --input plan.json 'data.fleet.deny[_]'
#
# What a plan does not know is denied, and the message says so. A policy that lets it pass could be
# avoided by a value that is known after the apply.
package fleet

# Settings. Change them to yours.

# Clusters are prod if their name begins with one of these.
prod_prefixes := ["prod-"]

# Nothing changes on a prod cluster on these days, in UTC.
frozen_days := {"Friday"}

# Repositories belong to tenants if their name begins with this.
tenant_prefix := "tenant-"

# A target may remove this share of its deployments.
max_removed_percent := 10

# Namespaces that deployments may be in.
allowed_namespaces := {"shop", "platform"}

# Rule 1: nothing changes on a prod cluster on a Friday.
#
# Unknown: a deployment that is known after the apply is a change. If all deployments are unknown, so
# are their clusters, and they count as prod. A plan without a readable timestamp counts as one of a
# Friday.

deny contains msg if {
	frozen
	some target in targets
	some key in changed(target)
	is_prod(cluster_of(key))
	msg := message(target, key, sprintf("a prod cluster must not change on this day (%s)", [day]))
}

deny contains msg if {
	frozen
	some target in targets
	all_unknown(target, "deployments")
	msg := message(target, "", sprintf("the deployments are unknown, and prod clusters must not change on this day (%s)", [day]))
}

default day := "day unknown"

day := time.weekday(time.parse_rfc3339_ns(input.timestamp))

frozen if day in frozen_days

frozen if day == "day unknown"

is_prod(cluster) if {
	some prefix in prod_prefixes
	startswith(cluster, prefix)
}

# Rule 2: a tenant's repository makes no ClusterRoleBinding.
#
# Unknown: a tenant's bundles are unknown if `contents` is, and then each target with a change is
# denied. The objects of a deployment are unknown if they are known after the apply, if `objects` has
# a count in place of their names, or if `plan_objects` is false. Such a deployment of a tenant is denied.

deny contains msg if {
	some target in targets
	some key, _ in elements(target.change.after, "objects")
	startswith(kind_of(key), "ClusterRoleBinding.rbac.authorization.k8s.io/")
	bundle_of(key) in tenant_bundles
	msg := message(target, key, sprintf("a tenant's repository must not have a %s", [kind_of(key)]))
}

deny contains msg if {
	some target in targets
	some key in planned(target)
	bundle_of(key) in tenant_bundles
	objects_unknown(target, key)
	msg := message(target, key, "the objects of a tenant's deployment are unknown, and a ClusterRoleBinding can be one of them")
}

deny contains msg if {
	some target in targets
	all_unknown(target, "deployments")
	count(tenant_bundles) > 0
	msg := message(target, "", "the deployments are unknown, and a tenant's ClusterRoleBinding can be in one of them")
}

deny contains msg if {
	some repository in repositories
	contents_unknown(repository)
	some target in targets
	target.change.actions != ["no-op"]
	msg := message(target, "", sprintf("the bundles of the tenant's repository %s are unknown", [repository.address]))
}

# A data source that a plan has read is in the prior state, and one that the apply reads is a change.
repositories contains resource if {
	some resource in input.resource_changes
	resource.type == "fleet_gitrepo"
	is_tenant(object.get(resource.change, "after", null))
}

repositories contains resource if {
	walk(input.prior_state.values.root_module, [_, found])
	found.type == "fleet_gitrepo"
	found.mode == "data"
	is_tenant(found.values)
	resource := {"address": found.address, "change": {"after": found.values}}
}

is_tenant(values) if startswith(values.name, tenant_prefix)

# A name that is known after the apply can be a tenant's. A destroyed repository has no values.
is_tenant(values) if {
	is_object(values)
	not is_string(object.get(values, "name", null))
}

tenant_bundles contains name if {
	some repository in repositories
	some name, _ in elements(repository.change.after, "contents")
}

contents_unknown(repository) if not is_object(object.get(repository.change.after, "contents", null))

# An attribute that is known after the apply is not in `after`.
objects_unknown(target, _) if not is_object(object.get(target.change.after, "objects", null))

objects_unknown(target, _) if object.get(target.change.after, "plan_objects", null) == false

# An element without the name of an object stands for all objects of its deployment.
objects_unknown(target, key) if key in unknown_keys(target, "objects")

objects_unknown(target, key) if elements(target.change.after, "objects")[key]

# Rule 3: a target removes at most a tenth of its deployments.
#
# Unknown: if all deployments are unknown, so are the removed ones, and the change is denied. A single
# deployment that is unknown is not removed. A target that is destroyed, replaced or forgotten
# counts as one that removes all.

deny contains msg if {
	some target in targets
	before := object.keys(elements(target.change.before, "deployments"))
	gone := removed(target)
	count(gone) * 100 > max_removed_percent * count(before)
	some key in gone
	msg := message(target, key, sprintf("the plan removes %d of %d deployments, and %d %% are allowed", [count(gone), count(before), max_removed_percent]))
}

deny contains msg if {
	some target in targets
	count(elements(target.change.before, "deployments")) > 0
	all_unknown(target, "deployments")
	msg := message(target, "", "the deployments are unknown, and any number can be removed")
}

# Rule 4: each deployment is in an allowed namespace.
#
# Unknown: a deployment that is known after the apply has an unknown namespace, and is denied.

deny contains msg if {
	some target in targets
	some key, text in elements(target.change.after, "deployments")
	not namespace_of(text) in allowed_namespaces
	msg := message(target, key, sprintf("the namespace of %q is not allowed", [text]))
}

deny contains msg if {
	some target in targets
	some key in unknown_keys(target, "deployments")
	msg := message(target, key, "the namespace is unknown")
}

deny contains msg if {
	some target in targets
	all_unknown(target, "deployments")
	msg := message(target, "", "the deployments are unknown, and so are their namespaces")
}

# How the plan is read.

targets contains resource if {
	some resource in input.resource_changes
	resource.type == "fleet_cluster_target"
	resource.mode == "managed"
}

# elements are those of an attribute that is a map, and none where the resource or the map is null.
elements(values, attribute) := values[attribute] if is_object(values[attribute])

else := {}

# all_unknown is true if nothing of a map is known. A change that destroys has no values to know.
all_unknown(target, attribute) if target.change.after_unknown[attribute] == true

all_unknown(target, _) if target.change.after_unknown == true

unknown_keys(target, attribute) := {key | some key, true in elements(target.change.after_unknown, attribute)}

planned(target) := object.keys(elements(target.change.after, "deployments")) | unknown_keys(target, "deployments")

# A target that is replaced removes all deployments before it installs them again.
removed(target) := object.keys(elements(target.change.before, "deployments")) if {
	"delete" in target.change.actions
} else := set() if {
	all_unknown(target, "deployments")
} else := object.keys(elements(target.change.before, "deployments")) - planned(target)

# A deployment is written if its text changes, or if its release record is known after the apply, as
# when drift is corrected.
changed(target) := ((removed(target) | unknown_keys(target, "deployments")) | written(target)) | {key |
	some key, text in elements(target.change.after, "deployments")
	object.get(elements(target.change.before, "deployments"), key, null) != text
}

written(target) := planned(target) if all_unknown(target, "records")

else := {split(key, " ")[0] | some key in unknown_keys(target, "records")}

# Keys are `cluster/bundle` and `cluster/bundle kind.group/namespace/name`.
cluster_of(key) := split(key, "/")[0]

bundle_of(key) := split(split(key, " ")[0], "/")[1]

kind_of(key) := split(key, " ")[1]

# A deployment is `chart-version namespace/release digest`.
namespace_of(text) := split(split(text, " ")[1], "/")[0]

message(target, "", reason) := sprintf("%s, cluster unknown, bundle unknown: %s", [target.address, reason])

message(target, key, reason) := sprintf("%s, cluster %s, bundle %s: %s", [target.address, cluster_of(key), bundle_of(key), reason]) if key != ""
