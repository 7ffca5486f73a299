package fleet

import (
	"testing"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/release"
)

// A Bundle that another client has changed gives no record without a release: a state could not be read
// with it.
func TestImportedRecord(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		options map[string]any
		fails   bool
	}{
		"as written":        {options: map[string]any{"defaultNamespace": "shop", "helm": map[string]any{"releaseName": "web"}}},
		"no release":        {options: map[string]any{"defaultNamespace": "shop"}, fails: true},
		"no namespace":      {options: map[string]any{"helm": map[string]any{"releaseName": "web"}}, fails: true},
		"another type":      {options: map[string]any{"defaultNamespace": "shop", "helm": map[string]any{"releaseName": 1}}, fails: true},
		"helm is no object": {options: map[string]any{"defaultNamespace": "shop", "helm": "web"}, fails: true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			record, err := importedRecord(release.Mark{Bundle: "web"}, entry{options: test.options}, "uid", "key")
			if failed := err != nil; failed != test.fails || !failed && (record.Release != "web" || record.Namespace != "shop") {
				t.Errorf("got release %q in namespace %q, error %v, want an error: %t", record.Release, record.Namespace, err, test.fails)
			}
		})
	}
}
