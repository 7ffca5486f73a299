package main

import (
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
)

func TestCheck(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		files map[string]string
		want  []string
	}{
		"a file, a folder, a picture": {files: map[string]string{"README.md": "[a](docs/a.md) [b](docs/) ![c](docs/c.png)", "docs/a.md": "", "docs/c.png": ""}},
		"a file that is not there":    {files: map[string]string{"README.md": "# A\n\ntext\n[a](docs/a.md)"}, want: []string{"README.md:4: docs/a.md: docs/a.md does not exist"}},
		"a picture that is not there": {files: map[string]string{"README.md": "![a](a.png)"}, want: []string{"README.md:1: a.png: a.png does not exist"}},
		"up":                          {files: map[string]string{"docs/guides/a.md": "[b](../b.md) [c](c.md)", "docs/b.md": "", "docs/guides/c.md": ""}},
		"out of the repository":       {files: map[string]string{"README.md": "[a](../a.md)"}, want: []string{"README.md:1: ../a.md: leads out of the repository"}},
		"another server":              {files: map[string]string{"README.md": "[a](https://a.example/none#none) <mailto:a@a.example> [b](//b.example/b)"}},

		"anchors of headings": {files: map[string]string{
			"README.md": "[a](#what-it-does-and-where) [b](a.md#use-fleet_bundle) [c](a.md#twice-1)\n\n# What it does, and where\n",
			"a.md":      "## Use `fleet_bundle`!\n\n## Twice\n\n## Twice\n",
		}},
		"an anchor in HTML":           {files: map[string]string{"README.md": "[a](#nestedatt--x) [b](#b)\n\n<a id=\"nestedatt--x\"></a>\n### X\n\ntext <a name=\"b\"></a> text\n"}},
		"an anchor that is not there": {files: map[string]string{"README.md": "[a](a.md#none)", "a.md": "# Some\n"}, want: []string{"README.md:1: a.md#none: a.md has no such anchor"}},
		"an anchor of this page":      {files: map[string]string{"README.md": "# Some\n\n[a](#none)"}, want: []string{"README.md:3: #none: README.md has no such anchor"}},
		"an anchor in code":           {files: map[string]string{"README.md": "[a](#a)\n\n```\n# A\n```\n"}, want: []string{"README.md:1: #a: README.md has no such anchor"}},
		"a line of a source":          {files: map[string]string{"README.md": "[a](main.go#L3)", "main.go": ""}},

		"code is no link":        {files: map[string]string{"README.md": "`[a](none.md)`\n\n```\n[a](none.md)\n```\n"}},
		"a link in a table":      {files: map[string]string{"README.md": "| a |\n|---|\n| b |\n| [c](none.md) |\n"}, want: []string{"README.md:4: none.md: none.md does not exist"}},
		"a link by a reference":  {files: map[string]string{"README.md": "[a][b]\n\n[b]: none.md\n"}, want: []string{"README.md:1: none.md: none.md does not exist"}},
		"a link with code in it": {files: map[string]string{"README.md": "text\n\n[`a`](none.md)\n"}, want: []string{"README.md:3: none.md: none.md does not exist"}},

		"a template is its page": {files: map[string]string{
			"templates/guides/a.md.tmpl": "[b](b.md#b) [schema](../index.md#nestedatt--x) [a](#a)",
			"docs/guides/a.md":           "# A\n", "docs/guides/b.md": "# B\n", "docs/index.md": "<a id=\"nestedatt--x\"></a>\n",
		}},
		"a template with a wrong link": {
			files: map[string]string{"templates/index.md.tmpl": "[b](guides/b.md)", "docs/index.md": ""},
			want:  []string{"templates/index.md.tmpl:1: guides/b.md: docs/guides/b.md does not exist"},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			files := fstest.MapFS{}
			for name, content := range test.files {
				files[name] = &fstest.MapFile{Data: []byte(content)}
			}
			got, err := check(files, []string{"."})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("check() (-want +got):\n%s", diff)
			}
		})
	}
}

func TestCheckOfNothing(t *testing.T) {
	t.Parallel()
	if _, err := check(fstest.MapFS{}, []string{"docs"}); err == nil {
		t.Error("a folder that is not there is no error")
	}
}
