package templates

import (
	"fmt"
	"text/template"
	"time"

	"github.com/Masterminds/sprig/v3"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/target"
)

// functions returns the functions that templates can call. They are those of Fleet
// (internal/cmd/controller/target/builder.go). A function whose result is not reproducible, for
// example because it reads the clock or is random, returns an error.
func functions() template.FuncMap {
	all := sprig.TxtFuncMap()
	for _, name := range []string{"env", "expandenv", "include", "tpl", "getHostByName"} {
		delete(all, name)
	}
	for _, name := range []string{
		"now", "ago", "uuidv4", "shuffle", "bcrypt", "htpasswd", "encryptAES",
		"randAlpha", "randAlphaNum", "randAscii", "randBytes", "randInt", "randNumeric",
		"genCA", "genCAWithKey", "genPrivateKey", "genSelfSignedCert", "genSelfSignedCertWithKey",
		"genSignedCert", "genSignedCertWithKey",
	} {
		all[name] = func(...any) (string, error) { return "", &target.NonHermeticError{Function: name} }
	}
	// Where the time zone depends on the machine, UTC is used, as in Fleet's own container. A value
	// that is not a time is an error, and not the current time.
	all["date"] = func(layout string, date any) (string, error) { return formatDate(layout, date, "UTC") }
	all["dateInZone"], all["date_in_zone"] = formatDate, formatDate
	all["htmlDate"] = func(date any) (string, error) { return formatDate(time.DateOnly, date, "UTC") }
	all["htmlDateInZone"] = func(date any, zone string) (string, error) { return formatDate(time.DateOnly, date, zone) }
	all["toDate"] = func(layout, text string) time.Time {
		parsed, _ := time.ParseInLocation(layout, text, time.UTC)
		return parsed
	}
	all["mustToDate"] = func(layout, text string) (time.Time, error) {
		return time.ParseInLocation(layout, text, time.UTC)
	}
	return all
}

// formatDate formats a time, or seconds since 1970.
func formatDate(layout string, date any, zone string) (string, error) {
	t, ok := timeOf(date)
	if !ok {
		return "", fmt.Errorf("%T is not a date, and the current time is not reproducible", date)
	}
	location, err := time.LoadLocation(zone)
	if err != nil {
		return "", fmt.Errorf("time zone %q: %w", zone, err)
	}
	return t.In(location).Format(layout), nil
}

// timeOf reads a date as sprig does: a time, or seconds since 1970.
func timeOf(date any) (t time.Time, ok bool) {
	switch date := date.(type) {
	case time.Time:
		return date, true
	case *time.Time:
		return *date, true
	case int64:
		return time.Unix(date, 0), true
	case int:
		return time.Unix(int64(date), 0), true
	case int32:
		return time.Unix(int64(date), 0), true
	}
	return time.Time{}, false
}
