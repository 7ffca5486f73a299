package target_test

import (
	"os/exec"
	"strings"
	"testing"
)

// An untrusted template can crash the process that parses it, so no code of this package may reach
// a library that parses templates.
func TestNoTemplateLibrary(t *testing.T) {
	t.Parallel()

	out, err := exec.CommandContext(t.Context(), "go", "list", "-deps", ".").Output()
	if err != nil {
		t.Fatal(err)
	}
	for path := range strings.Lines(string(out)) {
		path = strings.TrimSpace(path)
		if path == "text/template" || path == "html/template" || strings.HasPrefix(path, "github.com/Masterminds/sprig") {
			t.Errorf("package target reaches %s", path)
		}
	}
}
