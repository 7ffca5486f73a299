package policy

import (
	"fmt"
	"strings"
)

// RefusedError reports that policies do not allow the objects that were about to be written. Its
// text does not name the cluster, so that the same cause has the same text on many clusters.
type RefusedError struct{ Violations []Violation }

func (e *RefusedError) Error() string {
	const most = 10
	var text strings.Builder
	text.WriteString("policies do not allow it")
	for i, v := range e.Violations {
		if i == most {
			fmt.Fprintf(&text, "; and %d more", len(e.Violations)-most)
			break
		}
		fmt.Fprintf(&text, "; policy %s, %s: %s", v.Policy, v.Rule, v.What())
	}
	return text.String()
}

// What returns what is wrong and where, without the cluster and the bundle.
func (v Violation) What() string {
	if v.Object == "" {
		return v.Text
	}
	return v.Object + v.where() + ": " + v.Text
}

func (v Violation) where() string {
	switch {
	case v.File == "":
		return ""
	case v.Line == 0:
		return " (" + shown(v.File) + ")"
	}
	return fmt.Sprintf(" (%s:%d)", shown(v.File), v.Line)
}

// Split returns violations that are errors and those that are warnings.
func Split(violations []Violation) (denied, warned []Violation) {
	for _, v := range violations {
		if v.Action == Warn {
			warned = append(warned, v)
			continue
		}
		denied = append(denied, v)
	}
	return denied, warned
}
