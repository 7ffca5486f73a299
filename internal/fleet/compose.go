package fleet

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
)

// notPerCluster are options that Fleet reads only from the root of a Bundle, or from all targets
// together (Fleet: internal/cmd/controller/options/calculate.go, Merge, and
// internal/cmd/controller/target/target.go, BundleDeployment).
//
//nolint:gochecknoglobals // a constant list
var notPerCluster = []string{
	"namespaceLabels", "namespaceAnnotations", "deleteNamespace", "deleteCRDResources", "ignore", "helm.maxHistory", "helm.skipSchemaValidation",
}

// compose returns the spec of a Bundle. Options that are equal on all clusters are at its root. The
// other options are in the target of each cluster. Fleet's merge only adds options, so an option
// that one cluster lacks is not at the root.
func (c content) compose() (map[string]any, error) {
	spec, err := asJSON(c.specification)
	if err != nil {
		return nil, err
	}
	clusters := slices.Sorted(maps.Keys(c.entries))
	all := make([]map[optionPath]any, len(clusters))
	for i, cluster := range clusters {
		all[i] = flatten(c.entries[cluster].options)
	}
	if err := checkSame(clusters, all); err != nil {
		return nil, err
	}
	root, own := factor(all)
	maps.Copy(spec, unflatten(root))
	// An empty map in place of none: a cluster without labels then gets the same values as a
	// cluster with labels.
	helm := child(spec, "helm")
	if helm == nil {
		helm = map[string]any{}
		spec["helm"] = helm
	}
	if helm["values"] == nil {
		helm["values"] = map[string]any{}
	}
	targets := make([]any, len(clusters))
	for i, cluster := range clusters {
		of := unflatten(own[i])
		of["name"], of["clusterName"] = targetName(cluster), cluster
		targets[i] = of
	}
	spec["targets"] = targets
	return spec, nil
}

// optionPath is the path of an option, such as "helm", "values", "image".
type optionPath [3]string

func (p optionPath) String() string { return strings.TrimRight(strings.Join(p[:], "."), ".") }

// flatten returns options by the paths at which Fleet merges them. A deeper map of values counts as
// one value: it is equal or different as a whole.
func flatten(options map[string]any) map[optionPath]any {
	flat := map[optionPath]any{}
	for key, value := range options {
		if key != "helm" {
			flat[optionPath{key}] = value
			continue
		}
		for key, value := range child(options, "helm") {
			if key != "values" {
				flat[optionPath{"helm", key}] = value
				continue
			}
			for key, value := range child(child(options, "helm"), "values") {
				flat[optionPath{"helm", "values", key}] = value
			}
		}
	}
	return flat
}

func unflatten(flat map[optionPath]any) map[string]any {
	options := map[string]any{}
	at := func(of map[string]any, key string) map[string]any {
		if child(of, key) == nil {
			of[key] = map[string]any{}
		}
		return child(of, key)
	}
	for p, value := range flat {
		switch {
		case p[1] == "":
			options[p[0]] = value
		case p[2] == "" && p[1] != "values":
			at(options, p[0])[p[1]] = value
		default:
			at(at(options, p[0]), p[1])[p[2]] = value
		}
	}
	return options
}

// factor separates the entries that all maps have in common from the other entries of each map.
func factor[K comparable](all []map[K]any) (common map[K]any, own []map[K]any) {
	common = map[K]any{}
	if len(all) == 0 {
		return common, nil
	}
	for p, value := range all[0] {
		isCommon := !slices.ContainsFunc(all[1:], func(of map[K]any) bool {
			other, ok := of[p]
			return !ok || !reflect.DeepEqual(value, other)
		})
		if isCommon {
			common[p] = value
		}
	}
	own = make([]map[K]any, len(all))
	for i, of := range all {
		own[i] = maps.Clone(of)
		maps.DeleteFunc(own[i], func(p K, _ any) bool { _, is := common[p]; return is })
	}
	return common, own
}

// checkSame returns an error if clusters differ in an option of notPerCluster.
func checkSame(clusters []string, all []map[optionPath]any) error {
	for _, option := range notPerCluster {
		var p optionPath
		copy(p[:], strings.Split(option, "."))
		for i := range all {
			if !reflect.DeepEqual(all[0][p], all[i][p]) {
				return fmt.Errorf("%s differs between clusters %s and %s, and Fleet has one for all clusters of a bundle; use two bundles",
					option, clusters[0], clusters[i])
			}
		}
	}
	return nil
}

// decompose reads the spec of a Bundle that compose wrote, given the digests of its deployments.
func decompose(spec map[string]any, digests map[string]string) (content, error) {
	var parts struct {
		specification

		Targets []map[string]any `json:"targets"`
	}
	if err := convert(spec, &parts); err != nil {
		return content{}, err
	}
	read := content{specification: parts.specification, entries: map[string]entry{}}
	root := maps.Clone(spec)
	for _, key := range []string{"dependsOn", "rolloutStrategy", "resources", "valuesHash", "targetCustomizationMode", "targets", "paused", "targetRestrictions"} {
		delete(root, key)
	}
	common := flatten(root)
	for _, target := range parts.Targets {
		cluster, _ := target["clusterName"].(string)
		if cluster == "" {
			continue // Another client added it. The next write removes it.
		}
		own := maps.Clone(target)
		delete(own, "name")
		delete(own, "clusterName")
		merged := maps.Clone(common)
		maps.Copy(merged, flatten(own))
		read.entries[cluster] = entry{options: unflatten(merged), digest: digests[cluster]}
	}
	return read, nil
}
