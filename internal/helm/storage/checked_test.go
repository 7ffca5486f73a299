package storage

import (
	"testing"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/manifest"
)

func TestCheckedDocuments(t *testing.T) {
	t.Parallel()
	const web = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: web\n"
	parsed, err := manifest.Parse([]byte(web))
	if err != nil {
		t.Fatal(err)
	}
	checked := &CheckedDocuments{}
	if _, err := checked.Write(parsed); err != nil {
		t.Fatal(err)
	}
	tests := map[string]struct {
		text string
		want int
		err  int // The document that was not checked.
	}{
		"the document":            {text: "---\n" + web, want: 1},
		"from a template":         {text: "---\n# Source: app/templates/web.yaml\n" + web + "---\n" + web, want: 2},
		"as Helm joins a removal": {text: "\n---\n" + web + "\n---\n" + web, want: 2},
		"nothing":                 {text: "\n---\n\n"},
		"another document":        {text: "---\n" + web + "---\n" + web + "data: {}\n", err: 2},
		"a comment":               {text: "---\n# Sources: x\n" + web, err: 1},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			found, err := checked.In(test.text)
			wrong := 0
			if unchecked, ok := err.(*UncheckedError); ok { //nolint:errorlint // It is not wrapped.
				wrong = unchecked.Document
			}
			if len(found) != test.want || wrong != test.err {
				t.Errorf("%d documents, document %d was not checked, want %d, %d", len(found), wrong, test.want, test.err)
			}
		})
	}
}
