package fleetyaml

import (
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
)

// Compile makes the selector ready for matching. A nil selector matches nothing, an empty one
// everything. The error names the label or operator that Kubernetes does not accept.
func (s *Selector) Compile() (labels.Selector, error) {
	if s == nil {
		return labels.Nothing(), nil
	}
	compiled := labels.NewSelector()
	for _, key := range slices.Sorted(maps.Keys(s.MatchLabels)) {
		requirement, err := labels.NewRequirement(key, selection.Equals, []string{s.MatchLabels[key]})
		if err != nil {
			return nil, fmt.Errorf("label %q: %w", key, err)
		}
		compiled = compiled.Add(*requirement)
	}
	for _, expression := range s.MatchExpressions {
		requirement, err := expression.compile()
		if err != nil {
			return nil, fmt.Errorf("expression about label %q: %w", expression.Key, err)
		}
		compiled = compiled.Add(*requirement)
	}
	return compiled, nil
}

func (r Requirement) compile() (*labels.Requirement, error) {
	operators := map[string]selection.Operator{
		"In":           selection.In,
		"NotIn":        selection.NotIn,
		"Exists":       selection.Exists,
		"DoesNotExist": selection.DoesNotExist,
	}
	operator, ok := operators[r.Operator]
	if !ok {
		return nil, fmt.Errorf("operator %q is not one of In, NotIn, Exists, DoesNotExist", r.Operator)
	}
	return labels.NewRequirement(r.Key, operator, r.Values)
}
