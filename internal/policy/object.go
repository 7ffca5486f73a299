package policy

import (
	"encoding/json"
	"math"
	"strings"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/diff"
)

// object is what policies read of one object.
type object struct {
	diff.Object

	File string
	// isRead is true if the content is known. definedAsCluster is true if a definition among the
	// objects declares its kind as cluster-scoped.
	isRead, definedAsCluster bool
	images                   []string
	labels, annotations      map[string]string
	replicas                 int64
}

// kinds returns the names of the kind, as in kubectl.
func (o *object) kinds() []string {
	if o.Group == "" {
		return []string{o.Kind}
	}
	return []string{o.Kind, o.Kind + "." + o.Group}
}

func (o *object) isClusterScoped() bool { return o.Namespace == "" || o.definedAsCluster }

// inNamespace returns the namespace of an object, or the name of a Namespace. It is "" for other
// objects without a namespace.
func (o *object) inNamespace() string {
	switch {
	case o.Group == "" && o.Kind == "Namespace":
		return o.Name
	case o.isClusterScoped():
		return ""
	}
	return o.Namespace
}

// read reads objects, and finds the cluster-scoped kinds that they define.
func read(content Content) []object {
	objects, clusterScoped := make([]object, 0, len(content.Documents)), map[string]bool{}
	for _, document := range content.Documents {
		made := object{Object: document.Object, File: document.Place}
		made.Name, made.Namespace = shown(made.Name), shown(made.Namespace)
		var fields map[string]any
		decoder := json.NewDecoder(strings.NewReader(document.Content))
		decoder.UseNumber()
		if !content.Varying[document.Key()] && decoder.Decode(&fields) == nil {
			made.isRead = true
			made.readFields(fields)
			if kind := definedClusterKind(fields); kind != "" {
				clusterScoped[kind] = true
			}
		}
		objects = append(objects, made)
	}
	for i := range objects {
		objects[i].definedAsCluster = clusterScoped[objects[i].Kind+"."+objects[i].Group]
	}
	return objects
}

func (o *object) readFields(fields map[string]any) {
	metadata, _ := fields["metadata"].(map[string]any)
	o.labels, o.annotations = textsOf(metadata["labels"]), textsOf(metadata["annotations"])
	spec, _ := fields["spec"].(map[string]any)
	o.replicas = max(numberOf(spec["replicas"]), numberOf(spec["maxReplicas"]))
	o.images = imagesIn(fields, nil)
}

// textsOf returns labels or annotations. null is an empty text, as for API servers.
func textsOf(value any) map[string]string {
	texts := map[string]string{}
	fields, _ := value.(map[string]any)
	for key, value := range fields {
		if text, isText := value.(string); isText || value == nil {
			texts[key] = text
		}
	}
	return texts
}

// numberOf returns a number of replicas, 0 for other values. A number that is not whole counts as
// larger than any limit.
func numberOf(value any) int64 {
	number, ok := value.(json.Number)
	if !ok {
		return 0
	}
	whole, err := number.Int64()
	if err != nil {
		return math.MaxInt64
	}
	return whole
}

// imagesIn returns the images of all pod templates in a value, at any depth: custom kinds have them
// in other places than Kubernetes' own kinds.
func imagesIn(value any, found []string) []string {
	switch value := value.(type) {
	case []any:
		for _, item := range value {
			found = imagesIn(item, found)
		}
	case map[string]any:
		for key, below := range value {
			switch key {
			case "containers", "initContainers", "ephemeralContainers":
				found = imagesOf(below, found, "image")
			case "volumes":
				found = imagesOf(below, found, "image", "reference")
			}
			found = imagesIn(below, found)
		}
	}
	return found
}

// imagesOf adds the texts at a path below each item of a list.
func imagesOf(list any, found []string, path ...string) []string {
	items, _ := list.([]any)
	for _, item := range items {
		for _, key := range path {
			fields, _ := item.(map[string]any)
			item = fields[key]
		}
		if text, _ := item.(string); text != "" {
			found = append(found, text)
		}
	}
	return found
}

// definedClusterKind returns the cluster-scoped kind that a definition declares, with its group, ""
// for none.
func definedClusterKind(fields map[string]any) string {
	if fields["kind"] != "CustomResourceDefinition" {
		return ""
	}
	spec, _ := fields["spec"].(map[string]any)
	names, _ := spec["names"].(map[string]any)
	kind, _ := names["kind"].(string)
	group, _ := spec["group"].(string)
	if spec["scope"] != "Cluster" || kind == "" {
		return ""
	}
	return kind + "." + group
}
