package immutable

import (
	"fmt"
	"math/big"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// differs reports whether an update changes a field. It compares the values in the former manifest, on
// the cluster and in the new manifest. A value that only the cluster has stays. A value that only the
// former manifest and the cluster have is removed.
func (r rule) differs(path string, former, live, wanted any) bool {
	if below, ok := strings.CutPrefix(path, r.field+"."); ok && slices.Contains(r.except, below) {
		return false
	}
	switch wanted := wanted.(type) {
	case map[string]any:
		return r.mapDiffers(path, former, live, wanted)
	case []any:
		return r.listDiffers(path, former, live, wanted)
	case nil:
		return r.isRemoved(path, former, live)
	}
	if live == nil {
		return !isDefault(path, wanted)
	}
	return !isEqual(path, live, wanted)
}

func (r rule) mapDiffers(path string, former, live any, wanted map[string]any) bool {
	before, _ := former.(map[string]any)
	current, _ := live.(map[string]any)
	for name, value := range wanted {
		if r.differs(path+"."+name, before[name], current[name], value) {
			return true
		}
	}
	for name, value := range before {
		if _, ok := wanted[name]; !ok && r.differs(path+"."+name, value, current[name], nil) {
			return true
		}
	}
	return false
}

// isRemoved reports whether an update removes a value that the new manifest does not have. An API
// server fills in defaults again.
func (r rule) isRemoved(path string, former, live any) bool {
	if fields, ok := former.(map[string]any); ok && len(fields) > 0 {
		return r.mapDiffers(path, former, live, nil)
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

func (r rule) listDiffers(path string, former, live any, wanted []any) bool {
	before, _ := former.([]any)
	current, _ := live.([]any)
	key := keyOf(path)
	switch {
	case len(wanted) == 0:
		return r.isRemoved(path, former, live)
	case current == nil && isDefault(path, any(wanted)):
		return false
	case key != nil:
		return r.membersDiffer(path, index(before, key), index(current, key), wanted)
	case len(current) != len(wanted):
		return true
	}
	for i, item := range wanted {
		var past any
		if len(before) == len(wanted) {
			past = before[i]
		}
		if r.differs(path, past, current[i], item) {
			return true
		}
	}
	return false
}

// membersDiffer compares a list that is merged by keys. Another order of its items is a change.
func (r rule) membersDiffer(path string, before, current members, wanted []any) bool {
	after := index(wanted, keyOf(path))
	last := -1
	for _, id := range after.order {
		at := slices.Index(current.order, id)
		if at < last || r.differs(path, before.items[id], current.items[id], after.items[id]) {
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
	known, ok := defaults[nameOf(path)]
	return ok && known == textOf(value)
}

// isFree reports whether a field is an entry of a map whose names have no meaning for Kubernetes.
func isFree(path string) bool { return freeMaps.MatchString(path) }

var freeMaps = regexp.MustCompile(`(^|\.)(data|binaryData|parameters|labels|annotations|matchLabels|nodeSelector|volumeAttributes|options)\.`)

// defaults are the defaults of fields in pkg/apis of k8s.io/kubernetes, by the name of the field.
var defaults = map[string]string{ //nolint:gochecknoglobals // a constant
	"apiGroup":                      "rbac.authorization.k8s.io",
	"apiVersion":                    "v1",
	"attachRequired":                "true",
	"completionMode":                "NonIndexed",
	"completions":                   "1",
	"defaultMode":                   "420",
	"dnsPolicy":                     "ClusterFirst",
	"enableServiceLinks":            "true",
	"failureThreshold":              "3",
	"hostIPC":                       "false",
	"hostNetwork":                   "false",
	"hostPID":                       "false",
	"immutable":                     "false",
	"kind":                          "PersistentVolumeClaim",
	"periodSeconds":                 "10",
	"podManagementPolicy":           "OrderedReady",
	"preemptionPolicy":              "PreemptLowerPriority",
	"protocol":                      "TCP",
	"readOnly":                      "false",
	"reclaimPolicy":                 "Delete",
	"restartPolicy":                 "Always",
	"schedulerName":                 "default-scheduler",
	"scheme":                        "HTTP",
	"serviceAccountName":            "default",
	"stdin":                         "false",
	"stdinOnce":                     "false",
	"successThreshold":              "1",
	"terminationGracePeriodSeconds": "30",
	"terminationMessagePath":        "/dev/termination-log",
	"terminationMessagePolicy":      "File",
	"timeoutSeconds":                "1",
	"tty":                           "false",
	"type":                          "Opaque",
	"volumeBindingMode":             "Immediate",
	"volumeLifecycleModes":          "[Persistent]",
	"volumeMode":                    "Filesystem",
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
	return name == "sizeLimit" || name == "divisor" ||
		strings.Contains(path, ".limits.") || strings.Contains(path, ".requests.") || strings.Contains(path, ".overhead.")
}

// quantityOf returns an amount such as "500m" or "1Gi", nil if the value is none. Manifests are from
// strangers, and Kubernetes' own type takes minutes to compare "1e100000000".
func quantityOf(value any) *big.Rat {
	text := textOf(value)
	end := len(text) - len(strings.TrimLeft(text, "0123456789.+-"))
	number, isNumber := new(big.Rat).SetString(text[:end])
	unit, isUnit := new(big.Rat).SetString(units[text[end:]])
	if !isNumber || !isUnit {
		return nil
	}
	return number.Mul(number, unit)
}

// units are the suffixes of amounts, as numbers.
var units = map[string]string{ //nolint:gochecknoglobals // a constant
	"n": "1e-9", "u": "1e-6", "m": "1e-3", "": "1", "k": "1e3", "M": "1e6", "G": "1e9", "T": "1e12", "P": "1e15", "E": "1e18",
	"Ki": "0x1p10", "Mi": "0x1p20", "Gi": "0x1p30", "Ti": "0x1p40", "Pi": "0x1p50", "Ei": "0x1p60",
}
