package sandboxed

import (
	"reflect"
	"regexp"
	"strings"
)

// isNonDeterministic says whether a template function can return something else for the same
// arguments: it reads a clock, a source of randomness or the cluster,
// walks a map in Go's random order, or goes by the machine. Functions of dates go by
// its time zone even for a constant; fromToml gives dates that do, and those of paths
// with os in front by its separator.
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

// printsAddress says whether a format prints the address of a value.
func printsAddress(format string) bool {
	return addressVerb.MatchString(strings.ReplaceAll(format, "%%", ""))
}

// couldDiffer says whether one call of a non-deterministic function could have had another
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

// isUnordered says whether a function gives its elements in random order.
func isUnordered(function string) bool { return function == "keys" || function == "values" }

// order is what a function makes of the order of a list.
type order int

const (
	orderShown   order = iota // by its result
	orderKept                 // in its result, and by nothing else
	orderIgnored              // so that its result is the same for any order
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

// isLive says whether a name below the template's root depends on the cluster or on
// what was released before.
func isLive(field string) bool {
	return field == capabilitiesField || isHistory(field) || isFirst(field)
}

const capabilitiesField = "Capabilities"

// isHistory says whether a field counts what was released before.
func isHistory(field string) bool { return field == "Revision" }

// isFirst says whether a field distinguishes the first revision from later ones.
func isFirst(field string) bool { return field == "IsInstall" || field == "IsUpgrade" }

// fieldOf is the field that a template reads, "" for a function that it calls.
func fieldOf(what string) string {
	field, ok := strings.CutPrefix(what, ".")
	if !ok {
		return ""
	}
	return field
}
