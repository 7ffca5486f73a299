package manifest

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"
)

func TestText(t *testing.T) {
	t.Parallel()
	tests := map[string]struct{ value, want string }{
		"plain":             {"a", "data: a\n"},
		"signs of HTML":     {"<a & b>", "data: <a & b>\n"},
		"lines":             {"a\nb\n", "data: |\n  a\n  b\n"},
		"a line of Windows": {"a\r\nb", `{"data":"a\r\nb"}` + "\n"},
		"a next line":       {"a\u0085--- \u0085b", `{"data":"a\u0085--- \u0085b"}` + "\n"},
		"separators":        {"\u2028\u2029", `{"data":"\u2028\u2029"}` + "\n"},
		"a byte order mark": {"\ufeff{}", `{"data":"\ufeff{}"}` + "\n"},
		"backslashes":       {`\u2028 \\b`, `data: \u2028 \\b` + "\n"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := Text(&unstructured.Unstructured{Object: map[string]any{"data": test.value}})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("text (-want +got):\n%s", diff)
			}
		})
	}
}

// What was written is read as the same object, and as nothing else.
func FuzzText(f *testing.F) {
	for _, seed := range []string{`{"a": "b"}`, `{"a": "\u0085---\u0085", "---": "...\n--- \n", "\u2028": "\ufeff"}`, `{"a": "x\n\n", "b": {"c": ["\t", " y", "\u007f", "\ud83d\ude00", 1, 1.5, true, null, {}]}}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, content []byte) {
		var object map[string]any
		if utiljson.Unmarshal(content, &object) != nil || len(object) == 0 || len(content) > 1<<14 {
			return
		}
		text, err := Text(&unstructured.Unstructured{Object: object})
		if err != nil {
			return // A number that is too large.
		}
		stream := "---\n# Source: x\n" + text + "---\n" + text
		documents, err := parse([]byte(stream))
		if err != nil || len(documents) != 2 {
			t.Fatalf("%d documents, error %v, in:\n%s", len(documents), err, stream)
		}
		want, _ := json.Marshal(object)
		for _, document := range documents {
			got, _ := json.Marshal(document.object.Object)
			if diff := cmp.Diff(string(want), string(got)); diff != "" || !isSingle(document.text) {
				t.Fatalf("single %t, other content (-want +got):\n%s\n%q", isSingle(document.text), diff, text)
			}
		}
	})
}

// The short way to YAML has the result of the long one.
func FuzzToYAML(f *testing.F) {
	for _, seed := range []string{`{"a": "b"}`, `{"<<": {"a": 1}, "~": null, "1": "1", "yes": "no", "x10": "0x1F", "x9": "1_000", "": ""}`, `{"a": [[], {}, -1, 9007199254740993, 1.5, 1e3, "2026-01-01", ".5", "=", "a: b", " c", "d\n", "\n"]}`, `{"a": {"b": [null, [1, [true]]]}}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, content []byte) {
		var object map[string]any
		if utiljson.Unmarshal(content, &object) != nil || len(object) == 0 || len(content) > 1<<14 {
			return
		}
		written, err := json.Marshal(object)
		if err != nil || hasOddChars(string(written)) {
			return
		}
		want, wantErr := yaml.JSONToYAML(written)
		got, err := toYAML(object, written)
		if diff := cmp.Diff(string(want), string(got)); diff != "" || (err == nil) != (wantErr == nil) {
			t.Errorf("errors %v and %v; text (-want +got):\n%s", wantErr, err, diff)
		}
	})
}
