package sandboxed

import (
	"reflect"
	"regexp"
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
		"durationRound", "fromToml",
		"shuffle", "uuidv4", "bcrypt", "htpasswd", "encryptAES",
		"lookup",
		"keys", "values",
		"osBase", "osClean", "osDir", "osExt", "osIsAbs",
		"printf":
		return true
	}
	return strings.HasPrefix(function, "rand") || (strings.HasPrefix(function, "gen") && len(function) > len("gen"))
}

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

// isUnordered reports whether a function returns its elements in random order.
func isUnordered(function string) bool { return function == "keys" || function == "values" }

// order is how the result of a function depends on the order of a list.
type order int

const (
	orderShown   order = iota // the result reveals the order
	orderKept                 // the result has the same order and does not depend on it otherwise
	orderIgnored              // the result is the same for any order
)

func orderIn(function string) order {
	switch function {
	case "sortAlpha", "len", "empty", "not":
		return orderIgnored
	case "uniq", "mustUniq", "compact", "mustCompact", "toStrings", "concat":
		return orderKept
	}
	return orderShown
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
	field, ok := strings.CutPrefix(what, ".")
	if !ok {
		return ""
	}
	return field
}
