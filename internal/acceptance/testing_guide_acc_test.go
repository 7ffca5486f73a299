package acceptance_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/testenv"
)

// The files of the guide about tests run as they are printed, on a cluster. The test removes what
// it has installed, and a condition that is false fails it.
func TestAccTestingGuide(t *testing.T) {
	t.Parallel()
	env := testenv.Shared(t)
	w := newWorkspace(t)
	files := regexp.MustCompile("(?s)```hcl\n# ([^\n]+)\n(.*?)```").FindAllStringSubmatch(read(t, "../../templates/guides/testing.md.tmpl"), -1)
	const wanted = 5
	if len(files) != wanted {
		t.Fatalf("the guide has %d files, want %d", len(files), wanted)
	}
	for _, file := range files {
		w.write(t, file[1], file[2])
	}
	env.RemoveAfter(t, "guide-testing")
	// It installs the module of the first file. The provider is in no registry, which does not
	// matter.
	if output, err := w.try(t, "init", "-input=false"); err != nil && !strings.Contains(output, "- test.") {
		t.Fatalf("terraform init: %v\n%s", err, output)
	}
	args := []string{"test", "-var", "kubeconfig=" + env.Kubeconfig(), "-var", "context=" + env.Contexts()[0]}
	if output := w.run(t, args...); !strings.Contains(output, "4 passed, 0 failed") {
		t.Errorf("terraform test printed:\n%s", output)
	}
	s := &fixture{env: env, namespace: "guide-testing"}
	s.expectNothing(t, 0)

	changed := strings.Replace(read(t, "../../templates/guides/testing.md.tmpl"), "data: { color: ${var.color} }", "data: { color: red }", 1)
	w.write(t, "main.tf", regexp.MustCompile("(?s)```hcl\n# main.tf\n(.*?)```").FindStringSubmatch(changed)[1])
	w.fail(t, args, "The ConfigMap stays as it is.", "3 passed, 1 failed")
}
