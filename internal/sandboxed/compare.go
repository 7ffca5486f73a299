package sandboxed

import (
	"slices"
	"strings"
)

// comparison compares the events of several renderings of one file. At each event it checks this
// condition: a value that can vary is different in at least two of the renderings. If the condition
// is true, objects that are equal in all of these renderings are always equal.
//
// A call of a function can break the condition: eq of a random text and a constant is false in each
// rendering. Then the condition is not true for the code that contains the call: the branch, the
// template that is included for its text, or finally the file. A whole branch or included template
// counts as one value if its text differs, and if it can do nothing but write that text. For such a
// value, the condition is true again.
type comparison struct{}

// isSound reports whether each value that can vary differs.
func (c comparison) isSound(renderings ...[]*event) bool {
	for _, events := range renderings {
		if len(events) != len(renderings[0]) {
			return false
		}
	}
	for i := range renderings[0] {
		column := make([]*event, len(renderings))
		for j, events := range renderings {
			column[j] = events[i]
		}
		if !c.event(column) {
			return false
		}
	}
	return true
}

func (c comparison) event(of []*event) bool {
	first := of[0]
	for _, e := range of {
		if e.kind != first.kind || e.what != first.what {
			return false
		}
	}
	switch first.kind {
	case called:
		return c.call(of)
	case field:
		return argumentsEqual(of) || showsField(of)
	case branched:
		return c.branch(of)
	case included:
	}
	return argumentsEqual(of) && c.inner(of) || c.isOneText(of)
}

// inner compares the events inside an event.
func (c comparison) inner(of []*event) bool {
	renderings := make([][]*event, len(of))
	for i, e := range of {
		renderings[i] = e.inner
	}
	return c.isSound(renderings...)
}

// call reports whether a function shows by its result that its arguments differ.
func (c comparison) call(of []*event) bool {
	same, shown := argumentsEqual(of), !resultsEqual(of)
	switch function := of[0].what; {
	case isLazy(function) && !same && shown && !hasKind(of, mapped, nesting):
		return true // The arguments that are evaluated depend on the others.
	case !c.inner(of):
		return false
	case same:
		return true
	case readsField(function):
		return showsField(of)
	case !shown:
		return isOrderIgnored(of) || ignoresDifference(of)
	default:
		return !hasKind(of, mapped, nesting) || keepsMaps(function) && !anyArgument(of, nesting)
	}
}

// isLazy reports whether a function does not always evaluate all of its arguments.
func isLazy(function string) bool { return function == "and" || function == "or" }

// showsField reports whether a field that was read by different paths differs.
func showsField(of []*event) bool {
	if resultsEqual(of) {
		return false
	}
	const names = 1
	chosen := !allEqual(of, func(e *event) uint64 { return e.arguments[names].hash })
	return !hasKind(of, mapped, nesting) || !chosen && !anyArgument(of, nesting)
}

func resultsEqual(of []*event) bool {
	return allEqual(of, func(e *event) uint64 { return e.result.hash })
}

// keepsMaps reports whether each part of a map that a function returns is a part of its arguments.
func keepsMaps(function string) bool {
	switch function {
	case "default", "coalesce", "ternary", "and", "or", "required", "deepCopy", "mustDeepCopy", "pick", "omit",
		"merge", "mergeOverwrite", "mustMerge", "mustMergeOverwrite",
		"genSignedCert", "genSignedCertWithKey", "genCAWithKey", "genSelfSignedCertWithKey", "buildCustomCert":
		return true
	}
	return false
}

// isOrderIgnored reports whether the arguments differ only in the order of lists, and the function
// does not depend on that order.
func isOrderIgnored(of []*event) bool {
	switch of[0].what {
	case "sortAlpha", "len", "empty", "not", "has", "mustHas":
	default:
		return false
	}
	for _, e := range of {
		if len(e.arguments) != len(of[0].arguments) {
			return false
		}
		for i, argument := range e.arguments {
			isNeedle := i == 0 && len(e.arguments) > 1
			if argument.bag != of[0].arguments[i].bag || isNeedle && argument.hash != of[0].arguments[i].hash {
				return false
			}
		}
	}
	return true
}

// ignoresDifference reports whether a function does not read the arguments that differ.
func ignoresDifference(of []*event) bool {
	decides := func(i int) bool {
		return allEqual(of, func(e *event) uint64 {
			if i >= len(e.arguments) {
				return 0
			}
			return e.arguments[i].hash
		})
	}
	const second, third = 1, 2
	switch of[0].what {
	case "default":
		return len(of[0].arguments) == third && decides(second)
	case "ternary":
		return len(of[0].arguments) == third+1 && decides(third)
	}
	return false
}

// branch reports whether a branch does the same in all renderings, or its result shows the
// difference.
func (c comparison) branch(of []*event) bool {
	return !isUndecided(of) && c.inner(of) || c.isOneText(of)
}

// isUndecided reports whether the path through a branch can vary.
func isUndecided(of []*event) bool {
	if argumentsEqual(of) {
		return false
	}
	if !allEqual(of, func(e *event) uint64 { return e.arguments[0].bag }) || anyArgument(of, mapped, nesting, scalar) {
		return true
	}
	// A list whose order varies.
	for i := range of[0].elements {
		if allEqual(of, func(e *event) uint64 {
			if i >= len(e.elements) {
				return 0
			}
			return e.elements[i]
		}) {
			return true
		}
	}
	return false
}

// isOneText reports whether code that does different things counts as one text that differs, or has
// no visible effect.
func (comparison) isOneText(of []*event) bool {
	code := of[0].source
	if code == nil || !code.isHarmless() {
		return false
	}
	if of[0].kind == branched {
		if code.confusing {
			return false
		}
		for i := range code.assigned {
			if allEqual(of, func(e *event) uint64 { return e.variables[i].hash }) ||
				slices.ContainsFunc(of, func(e *event) bool { return e.variables[i].kind != scalar }) {
				return false
			}
		}
		if code.silent {
			return true
		}
	}
	return !allEqual(of, func(e *event) uint64 { return e.text })
}

func argumentsEqual(of []*event) bool {
	for _, e := range of {
		if !slices.EqualFunc(e.arguments, of[0].arguments, func(a, b summary) bool { return a.hash == b.hash }) {
			return false
		}
	}
	return true
}

func allEqual(of []*event, value func(*event) uint64) bool {
	return !slices.ContainsFunc(of, func(e *event) bool { return value(e) != value(of[0]) })
}

func hasKind(of []*event, kinds ...valueKind) bool {
	return slices.ContainsFunc(of, func(e *event) bool { return slices.Contains(kinds, e.result.kind) })
}

func anyArgument(of []*event, kinds ...valueKind) bool {
	return slices.ContainsFunc(of, func(e *event) bool {
		return slices.ContainsFunc(e.arguments, func(a summary) bool { return slices.Contains(kinds, a.kind) })
	})
}

// isNotes reports whether Helm prints a file and does not apply it.
func isNotes(name string) bool { return strings.HasSuffix(name, notesFile) }
