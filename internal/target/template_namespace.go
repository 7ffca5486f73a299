package target

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/fleetyaml"
)

// namespaceKey is a label or an annotation of the namespace whose value has a template.
type namespaceKey struct {
	option, key, text string
}

func (n namespaceKey) place() string { return n.option + "." + n.key }

const (
	labelsOption      = "namespaceLabels"
	annotationsOption = "namespaceAnnotations"
)

// namespaceKeysOf returns the labels and annotations to template, sorted. Fleet templates them since
// 0.17. helm.disablePreProcess is for them, too: else no annotation could contain "${".
func namespaceKeysOf(options fleetyaml.Options) []namespaceKey {
	if options.Helm != nil && options.Helm.DisablePreProcess {
		return nil
	}
	var keys []namespaceKey
	add := func(option string, values map[string]string) {
		for _, key := range slices.Sorted(maps.Keys(values)) {
			if strings.Contains(values[key], LeftDelim) {
				keys = append(keys, namespaceKey{option: option, key: key, text: values[key]})
			}
		}
	}
	add(labelsOption, options.NamespaceLabels)
	add(annotationsOption, options.NamespaceAnnotations)
	return keys
}

// templated is what one cluster gets after templating.
type templated struct {
	values map[string]any
	// texts are the values of namespace, in the same order.
	namespace []namespaceKey
	texts     []string
}

// in returns options with what is templated. It changes nothing in the options of other clusters.
func (t templated) in(options fleetyaml.Options) fleetyaml.Options {
	if options.Helm != nil {
		helm := *options.Helm
		helm.Values = t.values
		options.Helm = &helm
	}
	if len(t.namespace) == 0 {
		return options
	}
	options.NamespaceLabels, options.NamespaceAnnotations = maps.Clone(options.NamespaceLabels), maps.Clone(options.NamespaceAnnotations)
	for i, n := range t.namespace {
		if n.option == labelsOption {
			options.NamespaceLabels[n.key] = t.texts[i]
			continue
		}
		options.NamespaceAnnotations[n.key] = t.texts[i]
	}
	return options
}

func (d Deployment) checkNamespaceLabels() error {
	labels := d.Options.NamespaceLabels
	for _, key := range slices.Sorted(maps.Keys(labels)) {
		value := labels[key]
		if len(validation.IsValidLabelValue(value)) == 0 {
			continue
		}
		hint := ""
		if strings.Contains(value, LeftDelim) {
			hint = ". Templates (${ ... }) have no effect for a cluster without labels, or with " +
				d.Bundle.Spelling().Name("helm.disablePreProcess")
		}
		// The error does not contain the value: template values of a cluster can be secret.
		return fmt.Errorf("%s: what %s is set to is not a valid value of a label: use up to %d letters, digits, \"-\", \"_\" and "+
			"\".\", with a letter or digit at both ends%s",
			d.Bundle.Spelling().Name(labelsOption), key, validation.LabelValueMaxLength, hint)
	}
	return nil
}
