package diff_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/diff"
)

// A text from a configuration is hidden wherever a chart puts it, and any other text is shown.
func TestCompareHidesHCL(t *testing.T) {
	t.Parallel()
	const (
		config = `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"web","namespace":"ns"},"data":{"key":%}}`
		open   = `{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"web","namespace":"ns"},"spec":%}`
	)
	values := func(texts ...string) diff.HCLText { return diff.HCLText{Texts: texts} }
	all := diff.HCLText{All: true}
	tests := map[string]struct {
		object        string // open or config, whose % is before or after
		before, after string
		texts         diff.HCLSides
		// want are the lines that differ. They do not contain the lines that must not be shown.
		want []string
	}{
		"public text": {
			object: open, before: `{"image":"web:1.0"}`, after: `{"image":"web:1.1"}`,
			texts: diff.HCLSides{Before: values("swordfish"), After: values("swordfish")},
			want:  []string{"-  image: web:1.0", "+  image: web:1.1"},
		},
		"a text that stays, and a public one": {
			object: open, before: `{"image":"web:1.0","word":"swordfish"}`, after: `{"image":"web:1.1","word":"swordfish"}`,
			texts: diff.HCLSides{Before: values("swordfish"), After: values("swordfish")},
			want:  []string{"-  image: web:1.0", "+  image: web:1.1", "   word: (from HCL)"},
		},
		"a text that changes": {
			object: config, before: `"swordfish"`, after: `"open sesame"`,
			texts: diff.HCLSides{Before: values("swordfish"), After: values("open sesame")},
			want:  []string{"-  key: (from HCL)", "+  key: (from HCL, changed)"},
		},
		"a text that another one takes the place of": {
			object: config, before: `"swordfish"`, after: `"public"`,
			texts: diff.HCLSides{Before: values("swordfish")},
			want:  []string{"-  key: (from HCL)", "+  key: public"},
		},
		"a text that comes": {
			object: config, before: `1`, after: `"swordfish"`,
			texts: diff.HCLSides{After: values("swordfish")},
			want:  []string{"-  key: 1", "+  key: (from HCL, changed)"},
		},
		"a part of a text": { //nolint:gosec // a made-up password
			object: config, before: `"https://user:swordfish@host"`, after: `"https://user:sesame-77@host"`,
			texts: diff.HCLSides{Before: values("swordfish"), After: values("sesame-77")},
			want:  []string{"-  key: (from HCL)", "+  key: (from HCL, changed)"},
		},
		"a short text as a whole word": {
			object: config, before: `"user sword x"`, after: `"user fish x"`,
			texts: diff.HCLSides{Before: values("sword"), After: values("fish")},
			want:  []string{"-  key: (from HCL)", "+  key: (from HCL, changed)"},
		},
		"a short text in a longer word": {
			object: config, before: `"swords"`, after: `"fishes"`,
			texts: diff.HCLSides{Before: values("sword"), After: values("fish")},
			want:  []string{"-  key: swords", "+  key: fishes"},
		},
		"a text of one letter": {
			object: config, before: `"x"`, after: `"z"`,
			texts: diff.HCLSides{Before: values("x"), After: values("z")},
			want:  []string{"-  key: (from HCL)", "+  key: (from HCL, changed)"},
		},
		"what a chart has cut, in capitals": {
			object: config, before: `"SWORDFI"`, after: `"open ses"`,
			texts: diff.HCLSides{Before: values("a swordfi sh"), After: values("open sesame")},
			want:  []string{"-  key: (from HCL)", "+  key: (from HCL, changed)"},
		},
		"what a chart has read as YAML": {
			object: config, before: `"swordfish"`, after: `"sesame"`,
			texts: diff.HCLSides{Before: values("user: bob\npassword: swordfish\n"), After: values("user: bob\npassword: sesame\n")},
			want:  []string{"-  key: (from HCL)", "+  key: (from HCL, changed)"},
		},
		"base64": {
			object: config, before: `"c3dvcmRmaXNo"`, after: `"b3BlbiBzZXNhbWU="`,
			texts: diff.HCLSides{Before: values("swordfish"), After: values("open sesame")},
			want:  []string{"-  key: (from HCL)", "+  key: (from HCL, changed)"},
		},
		"lines of a file": {
			object: config, before: `"port = 80\npassword = swordfish\nlevel = debug\n"`, after: `"port = 81\npassword = open sesame\nlevel = debug\n"`,
			texts: diff.HCLSides{Before: values("swordfish"), After: values("open sesame")},
			want: []string{
				"-    port = 80", "-    password = (from HCL)", "+    port = 81", "+    password = (from HCL, changed)", "     level = debug",
			},
		},
		"a file from a configuration in a file of a chart": {
			object: config, before: `"[chart]\n  user = bob\n  pin = 1234\n"`, after: `"[chart]\n  user = bob\n  pin = 5678\n"`,
			texts: diff.HCLSides{Before: values("user = bob\npin = 1234"), After: values("user = bob\npin = 5678")},
			want:  []string{"     [chart]", "       (from HCL)", "-      (from HCL)", "+      (from HCL, changed)"},
		},
		"numbers and booleans": {
			object: open, before: `{"replicas":1,"paused":false}`, after: `{"replicas":2,"paused":true}`,
			texts: diff.HCLSides{Before: all, After: all},
			want:  []string{"-  paused: false", "-  replicas: 1", "+  paused: true", "+  replicas: 2"},
		},
		"words and names": {
			object: open, before: `{"env":[{"name":"ON","value":"true"}],"ref":"web"}`, after: `{"env":[{"name":"ON","value":"false"}],"ref":"ns"}`,
			texts: diff.HCLSides{Before: all, After: all},
			want:  []string{`-    value: "true"`, `+    value: "false"`, "-  ref: web", "+  ref: ns"},
		},
		"any text": {
			object: config, before: `"a\nb\nc\n"`, after: `"a\nb\nd\n"`,
			texts: diff.HCLSides{Before: all, After: all},
			want:  []string{"-  key: (from HCL)", "+  key: (from HCL, changed)"},
		},
		"a revision of which nothing is known": {
			object: open, before: `{"image":"web:1.0","stays":"as it is"}`, after: `{"image":"web:1.1","stays":"as it is"}`,
			texts: diff.HCLSides{Before: all},
			want:  []string{"-  image: (from HCL)", "+  image: web:1.1", "   stays: as it is"},
		},
		"an item that comes first": {
			object: open, before: `{"env":[{"name":"B","value":"swordfish"}]}`, after: `{"env":[{"name":"A","value":1},{"name":"B","value":"swordfish"}]}`,
			texts: diff.HCLSides{Before: values("swordfish"), After: values("swordfish")},
			want:  []string{"+  - name: A", "+    value: 1", "     value: (from HCL)"},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			object := diff.Object{Kind: "Any", Namespace: "ns", Name: "web"}
			of := func(part string) []diff.Document {
				return []diff.Document{{Object: object, Content: strings.Replace(test.object, "%", part, 1)}}
			}
			changes, err := diff.CompareHiding(of(test.before), of(test.after), test.texts)
			if err != nil {
				t.Fatal(err)
			}
			preview := diff.Preview{Cluster: "a", Bundle: "web", Kind: diff.Modified, Objects: changes} // Not brief, so that unchanged lines are shown and masked as well.
			text := diff.Join([]diff.DeploymentDiff{preview.Diff()})
			var got []string
			for line := range strings.Lines(text) {
				line = strings.TrimSuffix(strings.TrimPrefix(line, "    "), "\n")
				for _, wanted := range test.want {
					if line == wanted {
						got = append(got, line)
					}
				}
			}
			missing := cmp.Diff(sorted(test.want), sorted(got))
			if missing != "" {
				t.Errorf("the diff lacks lines (-want +got):\n%s\n%s", missing, text)
			}
			for _, secret := range []string{"swordfish", "sesame", "open ses", "c3dvcmRm", "b3BlbiB", "bob", "1234", "5678", "SWORD", "user sword", "user fish"} {
				if strings.Contains(text, secret) {
					t.Errorf("%s can be read:\n%s", secret, text)
				}
			}
		})
	}
}

// A brief preview shows only the changes that the objects of a plan do not show.
func TestBriefPreview(t *testing.T) {
	t.Parallel()
	added := diff.ObjectChange{Key: "ConfigMap/ns/new", After: "a: 1\n"}
	removed := diff.ObjectChange{Key: "ConfigMap/ns/old", Before: "a: 1\n"}
	kept := diff.ObjectChange{Key: "ConfigMap/ns/kept", Before: "a: 1\n", Stays: true}
	changed := diff.ObjectChange{Key: "ConfigMap/ns/both", Before: "a: 1\n", After: "a: 2\n"}
	hook := diff.ObjectChange{Key: "Job/ns/hook", After: "a: 1\n", Hook: true}
	shown := "    ~ ConfigMap/ns/both\n    - a: 1\n    + a: 2"
	tests := map[string]struct {
		objects  []diff.ObjectChange
		unlisted bool
		want     string // "" for nothing
	}{
		"nothing inside of objects": {objects: []diff.ObjectChange{added, removed}},
		"one changes":               {objects: []diff.ObjectChange{added, changed, removed}, want: "web on a: objects ~1\n" + shown},
		"one stays":                 {objects: []diff.ObjectChange{kept}, want: "web on a: objects =1\n    = ConfigMap/ns/kept, stays on the cluster (helm.sh/resource-policy: keep)"},
		"a hook":                    {objects: []diff.ObjectChange{changed, hook}, want: "web on a: objects +1 ~1\n" + shown + "\n    + Job/ns/hook, a hook"},
		"no objects in the plan": {
			objects: []diff.ObjectChange{added, changed, removed}, unlisted: true,
			want: "web on a: objects +1 ~1 -1\n    - ConfigMap/ns/old\n" + shown + "\n    + ConfigMap/ns/new",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			preview := diff.Preview{Cluster: "a", Bundle: "web", Kind: diff.Modified, Brief: true, Unlisted: test.unlisted, Objects: test.objects}
			if preview.IsEmpty() != (test.want == "") {
				t.Fatalf("empty: %t", preview.IsEmpty())
			}
			if test.want == "" {
				return
			}
			if got := diff.Join([]diff.DeploymentDiff{preview.Diff()}); got != test.want {
				t.Errorf("the text is\n%s\nand not\n%s", got, test.want)
			}
		})
	}
}

func sorted(lines []string) []string { return slices.Sorted(slices.Values(lines)) }

// Very long texts on both sides take a limited time. Texts that are not searched are hidden.
func TestSearchForHCLIsBounded(t *testing.T) {
	t.Parallel()
	var lines strings.Builder
	for i := range 2000 {
		fmt.Fprintf(&lines, `line-%04d\n`, i)
	}
	of := func(last string) []diff.Document {
		return []diff.Document{{
			Object:  diff.Object{Kind: "ConfigMap", Name: "web"},
			Content: `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"web"},"data":{"key":"` + lines.String() + last + `"}}`,
		}}
	}
	changes, err := diff.CompareHiding(of("before"), of("after"), diff.HCLSides{After: diff.HCLText{Texts: []string{strings.Repeat("a b c d ", 1<<17)}}})
	if err != nil || len(changes) != 1 {
		t.Fatalf("changes %v, error %v", changes, err)
	}
	before, after := changes[0].Before, changes[0].After
	if !strings.Contains(before, "line-0000") || strings.Contains(before, "line-1999") || strings.Contains(after, "after") {
		t.Error("the search is not bounded")
	}
}
