package templates

import (
	"reflect"
	"regexp"
	"slices"
	"strings"
)

// isNonDeterministic reports whether a template function can have another result for the same
// arguments. Such a function reads a clock, a source of randomness or the cluster, iterates over a
// map in Go's random order, or depends on the machine. Functions for dates depend on the machine's
// time zone even for a constant, and so do the dates that fromToml returns. The functions for paths
// that begin with os depend on its path separator.
func isNonDeterministic(function string) bool {
	switch function {
	case "now", "ago", "date", "dateInZone", "date_in_zone", "dateModify", "date_modify",
		"mustDateModify", "must_date_modify", "htmlDate", "htmlDateInZone", "toDate", "mustToDate",
		"durationRound",
		"shuffle", "uuidv4", "encryptAES", lookupFunction:
		return true
	}
	return isUnordered(function) || isUnsupported(function) || isForeignLookup(function) ||
		isLaborious(function) || strings.HasPrefix(function, "rand")
}

// isLaborious reports whether a function makes a key or a hash that takes long.
func isLaborious(function string) bool {
	switch function {
	case "bcrypt", "htpasswd":
		return true
	}
	return strings.HasPrefix(function, "gen") && len(function) > len("gen")
}

const lookupFunction = "lookup"

// lookupOf returns what a place of a lookup is called. Only Secrets have made-up content in seeds that
// resembles what is on clusters.
func lookupOf(apiVersion, kind string) string {
	if apiVersion == "v1" && kind == "Secret" {
		return lookupFunction
	}
	return foreignLookup + kind
}

const foreignLookup = lookupFunction + " of "

// isForeignLookup reports whether a place looks up another kind than Secret.
func isForeignLookup(what string) bool { return strings.HasPrefix(what, foreignLookup) }

// isUnsupported reports whether no seed replaces a function whose result can vary. printf counts only
// if it prints an address.
func isUnsupported(function string) bool {
	switch function {
	case "fromToml", "osBase", "osClean", "osDir", "osExt", "osIsAbs", "printf":
		return true
	}
	return false
}

// isUnordered reports whether a function returns its elements in random order.
func isUnordered(function string) bool { return function == "keys" || function == "values" }

var addressVerb = regexp.MustCompile(`%[^a-zA-Z%]*p`)

// printsAddress reports whether a format prints the address of a value.
func printsAddress(format string) bool {
	return addressVerb.MatchString(strings.ReplaceAll(format, "%%", ""))
}

// couldDiffer reports whether one call of a non-deterministic function could have had another
// result.
func couldDiffer(function string, arguments, results []reflect.Value) bool {
	switch function {
	case "keys", "values":
		return results[0].Len() > 1
	case "printf":
		return printsAddress(arguments[0].String())
	}
	return true
}

// isLive reports whether a field below the template's root depends on the cluster or on earlier
// revisions.
func isLive(field string) bool {
	return field == capabilitiesField || isHistory(field) || isFirst(field)
}

const capabilitiesField = "Capabilities"

// isHistory reports whether a field counts the revisions of the release.
func isHistory(field string) bool { return field == "Revision" }

// isFirst reports whether a field distinguishes the first revision from later ones.
func isFirst(field string) bool { return field == "IsInstall" || field == "IsUpgrade" }

// fieldOf returns the field that a template reads, "" for a function that it calls.
func fieldOf(what string) string {
	if field, ok := strings.CutPrefix(what, "."); ok {
		return field
	}
	return ""
}

// reach is what a rendering of a chart has read or called.
type reach []templatePosition

// first returns the first place whose function or field is accepted by is.
func (r reach) first(is func(what string) bool) (templatePosition, bool) {
	i := slices.IndexFunc(r, func(s templatePosition) bool { return is(s.what) })
	if i < 0 {
		return templatePosition{}, false
	}
	return r[i], true
}

func (r reach) has(is func(what string) bool) bool {
	_, ok := r.first(is)
	return ok
}

// readsRevision reports whether templates read which revision they make.
func (r reach) readsRevision() bool {
	return r.has(func(what string) bool { return isHistory(fieldOf(what)) || isFirst(fieldOf(what)) })
}

// needsSeeds reports whether another rendering in the same environment can have another result.
func (r reach) needsSeeds() bool {
	return r.has(func(what string) bool { return isNonDeterministic(what) || isHistory(fieldOf(what)) })
}

// isOrdered reports whether seeds are needed only for the order of maps.
func (r reach) isOrdered() bool {
	return !r.has(isRandom)
}

// cause returns the place that explains best why renderings differ, "" if there is none.
func (r reach) cause() string {
	for _, is := range []func(what string) bool{
		isRandom,
		isUnordered,
		func(what string) bool { return isFirst(fieldOf(what)) },
	} {
		if found, ok := r.first(is); ok {
			return found.String()
		}
	}
	return ""
}

// isLookup reports whether a place looks up objects.
func isLookup(what string) bool { return what == lookupFunction || isForeignLookup(what) }

// isRandom reports whether a place can have another result for another reason than the order of maps.
func isRandom(what string) bool {
	return isNonDeterministic(what) && !isUnordered(what) || isHistory(fieldOf(what))
}

// isCapabilities reports whether a place reads capabilities of the cluster.
func isCapabilities(what string) bool {
	return fieldOf(what) == capabilitiesField || what == readIndirectlyField
}
