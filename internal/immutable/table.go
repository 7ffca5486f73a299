package immutable

import "slices"

// rule is a field of a kind that no update may change.
type rule struct {
	// field is a path such as "spec.template". With each, it is every field below the path.
	field string
	each  bool
	// except are paths below the field that an update may change. Items of lists are not in paths.
	except []string
	// assigned is true if an API server fills in the field. Without the live object, nothing is known
	// of the value, and a manifest that no longer sets the field keeps it.
	assigned bool
	// allows reports that an update may change the field of this object after all.
	allows func(live, wanted object) bool
}

// The kinds of the table whose objects hold data of others. They are never deleted here.
const (
	persistentVolume      = "PersistentVolume"
	persistentVolumeClaim = "PersistentVolumeClaim"
	customResource        = "CustomResourceDefinition.apiextensions.k8s.io"
	statefulSet           = "StatefulSet.apps"
)

// rulesOf returns the rules of a built-in kind, which is a text such as "Deployment.apps". They are
// those of the validation in k8s.io/kubernetes, below pkg/apis, of all supported versions.
func rulesOf(kind string) []rule {
	switch kind {
	case "Deployment.apps", "DaemonSet.apps", "ReplicaSet.apps":
		return fields("spec.selector")
	case statefulSet:
		return fields("spec.selector", "spec.serviceName", "spec.podManagementPolicy", "spec.volumeClaimTemplates")
	case "Job.batch":
		return append(
			fields(
				"spec.selector", "spec.completionMode", "spec.podFailurePolicy", "spec.backoffLimitPerIndex", "spec.managedBy",
				"spec.successPolicy",
			),
			rule{field: "spec.completions", allows: isElastic},
			rule{field: "spec.template", allows: isSuspended},
			rule{field: "spec.template", allows: isNotSuspended, except: []string{
				"metadata", "spec.affinity", "spec.nodeSelector", "spec.tolerations", "spec.schedulingGates",
				"spec.containers.resources", "spec.initContainers.resources",
			}},
		)
	case "Pod":
		return []rule{{field: "spec", each: true, except: []string{
			"containers.image", "initContainers.image", "activeDeadlineSeconds", "terminationGracePeriodSeconds", "tolerations", "schedulingGates",
		}, allows: isGated}}
	case "Service":
		return []rule{
			{field: "spec.clusterIP", assigned: true, allows: isExternalName},
			{field: "spec.clusterIPs", assigned: true, allows: hasSamePrimary("clusterIPs")},
			{field: "spec.ipFamilies", assigned: true, allows: hasSamePrimary("ipFamilies")},
		}
	case "ConfigMap":
		return []rule{{field: "data", allows: isMutable}, {field: "binaryData", allows: isMutable}, {field: "immutable", allows: isMutable}}
	case "Secret":
		return []rule{{field: "type"}, {field: "data", allows: isMutable}, {field: "immutable", allows: isMutable}}
	case persistentVolumeClaim:
		return []rule{
			{field: "spec.storageClassName", assigned: true},
			{field: "spec.volumeName", assigned: true},
			{field: "spec", each: true, except: []string{"storageClassName", "volumeName", "volumeAttributesClassName", "resources.requests"}},
			{field: "spec.resources.requests.storage", allows: isSizeAllowed},
		}
	case persistentVolume:
		return []rule{{field: "spec", each: true, except: []string{
			"capacity", "accessModes", "claimRef", "persistentVolumeReclaimPolicy", "storageClassName", "mountOptions", "nodeAffinity",
			"volumeAttributesClassName", "csi.controllerExpandSecretRef",
		}}}
	case "RoleBinding.rbac.authorization.k8s.io", "ClusterRoleBinding.rbac.authorization.k8s.io":
		return fields("roleRef")
	case "StorageClass.storage.k8s.io":
		return fields("provisioner", "parameters", "reclaimPolicy", "volumeBindingMode")
	case "CSIDriver.storage.k8s.io":
		return fields("spec.attachRequired", "spec.volumeLifecycleModes")
	case "PriorityClass.scheduling.k8s.io":
		return fields("value", "preemptionPolicy")
	case "IngressClass.networking.k8s.io":
		return fields("spec.controller")
	case "RuntimeClass.node.k8s.io":
		return fields("handler")
	case customResource:
		return fields("spec.scope", "spec.names.kind")
	}
	return nil
}

func fields(names ...string) []rule {
	rules := make([]rule, len(names))
	for i, name := range names {
		rules[i].field = name
	}
	return rules
}

// isSuspended reports that a Job is suspended. Updates may then change where its pods run.
func isSuspended(live, _ object) bool { return live.value("spec.suspend") == true }

func isNotSuspended(live, wanted object) bool { return !isSuspended(live, wanted) }

// isElastic reports that a Job is indexed, and that its parallelism changes together with its
// completions.
func isElastic(live, wanted object) bool {
	parallelism, completions := wanted.value("spec.parallelism"), wanted.value("spec.completions")
	return live.value("spec.completionMode") == "Indexed" && parallelism != nil && textOf(parallelism) == textOf(completions)
}

// isGated reports that a Pod is not scheduled yet. Updates may then narrow where it runs.
func isGated(live, _ object) bool {
	gates, _ := live.value("spec.schedulingGates").([]any)
	return len(gates) > 0
}

// isExternalName reports that a Service has no addresses before or after an update.
func isExternalName(live, wanted object) bool {
	return live.value("spec.type") == "ExternalName" || wanted.value("spec.type") == "ExternalName"
}

// hasSamePrimary returns a rule for a field that only has to keep its first item.
func hasSamePrimary(field string) func(live, wanted object) bool {
	return func(live, wanted object) bool {
		before, _ := live.value("spec." + field).([]any)
		after, _ := wanted.value("spec." + field).([]any)
		return isExternalName(live, wanted) || len(before) > 0 && len(after) > 0 && before[0] == after[0]
	}
}

// isMutable reports that a ConfigMap or a Secret is not immutable.
func isMutable(live, _ object) bool { return live.value("immutable") != true }

// isSizeAllowed reports that a claim may ask for a size. A claim that is bound may grow. It may shrink
// to a size above that of its volume.
func isSizeAllowed(live, wanted object) bool {
	phase := live.value("status.phase")
	if phase != nil && phase != "Bound" {
		return false
	}
	before, after := quantityOf(live.value("spec.resources.requests.storage")), quantityOf(wanted.value("spec.resources.requests.storage"))
	volume := quantityOf(live.value("status.capacity.storage"))
	switch {
	case before == nil || after == nil || after.Cmp(before) >= 0:
		return true
	case volume == nil:
		return phase != nil
	}
	return after.Cmp(volume) > 0
}

// IsReplaceable reports whether objects of a kind such as "Deployment.apps" may be deleted and created
// again. Volumes and their claims hold data, and definitions hold the objects of their kind.
func IsReplaceable(kind string) bool {
	return !slices.Contains([]string{persistentVolume, persistentVolumeClaim, customResource}, kind)
}

// KeepsPods reports whether the pods of an object stay when it is deleted and created again. The new
// StatefulSet adopts those that its selector matches.
func KeepsPods(kind string, changed []string) bool {
	return kind == statefulSet && !slices.Contains(changed, "spec.selector")
}
