package providertest

import (
	"fmt"
	"maps"
	"math/big"
	"regexp"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-go/tftypes"
)

// Attributes returns the attributes of an object, or the elements of a map.
func Attributes(tb testing.TB, object tftypes.Value) map[string]tftypes.Value {
	tb.Helper()
	var attributes map[string]tftypes.Value
	if err := object.As(&attributes); err != nil {
		tb.Fatal(err)
	}
	return maps.Clone(attributes) // The original map belongs to the object.
}

// Typed converts plain values to a type. Attributes that an object lacks are null.
func Typed(tb testing.TB, of tftypes.Type, plain any) tftypes.Value {
	tb.Helper()
	if plain == nil {
		return tftypes.NewValue(of, nil)
	}
	switch of := of.(type) {
	case tftypes.Object:
		fields, ok := plain.(map[string]any)
		if !ok {
			tb.Fatalf("%v is no object", plain)
		}
		values := map[string]tftypes.Value{}
		for name, field := range of.AttributeTypes {
			values[name] = Typed(tb, field, fields[name])
		}
		for name := range fields {
			if _, known := of.AttributeTypes[name]; !known {
				tb.Fatalf("no attribute is called %s", name)
			}
		}
		return tftypes.NewValue(of, values)
	case tftypes.Map:
		values := map[string]tftypes.Value{}
		for key, element := range plain.(map[string]any) { //nolint:forcetypeassert // a panic fails the test
			values[key] = Typed(tb, of.ElementType, element)
		}
		return tftypes.NewValue(of, values)
	case tftypes.Set:
		return tftypes.NewValue(of, membersOf(tb, of.ElementType, plain))
	case tftypes.List:
		return tftypes.NewValue(of, membersOf(tb, of.ElementType, plain))
	}
	if value, ok := plain.(tftypes.Value); ok {
		return value
	}
	if number, ok := plain.(int); ok {
		plain = big.NewFloat(float64(number))
	}
	return tftypes.NewValue(of, plain)
}

func membersOf(tb testing.TB, of tftypes.Type, plain any) []tftypes.Value {
	tb.Helper()
	var values []tftypes.Value
	for _, element := range plain.([]any) { //nolint:forcetypeassert // a panic fails the test
		values = append(values, Typed(tb, of, element))
	}
	return values
}

// Plain is the inverse of Typed, for values that contain only maps and texts.
func Plain(tb testing.TB, value tftypes.Value) any {
	tb.Helper()
	var text string
	if value.Type().Is(tftypes.String) && value.As(&text) == nil {
		return text
	}
	plain := map[string]any{}
	for name, below := range Attributes(tb, value) {
		plain[name] = Plain(tb, below)
	}
	return plain
}

// Path returns a path as users write it: clusters["a"].exec.args[0].
func Path(path *tftypes.AttributePath) string {
	var text strings.Builder
	for _, step := range path.Steps() {
		switch step := step.(type) {
		case tftypes.AttributeName:
			text.WriteString("." + string(step))
		case tftypes.ElementKeyString:
			fmt.Fprintf(&text, "[%q]", string(step))
		case tftypes.ElementKeyInt:
			fmt.Fprintf(&text, "[%d]", int64(step))
		case tftypes.ElementKeyValue:
			text.WriteString("[*]")
		}
	}
	return strings.TrimPrefix(text.String(), ".")
}

var element = regexp.MustCompile(`\[[^\]]*\]`)

// GeneralPath returns a path without the keys of its elements: clusters[*].exec.args[*].
func GeneralPath(at *tftypes.AttributePath) string { return element.ReplaceAllString(Path(at), "[*]") }
