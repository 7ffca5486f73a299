package engine

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
)

// notPerCluster are options that Fleet takes from the root of a Bundle alone, or from all targets
// together (Fleet: internal/cmd/controller/options/calculate.go, Merge, and
// internal/cmd/controller/target/target.go, BundleDeployment).
//
//nolint:gochecknoglobals // a constant list
var notPerCluster = []string{
	"namespaceLabels", "namespaceAnnotations", "deleteNamespace", "deleteCRDResources", "ignore", "helm.maxHistory", "helm.skipSchemaValidation",
}

// DifferentOptionsError reports an option that differs between clusters and cannot in a Bundle.
type DifferentOptionsError struct {
	Option string
	// Clusters are two that differ.
	Clusters [2]string
}

func (e *DifferentOptionsError) Error() string {
	return fmt.Sprintf("%s differs between clusters %s and %s, and Fleet has one for all clusters of a bundle; use two bundles",
		e.Option, e.Clusters[0], e.Clusters[1])
}

// compose writes the spec of a Bundle. What is equal on all clusters stands at its root, what
// differs in the target of each cluster. Fleet's merge only adds, so what a cluster does not have
// is at the root neither.
func (c content) compose() (map[string]any, error) {
	spec, err := asJSON(c.specification)
	if err != nil {
		return nil, err
	}
	clusters := clustersOf(c.entries)
	all := make([]map[optionPath]any, len(clusters))
	for i, cluster := range clusters {
		all[i] = flatten(c.entries[cluster].options)
	}
	if err := checkSame(clusters, all); err != nil {
		return nil, err
	}
	root, own := factor(all)
	maps.Copy(spec, unflatten(root))
	// An empty map, not none: a cluster without labels then gets the same as one with labels.
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
		of["name"], of["clusterName"] = cluster, cluster
		targets[i] = of
	}
	spec["targets"] = targets
	return spec, nil
}

// path is where an option stands, such as "helm", "values", "image".
type optionPath [3]string

func (p optionPath) String() string { return strings.TrimRight(strings.Join(p[:], "."), ".") }

// flatten lists options by the places at which Fleet merges them. Deeper maps of values count as
// one: they differ or they do not.
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

// factor separates what all have in common from what each has of its own.
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

// checkSame reports an option that differs and must not.
func checkSame(clusters []string, all []map[optionPath]any) error {
	for _, option := range notPerCluster {
		var p optionPath
		copy(p[:], strings.Split(option, "."))
		for i := range all {
			if !reflect.DeepEqual(all[0][p], all[i][p]) {
				return &DifferentOptionsError{Option: option, Clusters: [2]string{clusters[0], clusters[i]}}
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
	if err := fromJSON(spec, &parts); err != nil {
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
			continue // Somebody else added it. The next write leaves it out.
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
