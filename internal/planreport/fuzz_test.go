package planreport

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/mask"
)

// No text ends the data of a page, and reading the data returns the text.
func FuzzPage(f *testing.F) {
	for _, text := range []string{
		"web", "</script>", "</script ><script>alert(1)</script>", "<!--<script>", "]]>", "\u2028\u2029\u202e", "{script}{data}{style-hash}", "\xff\xfe", `"\u003c/script>`, "&lt;",
	} {
		f.Add(text, text)
	}
	empty, err := renderHTML(Report{})
	if err != nil {
		f.Fatal(err)
	}
	begin, rest, _ := bytes.Cut(empty, []byte(dataBegins))
	_, end, _ := bytes.Cut(rest, []byte(dataEnds))
	f.Fuzz(func(t *testing.T, name, text string) {
		report := newReport([]Target{{
			Owner: "o", Name: "n" + name, Clusters: []Cluster{{Name: name, Labels: map[string]string{name: text}, Groups: []string{name}}}, Bundles: []string{name},
			Deployments: []Deployment{{Cluster: name, Bundle: name, Reason: text, Stage: 1, Objects: []Object{{Key: name}}, Notes: []string{text}, Diff: name}},
			Sources:     []Source{{Bundle: name, Repository: text, CommitAfter: name, Subject: text, Author: text}},
			Stages:      []Stage{{Text: text, Deployments: []string{name + "/" + name}}}, Warnings: []Warning{{Summary: text, Detail: text}}, Diffs: map[string]string{name: text},
		}})
		report.Targets[0].edit(mask.PrintableLine, mask.Printable)
		page, err := renderHTML(report)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.HasPrefix(page, append(begin, dataBegins...)) || !bytes.HasSuffix(page, append([]byte(dataEnds), end...)) {
			t.Fatal("a text changes the page around the data")
		}
		_, data, _ := bytes.Cut(page, []byte(dataBegins))
		data, _, _ = bytes.Cut(data, []byte(dataEnds))
		if len(page) != len(begin)+len(dataBegins)+len(data)+len(dataEnds)+len(end) {
			t.Fatal("the data ends early")
		}
		if bytes.ContainsAny(data, "<>&\n\u2028\u2029\u202e") {
			t.Errorf("signs of HTML in %q", data)
		}
		read, err := parseHTML(page)
		if err != nil {
			t.Fatalf("%v in %s", err, data)
		}
		if diff := cmp.Diff(report, read); diff != "" {
			t.Errorf("the data (-want +got):\n%s", diff)
		}
	})
}

// A foreign line in a block of code does not end it, and an inline text has no character of
// Markdown.
func FuzzMarkdown(f *testing.F) {
	for _, text := range []string{"web", "```", "~~~\n````diff\n</details>", "|`<b>", "@admin #1 https://x www.x", "\n\n# x", "</code>"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		text = mask.Printable(text)
		lines := strings.Split(fenced("diff", text), "\n")
		fence := lines[len(lines)-2]
		for _, line := range lines[1 : len(lines)-2] {
			if strings.HasPrefix(strings.TrimLeft(line, " "), fence) {
				t.Errorf("the line %q ends the block", line)
			}
		}
		inner := strings.TrimSuffix(strings.TrimPrefix(code(text), "<code>"), "</code>")
		if strings.ContainsAny(inner, "<>`|*_~[]()@\\:!\n\"'") || strings.Contains(strings.ToLower(inner), "www.") {
			t.Errorf("signs of Markdown in %q", inner)
		}
	})
}

// A file with any content is replaced by a report with the entry of this process.
func FuzzExistingFile(f *testing.F) {
	good, err := renderJSON(newReport([]Target{{Owner: "o", Name: "other", Deployments: []Deployment{{Cluster: "a"}, {Cluster: "b"}}}}))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(string(good))
	f.Add(`{"format":1,"targets":[{"name":"x","clusters":[{"name":"\u202e"}],"diffs":{"a":"</script>"}}]}`)
	f.Add("{")
	path := filepath.Join(f.TempDir(), "plan.json")
	f.Fuzz(func(t *testing.T, content string) {
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		w, err := Open(path+string(os.PathListSeparator)+path+".md", "o")
		if err != nil {
			t.Fatal(err)
		}
		if err := w.Add(Target{Owner: "o", Name: "mine", Operation: Create}, false); err != nil {
			t.Fatal(err)
		}
		report := readReport(path, parseJSON)
		found := false
		for i := range report.Targets {
			found = found || report.Targets[i].Name == "mine"
		}
		if !found {
			t.Errorf("the entry is not in %+v", report)
		}
	})
}
