package browsertest_test

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/renderer/html"
)

// In GitHub's Markdown, hostile names and manifests are text: they add no HTML, no link and no
// table cell.
func TestAttackMarkdown(t *testing.T) {
	t.Parallel()
	content, err := os.ReadFile(written(t, "plan.md", hostile(), fleetOf(6, 3)))
	if err != nil {
		t.Fatal(err)
	}
	var page bytes.Buffer
	markdown := goldmark.New(goldmark.WithExtensions(extension.GFM), goldmark.WithRendererOptions(html.WithUnsafe()))
	if err := markdown.Convert(content, &page); err != nil {
		t.Fatal(err)
	}
	text := page.String()
	for _, forbidden := range []string{"<script", "<img", "<a ", "<!--", "\u202e", "<h1"} {
		if strings.Contains(text, forbidden) {
			t.Errorf("the page has %q", forbidden)
		}
	}
	for _, pair := range [][2]string{{"<details>", "</details>"}, {"<pre>", "</pre>"}, {"<code", "</code>"}} {
		if open, closed := strings.Count(text, pair[0]), strings.Count(text, pair[1]); open == 0 || open != closed {
			t.Errorf("%d of %s and %d of %s", open, pair[0], closed, pair[1])
		}
	}
	if tables, rows := strings.Count(text, "<table>"), strings.Count(text, "<tr>"); tables != 3 || rows != 3+2+2+6 {
		t.Errorf("%d tables with %d rows", tables, rows)
	}
	if t.Failed() {
		t.Log(text)
	}
}
