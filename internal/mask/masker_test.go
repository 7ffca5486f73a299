package mask_test

import (
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/mask"
)

func TestText(t *testing.T) {
	t.Parallel()
	const secret = "open sesame/+?&<é\"" //nolint:gosec // not a real secret
	masker := &mask.Masker{}
	masker.Publish("prod-eu", "postgres-ha")
	masker.Add(secret, "hunter2", "hunter2hunter3", "443", "ab", "", "  trimmed-value\n", "-----BEGIN KEY-----\nMIIEvQIBADANBgkqhkiG\nw0BAQEFAASCBKcwggSjAgEA\n-----END KEY-----\n")
	masker.AddValues(map[string]any{"word": "yes", "name": "default", "list": []any{"nested-secret", 8080.5}, "stage": "prod", "host": "postgres-ha"})
	masker.AddSecret(map[string]any{
		"apiVersion": "v1", "kind": "Secret",
		"data":       map[string]any{"k": base64.StdEncoding.EncodeToString([]byte("from-the-data")), "config": base64.StdEncoding.EncodeToString([]byte(`{"auths":{"r":{"password":"in-the-document"}}}`))},
		"stringData": map[string]any{"k": "from-string-data"},
	})
	within := func(before, after string) string {
		return base64.StdEncoding.EncodeToString([]byte(before + secret + after))
	}
	tests := map[string]struct{ text, want string }{
		"plain":                     {`a ` + secret + ` b`, "a (sensitive value) b"},
		"inside a word":             {"xxhunter2hunter3xx", "xx(sensitive value)xx"},
		"the longest first":         {"hunter2hunter3 hunter2", "(sensitive value) (sensitive value)"},
		"base64":                    {"a " + base64.StdEncoding.EncodeToString([]byte(secret)), "a (sensitive value)"},
		"base64 of URLs":            {"a " + base64.RawURLEncoding.EncodeToString([]byte(secret)), "a (sensitive value)"},
		"in a query":                {"?a=" + url.QueryEscape(secret), "?a=(sensitive value)"},
		"in a path":                 {"/" + url.PathEscape(secret) + "/", "/(sensitive value)/"},
		"in JSON":                   {`{"a":"open sesame/+?\u0026\u003cé\""}`, `{"a":"(sensitive value)"}`},
		"in JSON in JSON":           {`"{\"a\":\"open sesame/+?&<é\\\"\"}"`, `"{\"a\":\"(sensitive value)\"}"`},
		"quoted by Go":              {fmt.Sprintf("%q", secret), `"(sensitive value)"`},
		"short, as a word":          {`password "hunter2", 443`, `password "(sensitive value)", (sensitive value)`},
		"short, in a word":          {"hunter24 xhunter2 hunter2_", "hunter24 xhunter2 hunter2_"},
		"a number in an address":    {"dial 10.0.0.1:443: 4430, 1443, v1.443", "dial 10.0.0.1:443: 4430, 1443, v1.443"},
		"two bytes":                 {"ab", "ab"},
		"trimmed":                   {"trimmed-value", "(sensitive value)"},
		"a line of a key":           {"    w0BAQEFAASCBKcwggSjAgEA", "    (sensitive value)"},
		"the frame of a key":        {"-----BEGIN KEY-----", "-----BEGIN KEY-----"},
		"words":                     {"yes, in the namespace default", "yes, in the namespace default"},
		"values":                    {"nested-secret 8080.5", "(sensitive value) (sensitive value)"},
		"a word in a public name":   {"cluster prod-eu is prod", "cluster prod-eu is (sensitive value)"},
		"a public name":             {"release postgres-ha", "release postgres-ha"},
		"data":                      {"from-the-data", "(sensitive value)"},
		"a document in data":        {"in-the-document", "(sensitive value)"},
		"stringData":                {"from-string-data", "(sensitive value)"},
		"stringData in base64":      {"ZnJvbS1zdHJpbmctZGF0YQ==", "(sensitive value)"},
		"values of an API server":   {`spec.a: Invalid value: {"b":"c: d"}: must be e`, "spec.a: Invalid value: must be e"},
		"nothing":                   {"harmless", "harmless"},
		"side by side is one value": {"from-the-datanested-secret", "(sensitive value)"},
	}

	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(test.want, masker.Text(test.text)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
	for length := range 3 {
		t.Run(fmt.Sprintf("base64 after %d bytes", length), func(t *testing.T) {
			t.Parallel()
			got := masker.Text("x " + within(strings.Repeat("#", length), "##"))
			const edge = 8 // Digits with bits of neighbouring bytes may stay, and the padding.
			if !strings.Contains(got, mask.Sensitive) || len(got) > len("x ")+len(mask.Sensitive)+edge {
				t.Errorf("got %q", got)
			}
		})
	}
}

func TestFor(t *testing.T) {
	t.Parallel()
	provider := &mask.Masker{}
	operation := provider.For()
	operation.Add("of-the-release")
	provider.Add("of-the-provider")
	const text = "of-the-release of-the-provider"
	if got := operation.Text(text); got != "(sensitive value) (sensitive value)" {
		t.Errorf("the operation's gives %q", got)
	}
	if got := provider.Text(text); got != "of-the-release (sensitive value)" {
		t.Errorf("the provider's gives %q", got)
	}
	var none *mask.Masker
	if got := none.Text(text); got != text {
		t.Errorf("none gives %q", got)
	}
}

func TestError(t *testing.T) {
	t.Parallel()
	masker := &mask.Masker{}
	masker.Add("open sesame")
	err := masker.Error(fmt.Errorf("open sesame: %w", fs.ErrClosed))
	if err.Error() != "(sensitive value): file already closed" || !errors.Is(err, fs.ErrClosed) {
		t.Errorf("got %v", err)
	}
	if masker.Error(nil) != nil {
		t.Error("no error becomes one")
	}
	if other := errors.New("harmless"); !errors.Is(masker.Error(other), other) {
		t.Error("an error without secrets is another one")
	}
}

func TestInvalidValues(t *testing.T) {
	t.Parallel()
	tests := map[string]struct{ text, want string }{
		"object": {`Foo "x" is invalid: spec: Invalid value: {"a":{"b":"}\""},"c":[1]}: must be d`, `Foo "x" is invalid: spec: Invalid value: must be d`},
		"several": {
			`is invalid: [a: Invalid value: "s: t": is bad, b: Unsupported value: "u": supported values: "v", "w", c: Duplicate value: "z"]`,
			`is invalid: [a: Invalid value: is bad, b: Unsupported value: supported values: "v", "w", c: Duplicate value ]`,
		},
		"Go struct":      {`spec.selector: Invalid value: v1.LabelSelector{MatchLabels:map[string]string{"app":"x"}}: field is immutable`, `spec.selector: Invalid value: field is immutable`},
		"Go map":         {`spec: Invalid value: map[string]interface {}{"a":"b"}: c`, `spec: Invalid value: c`},
		"Go list":        {`spec.ips[0]: Invalid value: []string{"a"}: c`, `spec.ips[0]: Invalid value: c`},
		"nil":            {`spec.ips[0]: Invalid value: []string(nil): c`, `spec.ips[0]: Invalid value: c`},
		"list":           {`a: Invalid value: ["b", "c"]: d`, `a: Invalid value: d`},
		"number":         {`spec.replicas: Invalid value: -1: must be greater than or equal to 0`, `spec.replicas: Invalid value: -1: must be greater than or equal to 0`},
		"boolean":        {`a: Invalid value: true: b`, `a: Invalid value: true: b`},
		"without an end": {`a: Invalid value: {"b":"secret: c`, `a: Invalid value`},
		"text without an end": {
			`a: Invalid value: "secret: c`, `a: Invalid value`,
		},
		"quoted itself": {`"message":"a: Invalid value: \"secret\": b"`, `"message":"a: Invalid value: b"`},
		"alone":         {"Invalid value", "Invalid value"},
		"last":          {"Invalid value: ", "Invalid value: "},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(test.want, (&mask.Masker{}).Text(test.text)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestPrintable(t *testing.T) {
	t.Parallel()
	tests := map[string]struct{ text, want string }{
		"plain":           {"a\tb\nç 漢 🚢", "a\tb\nç 漢 🚢"},
		"escape sequence": {"\x1b[31mred\x1b]0;title\x07", `\x1b[31mred\x1b]0;title\x07`},
		"carriage return": {"a\rb", `a\rb`},
		"C1":              {"\u009b31m", `\u009b31m`},
		"bidi":            {"a\u202eb\u2066", `a\u202eb\u2066`},
		"zero width":      {"a\u200bb\ufeff\u200d", `a\u200bb\ufeff\u200d`},
		"separators":      {"a\u2028b", `a\u2028b`},
		"no UTF-8":        {"a\xffb", `a\xffb`},
		"tags":            {"a\U000e0041", `a\ue0041`},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(test.want, mask.Printable(test.text)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestLastLine(t *testing.T) {
	t.Parallel()
	tests := map[string]struct{ text, want string }{
		"empty":   {" \n\n", ""},
		"one":     {"a", "a"},
		"several": {"a\nb \r\n\n", "b"},
		"long":    {"a\n" + strings.Repeat("é", 10), "éé…"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(test.want, mask.LastLine(test.text, 5)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestObject(t *testing.T) {
	t.Parallel()
	secret := map[string]any{
		"apiVersion": "v1", "kind": "Secret", "metadata": map[string]any{"name": "s", "annotations": map[string]any{"kubectl.kubernetes.io/last-applied-configuration": "{}"}},
		"data": map[string]any{"a": "c3dvcmRmaXNo"}, "stringData": "nonsense",
	}
	object := map[string]any{"apiVersion": "v1", "kind": "List", "items": []any{
		secret, map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "data": map[string]any{"url": "https://me:swordfish@db", "swordfish": "1", "of swordfish": "2", "of (sensitive value)": "3"}}, //nolint:gosec // no real password
	}}
	masker := &mask.Masker{}
	masker.AddSecret(object)
	masker.Object(object)
	want := map[string]any{"apiVersion": "v1", "kind": "List", "items": []any{
		map[string]any{
			"apiVersion": "v1", "kind": "Secret", "metadata": map[string]any{"name": "s", "annotations": map[string]any{"kubectl.kubernetes.io/last-applied-configuration": mask.Sensitive}},
			"data": map[string]any{"a": mask.Sensitive}, "stringData": mask.Sensitive,
		},
		map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "data": map[string]any{
			"url": "https://me:(sensitive value)@db", "(sensitive value)": "1", "of (sensitive value) 2": "2", "of (sensitive value)": "3",
		}},
	}}
	if diff := cmp.Diff(want, object); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// FuzzText searches the output of a masker for readable secret values.
func FuzzText(f *testing.F) {
	f.Add("open sesame", "it is open sesame")
	f.Add("aaaaaaaaaaaaaaaa", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa")
	f.Add("a: Invalid value: {", "a: Invalid value: {a: Invalid value: {")
	f.Add("(sensitive value)", "(sensitive value)")
	f.Fuzz(func(t *testing.T, secret, text string) {
		secret = strings.TrimSpace(secret)
		//nolint:gocritic // the secret may be part of the replacement text
		if len(secret) < 8 || !utf8.ValidString(secret) || strings.Contains(mask.Sensitive+mask.Sensitive, secret) {
			return
		}
		masker := &mask.Masker{}
		masker.Add(secret)
		for name, written := range map[string]string{
			"plain": secret, "base64": base64.StdEncoding.EncodeToString([]byte(secret)), "URL": url.QueryEscape(secret),
		} {
			// The replacement text of one value can complete another value.
			got := strings.ReplaceAll(masker.Text(text+"\x00"+written+"\x00"+text), mask.Sensitive, "\x00\x00")
			if strings.Contains(got, written) && !strings.Contains(written, "\x00") {
				t.Errorf("%s can be read in %q", name, got)
			}
		}
		mask.Printable(mask.LastLine(text, 20))
	})
}

func BenchmarkText(b *testing.B) {
	masker := &mask.Masker{}
	for i := range 10_000 {
		masker.Add(fmt.Sprintf("-----value %d of a Secret-----", i))
	}
	text := strings.Repeat("-----value 5 of a Secret", 1<<10) + strings.Repeat("-----value 77 of a Secret-----", 1<<10)
	masker.Text("")
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		masker.Text(text)
	}
}

func BenchmarkIndex(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		masker := &mask.Masker{}
		for i := range 10_000 {
			masker.Add(fmt.Sprintf("value %d of a Secret, which is longer", i))
		}
		masker.Text("a text")
	}
}
