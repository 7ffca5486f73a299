//go:build !race

package fleetyaml_test

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/fleetyaml"
)

// bombs returns short texts that expand to very long ones, by the technique.
func bombs() map[string]string {
	var wide, chain strings.Builder
	wide.WriteString("a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n")
	for i := 1; i < 12; i++ {
		fmt.Fprintf(&wide, "a%d: &a%d [%s*a%d]\n", i, i, strings.Repeat(fmt.Sprintf("*a%d, ", i-1), 9), i-1)
	}
	chain.WriteString("a0: &a0 [x]\n")
	for i := range 10_000 {
		fmt.Fprintf(&chain, "a%d: &a%d [*a%d]\n", i+1, i+1, i)
	}
	const half = 1 << 17
	return map[string]string{
		"aliases of lists of aliases": wide.String(),
		"a long text, often":          "a: &a " + strings.Repeat("x", half-100) + "\nb: [" + strings.Repeat("*a,", half/4) + "]\n",
		"a long key, often":           "a: [" + "&a " + strings.Repeat("x", half-100) + ",b]\nb: [" + strings.Repeat("{*a : 1},", half/10) + "]\n",
		"a merge of many":             "a: &a {" + strings.Repeat("x: 1, y: 2, ", 2_000) + "}\nb:\n" + strings.Repeat("- <<: [*a, *a, *a, *a]\n", 2_000),
		"a chain":                     chain.String(),
		"a list in a list":            "a: " + strings.Repeat("[", 5000) + strings.Repeat("]", 5000) + "\n",
		"a list in a list, too deep":  "a: " + strings.Repeat("[", 1<<20),
		"a map in a map":              "a: " + strings.Repeat("{a: ", 5000) + strings.Repeat("}", 5000) + "\n",
		"lists in lines":              "a:\n" + strings.Repeat("- ", 5000) + "x\n",
		"itself":                      "a: &a [*a]\n",
		"too long":                    strings.Repeat("# comment\n", fleetyaml.MaxSize/10+1),
	}
}

// manyMistakes returns long texts with an error or a warning on each line.
func manyMistakes() map[string]string {
	const many = 5_000
	numbered := func(format string, n int) string {
		var text strings.Builder
		for i := range n {
			fmt.Fprintf(&text, format, i)
		}
		return text.String()
	}
	return map[string]string{
		"unknown keys":               numbered("key%d: 1\n", many),
		"unknown keys, and targets":  numbered("key%d: 1\n", 3*many) + "targets:\n" + strings.Repeat("- {}\n", 3*many),
		"keys that are numbers":      "helm:\n  values:\n" + numbered("    %d: 1\n", many),
		"equal keys":                 "helm:\n  values:\n" + strings.Repeat("    a: 1\n", many),
		"bad selectors":              "targets:\n" + strings.Repeat("- {clusterSelector: {matchLabels: {a: '*'}}}\n", many),
		"dependencies of nothing":    "dependsOn:\n" + strings.Repeat("- {}\n", many),
		"wrong types":                "helm:\n  valuesFiles:\n" + strings.Repeat("  - {}\n", many),
		"labels without quotes":      "labels:\n" + numbered("  l%d: yes\n", many),
		"small lists, long together": "helm:\n  values:\n    a: [" + strings.Repeat("[],", 10*many) + "]\n",
	}
}

// bounded fails if f takes more than seconds or a few hundred megabytes. The limits are wide:
// without protection, f would take hours and terabytes.
func bounded(t *testing.T, f func()) {
	t.Helper()

	const megabytes = 1024
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	start := time.Now()
	f()
	taken := time.Since(start)
	runtime.ReadMemStats(&after)
	if taken > 15*time.Second {
		t.Errorf("it takes %s", taken)
	}
	if allocated := (after.TotalAlloc - before.TotalAlloc) >> 20; allocated > megabytes {
		t.Errorf("it allocates %d MiB", allocated)
	} else {
		t.Logf("%s, %d MiB allocated in all", taken, allocated)
	}
}

// It is not parallel, because it measures what the process allocates.
func TestBombs(t *testing.T) {
	for name, text := range bombs() {
		t.Run(name, func(t *testing.T) {
			bounded(t, func() {
				_, _, err := fleetyaml.Parse("f", []byte("helm:\n  values:\n    "+strings.ReplaceAll(text, "\n", "\n    ")), false)
				isRefused(t, err)
			})
			bounded(t, func() {
				_, _, err := fleetyaml.Values([]byte(text))
				isRefused(t, err)
			})
		})
	}
}

func isRefused(t *testing.T, err error) {
	t.Helper()

	invalid, ok := errors.AsType[*fleetyaml.Error](err)
	if !ok {
		t.Fatalf("error %v, want an *Error", err)
	}
	if text := invalid.Error(); len(text) > 50_000 {
		t.Errorf("the error has %d bytes", len(text))
	}
}

// It is not parallel, because it measures what the process allocates.
func TestManyMistakes(t *testing.T) {
	for name, text := range manyMistakes() {
		t.Run(name, func(t *testing.T) {
			bounded(t, func() {
				_, notes, err := fleetyaml.Parse("f", []byte(text), false)
				if err != nil {
					isRefused(t, err)
				}
				if len(notes) > 200 {
					t.Errorf("%d notes", len(notes))
				}
			})
		})
	}
}

func TestValues(t *testing.T) {
	t.Parallel()

	tests := map[string]struct {
		text string
		want map[string]any
		err  string
	}{
		"nothing":         {},
		"null":            {text: "~\n"},
		"YAML 1.1":        {text: "a: yes\nb: 1\n", want: map[string]any{"a": true, "b": 1.0}},
		"two documents":   {text: "a: 1\n---\nb: 2\n", want: map[string]any{"a": 1.0}},
		"aliases":         {text: "a: &a {b: 1}\nc: {<<: *a, d: *a}\n", want: map[string]any{"a": map[string]any{"b": 1.0}, "c": map[string]any{"b": 1.0, "d": map[string]any{"b": 1.0}}}},
		"a list":          {text: "\n- a\n", err: "2:1: this must be a map, not a list"},
		"no YAML":         {text: "a: 1\nb: [\n", err: "3:1: did not find expected node content"},
		"an unknown name": {text: "a: *b\n", err: "1:1: unknown anchor 'b' referenced"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			got, _, err := fleetyaml.Values([]byte(test.text))
			if err == nil && test.err != "" || err != nil && err.Error() != test.err {
				t.Fatalf("Values() error = %v, want %q", err, test.err)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("Values() (-want +got):\n%s", diff)
			}
		})
	}
}

// The size is the size of the expanded text.
func TestValuesSize(t *testing.T) {
	t.Parallel()

	const text = "a: &a 0123456789\n"
	_, once, err := fleetyaml.Values([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	_, often, err := fleetyaml.Values([]byte(text + "b: [" + strings.Repeat("*a,", 1000) + "]\n"))
	if err != nil {
		t.Fatal(err)
	}
	if once > 100 || often < 1000*10 {
		t.Errorf("sizes %d and %d", once, often)
	}
}

func TestCheckAliases(t *testing.T) {
	t.Parallel()

	for name, text := range bombs() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			withAliases := strings.Contains(text, "&a")
			if err := fleetyaml.CheckAliases([]byte(text)); (err != nil) != withAliases {
				t.Errorf("CheckAliases() = %v", err)
			}
			for _, before := range []string{"kind: A\n---\n", "kind: A\n--- # B\n", "kind: A\r---\r", "{{ a\n---\n", "# \n----a: b\n"} {
				if err := fleetyaml.CheckAliases([]byte(before + text)); (err != nil) != withAliases {
					t.Errorf("CheckAliases() after %q = %v", before, err)
				}
			}
		})
	}
	for name, text := range map[string]string{
		"a few aliases":     "a: &a [1]\nb: *a\n",
		"a template":        "a: &a {{ .Values.a }}\nb: *a\n",
		"a long text":       "a: '&a *a'\n" + strings.Repeat("# a comment, & with * marks\n", 300_000),
		"prose":             "a: Fish & chips, *bold*, 2 * 3\n",
		"documents of some": strings.Repeat("a: &a [1]\nb: *a\n---\n", 1000),
		"long documents":    strings.Repeat("a: &a [1]\nb: *a\nc: "+strings.Repeat("x", 1<<20)+"\n---\n", 20),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			if err := fleetyaml.CheckAliases([]byte(text)); err != nil {
				t.Errorf("CheckAliases() = %v", err)
			}
		})
	}

	t.Run("in UTF-16", func(t *testing.T) {
		t.Parallel()

		text := []byte("\xff\xfe")
		for _, b := range []byte(bombs()["aliases of lists of aliases"]) {
			text = append(text, b, 0)
		}
		if err := fleetyaml.CheckAliases(text); err == nil {
			t.Error("CheckAliases() takes a bomb")
		}
	})
	t.Run("with line breaks that are rare", func(t *testing.T) {
		t.Parallel()

		text := strings.ReplaceAll(bombs()["a chain"], "\n", "\u2028")
		if err := fleetyaml.CheckAliases([]byte(text)); err == nil {
			t.Error("CheckAliases() takes a bomb")
		}
	})
	t.Run("the line", func(t *testing.T) {
		t.Parallel()

		err := fleetyaml.CheckAliases([]byte("a: 1\n---\nb:\n- 2\n---\na: &a 1\nb: &b [*b]\n"))
		if want := "7:8: alias *b is inside its own anchor"; err == nil || err.Error() != want {
			t.Errorf("CheckAliases() = %v, want %s", err, want)
		}
	})
	t.Run("all documents together", func(t *testing.T) {
		t.Parallel()

		if err := fleetyaml.CheckAliases([]byte(strings.Repeat("a: &a ["+strings.Repeat("x,", 500)+"]\nb: ["+strings.Repeat("*a,", 500)+"]\n---\n", 100))); err == nil {
			t.Error("CheckAliases() takes a bomb")
		}
	})
}
