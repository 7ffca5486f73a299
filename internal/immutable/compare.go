package immutable

import (
	"fmt"
	"math/big"
	"slices"
	"strconv"
	"strings"
)

// comparison compares a field in the former manifest, on the cluster and in the new manifest.
type comparison struct {
	// except are paths that are not compared.
	except map[string]bool
}

// differs reports whether an update changes a field. A value that only the cluster has stays. A
// value that only the former manifest and the cluster have is removed.
func (c comparison) differs(path string, former, live, wanted any) bool {
	if c.except[path] {
		return false
	}
	switch wanted := wanted.(type) {
	case map[string]any:
		return c.mapDiffers(path, former, live, wanted)
	case []any:
		return c.listDiffers(path, former, live, wanted)
	case nil:
		return c.isRemoved(path, former, live)
	}
	if live == nil {
		return !isDefault(path, wanted)
	}
	return !isEqual(path, live, wanted)
}

func (c comparison) mapDiffers(path string, former, live any, wanted map[string]any) bool {
	before, _ := former.(map[string]any)
	current, _ := live.(map[string]any)
	for name, value := range wanted {
		if c.differs(path+"."+name, before[name], current[name], value) {
			return true
		}
	}
	for name, value := range before {
		if _, ok := wanted[name]; !ok && c.differs(path+"."+name, value, current[name], nil) {
			return true
		}
	}
	return false
}

// isRemoved reports whether an update removes a value that the new manifest does not have. An API
// server fills in defaults again.
func (c comparison) isRemoved(path string, former, live any) bool {
	if fields, ok := former.(map[string]any); ok && len(fields) > 0 {
		return c.mapDiffers(path, former, live, nil)
	}
	// The limits of a Pod fill in its requests. Those of a template do not.
	isDerived := strings.HasPrefix(path, "spec.") && !strings.HasPrefix(path, "spec.template.") && strings.Contains(path, ".requests.")
	return !isDefault(path, former) && !isDefault(path, live) && !isDerived
}

// keyOf returns the fields that identify an item of a list. Kubernetes merges such lists by these
// fields (patchMergeKey in k8s.io/api). It replaces other lists as a whole.
func keyOf(path string) []string {
	switch nameOf(path) {
	case "containers", "initContainers", "ephemeralContainers", "volumes", "env", "imagePullSecrets":
		return []string{"name"}
	case "ports":
		return []string{"containerPort", "protocol"}
	case "volumeMounts":
		return []string{"mountPath"}
	case "volumeDevices":
		return []string{"devicePath"}
	case "hostAliases":
		return []string{"ip"}
	}
	return nil
}

func (c comparison) listDiffers(path string, former, live any, wanted []any) bool {
	before, _ := former.([]any)
	current, _ := live.([]any)
	key := keyOf(path)
	switch {
	case len(wanted) == 0:
		return c.isRemoved(path, former, live)
	case current == nil && isDefault(path, any(wanted)):
		return false
	case key != nil:
		return c.membersDiffer(path, index(before, key), index(current, key), wanted)
	case len(current) != len(wanted):
		return true
	}
	for i, item := range wanted {
		var past any
		if len(before) == len(wanted) {
			past = before[i]
		}
		if c.differs(path, past, current[i], item) {
			return true
		}
	}
	return false
}

// membersDiffer compares a list that is merged by keys. Another order of its items is a change.
func (c comparison) membersDiffer(path string, before, current members, wanted []any) bool {
	after := index(wanted, keyOf(path))
	last := -1
	for _, id := range after.order {
		at := slices.Index(current.order, id)
		if at < last || c.differs(path, before.items[id], current.items[id], after.items[id]) {
			return true
		}
		last = at
	}
	for _, id := range before.order {
		if after.items[id] == nil && current.items[id] != nil {
			return true
		}
	}
	return false
}

// members are the items of a list by their keys.
type members struct {
	order []string
	items map[string]any
}

func index(items []any, key []string) members {
	found := members{items: map[string]any{}}
	for _, item := range items {
		fields, _ := item.(map[string]any)
		values := make([]string, len(key))
		for i, name := range key {
			value := fields[name]
			if value == nil && name == "protocol" {
				value = "TCP"
			}
			values[i] = textOf(value)
		}
		id := strings.Join(values, "\n")
		found.order = append(found.order, id)
		found.items[id] = item
	}
	return found
}

func nameOf(path string) string { return path[strings.LastIndex(path, ".")+1:] }

// isDefault reports whether a value is what an API server has without it.
func isDefault(path string, value any) bool {
	switch {
	case isFree(path):
		return value == nil
	case isEmpty(value), nameOf(path) == "imagePullPolicy": // Its default depends on the image.
		return true
	}
	return slices.Contains(defaultValues(nameOf(path)), textOf(value))
}

// isFree reports whether a field is an entry of a map whose names have no meaning for Kubernetes.
func isFree(path string) bool {
	return slices.ContainsFunc(freeMaps(), func(name string) bool {
		return strings.HasPrefix(path, name+".") || strings.Contains(path, "."+name+".")
	})
}

func freeMaps() []string {
	return []string{"data", "binaryData", "parameters", "labels", "annotations", "matchLabels", "nodeSelector", "volumeAttributes", "options"}
}

// defaultValues returns the defaults of a field in pkg/apis of k8s.io/kubernetes.
func defaultValues(name string) []string {
	switch name {
	case "hostNetwork", "hostPID", "hostIPC", "stdin", "stdinOnce", "tty", "readOnly", "immutable":
		return []string{"false"}
	case "attachRequired", "enableServiceLinks":
		return []string{"true"}
	case "volumeLifecycleModes":
		return []string{"[Persistent]"}
	case "completionMode":
		return []string{"NonIndexed"}
	case "completions", "timeoutSeconds", "successThreshold":
		return []string{"1"}
	case "podManagementPolicy":
		return []string{"OrderedReady"}
	case "type":
		return []string{"Opaque"}
	case "apiGroup":
		return []string{"rbac.authorization.k8s.io"}
	case "reclaimPolicy":
		return []string{"Delete"}
	case "volumeBindingMode":
		return []string{"Immediate"}
	case "preemptionPolicy":
		return []string{"PreemptLowerPriority"}
	case "volumeMode":
		return []string{"Filesystem"}
	case "dnsPolicy":
		return []string{"ClusterFirst"}
	case "restartPolicy":
		return []string{"Always"}
	case "schedulerName":
		return []string{"default-scheduler"}
	case "serviceAccountName":
		return []string{"default"}
	case "terminationGracePeriodSeconds":
		return []string{"30"}
	case "terminationMessagePath":
		return []string{"/dev/termination-log"}
	case "terminationMessagePolicy":
		return []string{"File"}
	case "protocol":
		return []string{"TCP"}
	case "scheme":
		return []string{"HTTP"}
	case "periodSeconds":
		return []string{"10"}
	case "failureThreshold":
		return []string{"3"}
	case "defaultMode":
		return []string{"420"}
	case "apiVersion":
		return []string{"v1"}
	case "kind":
		return []string{"PersistentVolumeClaim"}
	}
	return nil
}

// isEmpty reports whether an API server need not store a value.
func isEmpty(value any) bool {
	switch value := value.(type) {
	case nil:
		return true
	case string:
		return value == ""
	case []any:
		return len(value) == 0
	case map[string]any:
		return len(value) == 0
	}
	return false
}

// isEqual compares two texts, numbers or switches, which are not lists or maps.
func isEqual(path string, live, wanted any) bool {
	one, other := textOf(live), textOf(wanted)
	if one == other {
		return true
	}
	if !isQuantity(path) {
		return false
	}
	left, right := quantityOf(live), quantityOf(wanted)
	return left != nil && right != nil && left.Cmp(right) == 0
}

// textOf returns equal texts for equal numbers, whichever decoder has read them.
func textOf(value any) string {
	if number, ok := value.(float64); ok {
		return strconv.FormatFloat(number, 'f', -1, 64)
	}
	return fmt.Sprint(value)
}

// isQuantity reports whether a field has several notations for one amount.
func isQuantity(path string) bool {
	name := nameOf(path)
	return name == "sizeLimit" || name == "divisor" || strings.Contains(path, ".limits.") || strings.Contains(path, ".requests.") || strings.Contains(path, ".overhead.")
}

// quantityOf returns an amount such as "500m" or "1Gi", nil if the value is none.
func quantityOf(value any) *big.Rat {
	if value == nil {
		return nil
	}
	text := textOf(value)
	end := len(text) - len(strings.TrimLeft(text, "0123456789.+-"))
	number, ok := new(big.Rat).SetString(text[:end])
	if !ok {
		return nil
	}
	suffix := text[end:]
	if power := slices.Index([]string{"Ki", "Mi", "Gi", "Ti", "Pi", "Ei"}, suffix); power >= 0 {
		return number.Mul(number, powerOf(1024, power+1))
	}
	for i, unit := range []string{"n", "u", "m", "", "k", "M", "G", "T", "P", "E"} {
		if suffix == unit {
			return number.Mul(number, powerOf(1000, i-3))
		}
	}
	return nil
}

func powerOf(base int64, exponent int) *big.Rat {
	result, factor := big.NewRat(1, 1), big.NewRat(base, 1)
	if exponent < 0 {
		exponent, factor = -exponent, big.NewRat(1, base)
	}
	for range exponent {
		result.Mul(result, factor)
	}
	return result
}
