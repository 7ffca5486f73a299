package target

import (
	"strings"
	"testing"
	"text/template"

	"github.com/google/go-cmp/cmp"
)

func TestReadsOf(t *testing.T) {
	t.Parallel()

	names := func(names ...string) reads {
		r := reads{names: make(map[string]bool)}
		for _, name := range names {
			r.names[name] = true
		}
		return r
	}
	tests := map[string]struct {
		text string
		want reads
	}{
		"nothing":              {`${ "a" }`, names()},
		"a field":              {"${ .A | len }", names("A")},
		"a path":               {"${ .A.B_1 }", names("A", "B_1")},
		"numbers":              {"1.5 ${ .5 }", names("5")},
		"a variable":           {"${ $a := .A }${ $a }", names("A")},
		"a field of $":         {"${ with .A }${ $.B }${ end }", names("A", "B")},
		"the dot":              {"${ . | toJson }", reads{all: true}},
		"the dot at the end":   {"${ template \"a\" .}", reads{all: true}},
		"the dollar":           {"${ $ | toJson }", reads{all: true}},
		"the dollar, no space": {"${ len $}", reads{all: true}},
		"an umlaut":            {"${ .ä }", reads{all: true}},
		"a sentence":           {"Hello. ${ .A }", reads{all: true}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			got := readsOf(TemplateSet{Templates: []Template{{Text: test.text}}})
			if got.all {
				got.names = nil
			}
			if diff := cmp.Diff(test.want, got, cmp.AllowUnexported(reads{})); diff != "" {
				t.Errorf("readsOf(%q) (-want +got):\n%s", test.text, diff)
			}
		})
	}
}

// A template gives the same result without the fields that it does not read.
func FuzzReads(f *testing.F) {
	for _, seed := range []string{
		"${ .A | len }", "${ . }", "${range.}${ . }${end}", "${ $ }", "${ $x := $ }${ $x.A }", "${ with .A }${ $.B }${ end }", "${ define \"a\" }${ .A }${ end }${ template \"a\" $}",
		"${ (.A) }${ .5 }", "${ index . \"A\" }", "${ .C.A.B | html }", "${ block \"a\" .}${ .B }${ end }", "${ .D }${ $.D }${ $_ := .B }${ $_ }",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		context := map[string]any{"A": "a", "B": int64(1), "C": map[string]any{"A": map[string]any{"B": "c"}}}
		parsed, err := template.New("text").Delims(LeftDelim, RightDelim).Option("missingkey=error").Parse(text)
		if err != nil || (strings.Contains(text, "range") && strings.ContainsAny(text, "0123456789")) || strings.Count(text, "template") > 1 {
			return // It is no template, or one that can run for ever.
		}
		run := func(context map[string]any) string {
			var b strings.Builder
			if err := parsed.Execute(&b, context); err != nil {
				return err.Error()
			}
			return b.String()
		}
		set := TemplateSet{Templates: []Template{{Text: text}}}
		if diff := cmp.Diff(run(context), run(readsOf(set).of(context))); diff != "" {
			t.Errorf("%q differs without what it does not read (-all +part):\n%s", text, diff)
		}
	})
}
