package provider_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/testenv"
)

// What the documentation shows must be valid: the examples, which stand in
// docs/, and the HCL of the README.
func TestAccExamplesAreValid(t *testing.T) {
	t.Parallel()
	testenv.Require(t)
	files, err := filepath.Glob("../../examples/*/*/*.tf")
	if err != nil || len(files) == 0 {
		t.Fatalf("there are no examples: %v", err)
	}
	examples := map[string]string{}
	for _, file := range files {
		examples[file] = read(t, file)
	}
	blocks := regexp.MustCompile("(?s)```hcl\n(.*?)```").FindAllStringSubmatch(read(t, "../../README.md"), -1)
	if len(blocks) == 0 {
		t.Fatal("the README shows no HCL")
	}
	for _, block := range blocks {
		examples["README.md"] += block[1]
	}
	for name, content := range examples {
		t.Run(filepath.Base(filepath.Dir(name)), func(t *testing.T) {
			t.Parallel()
			w := newWorkspace(t)
			w.write(t, "eu-1-ca.pem", "")
			w.write(t, "charts-ca.pem", "")
			switch {
			case name == "README.md":
				w.configure(t, withoutModules(content))
			case strings.Contains(content, "provider \"fleet\""):
				w.write(t, "main.tf", content)
			default:
				w.write(t, "provider.tf", read(t, "../../examples/provider/provider.tf"))
				w.write(t, "main.tf", content)
			}
			w.run(t, "validate")
		})
	}
}

// withoutModules replaces what stands for a reader's own modules and variables.
func withoutModules(content string) string {
	return regexp.MustCompile(`\b(module|var)\.[A-Za-z0-9_.]+`).ReplaceAllString(content, `"x"`)
}

func read(t *testing.T, name string) string {
	t.Helper()
	content, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}
