package acceptance_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/gittest"
)

// An author of one repository has the runner fetch another one, which only the runner can read, and
// servers that only the runner reaches.
func TestAttackBorrowedCredentials(t *testing.T) {
	t.Parallel()
	w := newWorkspace(t)
	git := gittest.New(t, gittest.Options{Username: "ci", Password: "s3cret-word"})
	commit := func(repository string, files map[string]string) {
		t.Helper()
		if _, err := git.Commit(t.Context(), repository, "main", "Change", files); err != nil {
			t.Fatal(err)
		}
	}
	commit("acme/secret", map[string]string{"Chart.yaml": "apiVersion: v2\nname: secret\nversion: 1.0.0\n", "templates/cm.yaml": configMap("secret", "theirs")})
	configure := func(sources string) {
		t.Helper()
		provider := fmt.Sprintf("provider \"fleet\" {\n  owner = \"acc\"\n  git = { %q = { username = \"ci\", password = \"s3cret-word\" } }\n}\n", git.URL("acme"))
		w.configure(t, provider, fmt.Sprintf("resource \"fleet_gitrepo\" \"app\" {\n  name = \"app\"\n  repo = %q\n  branch = \"main\"\n  %s\n}\n", git.URL("acme/tenant"), sources))
	}
	chart := func(address string) {
		t.Helper()
		commit("acme/tenant", map[string]string{"fleet.yaml": "helm: {chart: '" + address + "'}\n"})
	}

	chart("git::" + git.URL("acme/secret"))
	configure("")
	w.fail(t, []string{"plan"}, "only if a pattern of sources matches it")
	configure("sources = []")
	w.fail(t, []string{"plan"}, "no pattern of sources matches it")
	configure(fmt.Sprintf("sources = [%q]", git.URL("acme/secret")))
	w.run(t, "plan")

	configure("")
	texts := map[string]bool{}
	for _, address := range []string{"http://127.0.0.1:1/a.tgz", strings.Replace(git.URL("a.tgz"), "127.0.0.1", "localhost", 1), "http://169.254.169.254/a.tgz"} {
		chart(address)
		output := w.fail(t, []string{"plan"}, "there is no connection to", "not public")
		_, host, _ := strings.Cut(address, "://")
		host, _, _ = strings.Cut(host, "/")
		texts[strings.Join(strings.Fields(strings.ReplaceAll(errorsIn(output), host, "HOST")), " ")] = true
	}
	if len(texts) != 1 {
		t.Errorf("the texts tell servers apart: %v", texts)
	}
}
