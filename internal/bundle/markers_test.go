package bundle_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/bundle"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/image"
)

const digest = "sha256:2222222222222222222222222222222222222222222222222222222222222222"

func markedImages() []bundle.MarkedImage {
	return []bundle.MarkedImage{
		{TagName: "web", Tag: image.Tag{Image: "ghcr.io/acme/web", Tag: "1.10", Digest: digest}},
	}
}

const misplaced = "a marker must follow a value in one line, which has neither an anchor nor brackets"

func noEffect(line int) string {
	return fmt.Sprintf("web/a.yaml:%d:1: the marker of an image scan in this line has no effect: it does not follow a value in the same line", line)
}

func TestMarkedLines(t *testing.T) {
	t.Parallel()
	const whole = "ghcr.io/acme/web:1.10"
	tests := map[string]struct {
		text, want string
		note       string
		wrong      string
	}{
		"the image":            {text: "image: old:1 # {\"$imagescan\": \"web\"}\n", want: "image: " + whole + " # {\"$imagescan\": \"web\"}\n"},
		"its name":             {text: "image: old # {\"$imagescan\": \"web:name\"}\n", want: "image: ghcr.io/acme/web # {\"$imagescan\": \"web:name\"}\n"},
		"its tag, as text":     {text: "tag: 1.0 # {\"$imagescan\": \"web:tag\"}\n", want: "tag: \"1.10\" # {\"$imagescan\": \"web:tag\"}\n"},
		"its digest":           {text: "image: a # {\"$imagescan\": \"web:digest\"}\n", want: "image: " + whole + "@" + digest + " # {\"$imagescan\": \"web:digest\"}\n"},
		"in double quotes":     {text: "image: \"old:1\" # {\"$imagescan\": \"web\"}\n", want: "image: \"" + whole + "\" # {\"$imagescan\": \"web\"}\n"},
		"in single quotes":     {text: "tag: '1' # {\"$imagescan\": \"web:tag\"}\n", want: "tag: '1.10' # {\"$imagescan\": \"web:tag\"}\n"},
		"in a list":            {text: "images:\n- old:1 # {\"$imagescan\": \"web\"}\n- other:1\n", want: "images:\n- " + whole + " # {\"$imagescan\": \"web\"}\n- other:1\n"},
		"in a list of maps":    {text: "containers:\n- image: old:1 # {\"$imagescan\": \"web\"}\n  name: a\n", want: "containers:\n- image: " + whole + " # {\"$imagescan\": \"web\"}\n  name: a\n"},
		"in a later document":  {text: "a: 1\n---\nimage: old:1 # {\"$imagescan\": \"web\"}\n", want: "a: 1\n---\nimage: " + whole + " # {\"$imagescan\": \"web\"}\n"},
		"without spaces":       {text: "image: old:1 #{\"$imagescan\":\"web\"}\n", want: "image: " + whole + " #{\"$imagescan\":\"web\"}\n"},
		"lines of Windows":     {text: "image: old:1 # {\"$imagescan\": \"web\"}\r\nb: 1\r\n", want: "image: " + whole + " # {\"$imagescan\": \"web\"}\r\nb: 1\r\n"},
		"after other scripts":  {text: "größe: old:1 # {\"$imagescan\": \"web\"}\n", want: "größe: " + whole + " # {\"$imagescan\": \"web\"}\n"},
		"an empty value":       {text: "image: \"\" # {\"$imagescan\": \"web\"}\n", want: "image: \"" + whole + "\" # {\"$imagescan\": \"web\"}\n"},
		"in a text":            {text: "text: |\n  image: old:1 # {\"$imagescan\": \"web\"}\n", note: noEffect(2)},
		"an alias":             {text: "a: &x old\nb: *x # {\"$imagescan\": \"web\"}\n", note: noEffect(2)},
		"after a flow list":    {text: "a: [x, old:1] # {\"$imagescan\": \"web\"}\n", note: noEffect(1)},
		"after a key":          {text: "a: # {\"$imagescan\": \"web\"}\n  b: c\n", note: noEffect(1)},
		"after nothing":        {text: "- # {\"$imagescan\": \"web\"}\n  b\n", note: noEffect(1)},
		"before other text":    {text: "a: b # {\"$imagescan\": \"web\"} keep\n", note: noEffect(1)},
		"a byte order mark":    {text: "\uFEFFimage: old:1 # {\"$imagescan\": \"web\"}\nb: 1\n", want: "\uFEFFimage: " + whole + " # {\"$imagescan\": \"web\"}\nb: 1\n"},
		"before a comma":       {text: "args: [\n  \"old:1\", # {\"$imagescan\": \"web\"}\n  \"b\"\n]\n", wrong: "web/a.yaml:2:3: " + misplaced},
		"before a bracket":     {text: "args: [\n  'a',\n  'old:1'] # {\"$imagescan\": \"web\"}\n", note: noEffect(3)},
		"a block scalar":       {text: "b: \n>- # {\"$imagescan\": \"web\"}\n", wrong: misplaced},
		"many of one name":     {text: strings.Repeat("- a # {\"$imagescan\": \"q\"}\n", 1000), note: `web/a.yaml:1:1: this line is marked with "q", and no entry of imageScans that counts has this tagName, so it stays as it is`},
		"commented out":        {text: "a: 1\n# image: old:1 # {\"$imagescan\": \"web\"}\n"},
		"another tool's":       {text: "image: old:1 # {\"$imagepolicy\": \"web\"}\nb: 1 # \"$imagescan\"\n", note: noEffect(2)},
		"unknown name":         {text: "image: old:1 # {\"$imagescan\": \"db\"}\n", note: `web/a.yaml:1:1: this line is marked with "db", and no entry of imageScans that counts has this tagName, so it stays as it is`},
		"unknown part":         {text: "image: old:1 # {\"$imagescan\": \"web:sha\"}\n", wrong: `web/a.yaml:1:8: the marker ends with ":sha", and only :tag, :name and :digest are known`},
		"after a map":          {text: "a: {image: old:1} # {\"$imagescan\": \"web\"}\n", note: noEffect(1)},
		"after an anchor":      {text: "image: &a old:1 # {\"$imagescan\": \"web\"}\n", wrong: "web/a.yaml:1:8: a marker must follow a value in one line, which has neither an anchor nor brackets"},
		"no YAML":              {text: "{{ if .x }}\nimage: old:1 # {\"$imagescan\": \"web\"}\n", wrong: "a line has the marker of an image scan, and the file is not YAML"},
		"two in one file":      {text: "a: x # {\"$imagescan\": \"web\"}\nb: y # {\"$imagescan\": \"web:name\"}\n", want: "a: " + whole + " # {\"$imagescan\": \"web\"}\nb: ghcr.io/acme/web # {\"$imagescan\": \"web:name\"}\n"},
		"the last line":        {text: "image: old:1 # {\"$imagescan\": \"web\"}", want: "image: " + whole + " # {\"$imagescan\": \"web\"}"},
		"a value of two lines": {text: "image: \"old\n  :1\" # {\"$imagescan\": \"web\"}\n", wrong: "web/a.yaml:1:8: a marker must follow a value in one line, which has neither an anchor nor brackets"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			fsys := fstest.MapFS{"web/a.yaml": {Data: []byte(test.text)}}
			result, err := bundle.Reader{}.Read(fsys, bundle.ReadOptions{Paths: []string{"web"}, ImageScans: true, Images: markedImages()})
			if test.wrong != "" {
				if err == nil || !strings.Contains(err.Error(), test.wrong) {
					t.Fatalf("error %v, want %q", err, test.wrong)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			want := test.want
			if want == "" {
				want = test.text
			}
			if diff := cmp.Diff(want, string(result.Bundles[0].Files[0].Content)); diff != "" {
				t.Errorf("file (-want +got):\n%s", diff)
			}
			note := ""
			for _, warning := range result.Warnings {
				note += warning.String()
			}
			if note != test.note {
				t.Errorf("note %q, want %q", note, test.note)
			}
		})
	}
}

// Marked lines get tags in fleet.yaml and in values files, but not in a file that is not YAML.
func TestMarkedLinesOfAllFiles(t *testing.T) {
	t.Parallel()
	fsys := fstest.MapFS{
		"fleet.yaml":       {Data: []byte("imageScans: [{image: ghcr.io/acme/web, tagName: web}]\nhelm:\n  valuesFiles: [own.yaml]\n  values:\n    tag: x # {\"$imagescan\": \"web:tag\"}\n")},
		"own.yaml":         {Data: []byte("image: x # {\"$imagescan\": \"web:name\"}\n")},
		"Chart.yaml":       {Data: []byte("apiVersion: v2\nname: a\nversion: 1.0.0\n")},
		"notes.txt":        {Data: []byte("a: x # {\"$imagescan\": \"web:tag\"}\n")},
		"templates/a.yaml": {Data: []byte("a: b\n")},
	}
	result, err := bundle.Reader{}.Read(fsys, bundle.ReadOptions{RepoName: "r", ImageScans: true, Images: markedImages()})
	if err != nil {
		t.Fatal(err)
	}
	read := result.Bundles[0]
	if diff := cmp.Diff(map[string]any{"tag": "1.10", "image": "ghcr.io/acme/web"}, read.Definition.Helm.Values); diff != "" {
		t.Errorf("values (-want +got):\n%s", diff)
	}
	for _, file := range read.Files {
		if file.Name == "notes.txt" && !strings.HasPrefix(string(file.Content), "a: x ") {
			t.Errorf("a file that is not YAML was changed: %s", file.Content)
		}
	}
}

func FuzzMarkedLines(f *testing.F) {
	f.Add("image: old:1 # {\"$imagescan\": \"web\"}\n")
	f.Add("a: &x 'y' # {\"$imagescan\": \"web:tag\"}\r\n---\n- \"ä\" # {\"$imagescan\": \"web:digest\"}")
	f.Fuzz(func(t *testing.T, text string) {
		read := func(text string) (string, bool) {
			fsys := fstest.MapFS{"a.yaml": {Data: []byte(text)}}
			result, err := bundle.Reader{}.Read(fsys, bundle.ReadOptions{ImageScans: true, Images: markedImages()})
			if err != nil {
				return "", false
			}
			return string(result.Bundles[0].Files[0].Content), true
		}
		once, ok := read(text)
		if !ok {
			return
		}
		if again, ok := read(once); !ok || again != once {
			t.Errorf("%q became %q, and that %q", text, once, again)
		}
		if strings.Count(once, "\n") != strings.Count(text, "\n") {
			t.Errorf("%q became %q", text, once)
		}
	})
}

// Many files with markers do not fill a plan with warnings, and encrypted files are not changed.
func TestMarkersAreBounded(t *testing.T) {
	t.Parallel()
	fsys := fstest.MapFS{"web/cm.yaml": {Data: []byte("a: b\n")}}
	for i := range 300 {
		fsys[fmt.Sprintf("web/%d.yaml", i)] = &fstest.MapFile{Data: []byte("- a # {\"$imagescan\": \"q\"}\n")}
	}
	result, err := bundle.Reader{}.Read(fsys, bundle.ReadOptions{Paths: []string{"web"}, ImageScans: true})
	if err != nil || len(result.Warnings) != 100 {
		t.Errorf("%d warnings, %v", len(result.Warnings), err)
	}
	fsys["web/secret.yaml"] = &fstest.MapFile{Data: []byte("a: b # {\"$imagescan\": \"web\"}\nsops:\n  mac: x\n  version: 3.9.0\n  lastmodified: \"2026-01-01T00:00:00Z\"\n")}
	_, err = bundle.Reader{}.Read(fsys, bundle.ReadOptions{Paths: []string{"web"}, ImageScans: true, Images: markedImages()})
	if encrypted, ok := errors.AsType[*bundle.EncryptedFileError](err); !ok || !strings.Contains(encrypted.Error(), "marker of an image scan") {
		t.Errorf("error %v", err)
	}
}
