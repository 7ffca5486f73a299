//go:build unix

package acceptance_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/testenv"
)

// The file of FLEET_PROGRESS and the log at level INFO show each deployment of an apply in which
// one fails, and no secret value.
func TestAccProgress(t *testing.T) {
	t.Parallel()
	const secret = "kiwi-7f3a91-secret" //nolint:gosec // No credential: the test looks for this value.
	s, w := newFixture(t, testenv.Shared(t)), newWorkspace(t)
	s.forbidPods(t, 1) // So the deployment of cluster b never gets ready.
	file, log := filepath.Join(w.dir, "progress.log"), filepath.Join(w.dir, "info.log")
	hidden := s.bundleOf("hidden", "apiVersion: v1\nkind: Secret\nmetadata: {name: hidden}\nstringData: {password: "+secret+"}\n")
	bad := s.bundleOf("bad", "apiVersion: v1\nkind: Secret\nmetadata: {name: bad}\ntype: kubernetes.io/tls\nstringData: {password: "+secret+"}\n")
	w.configure(t, s.provider("", on, on), s.workload("web"), hidden, bad,
		target(`deployment_timeout = "15s"`, "fleet_bundle.web.bundles", "fleet_bundle.hidden.bundles", "fleet_bundle.bad.bundles"))
	w.env = append(w.env, "FLEET_PROGRESS="+file, "TF_LOG_PROVIDER=info", "TF_LOG_PATH="+log)
	w.fail(t, []string{"apply", "-auto-approve", "-input=false"}, "b/web", "a/bad")

	const clock = `(?m)^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ `
	expectMatches(t, file, secret, []string{
		clock + `target all: started, 6 deployments to change \(\+6 ~0 -0 =0\)$`,
		clock + `a/hidden: installing started$`, clock + `a/hidden: installing finished after \S+$`,
		clock + `b/web: installing started$`,
		clock + `b/web: installing waits after 1\ds for Deployment \S+/web \(InProgress: .*0/1( \(FailedCreate: .*\))?\)$`,
		clock + `b/web: installing failed after \S+: .*not ready: Deployment`,
		clock + `a/bad: installing failed after \S+: `,
		clock + `target all: ended after \S+, 3 of 6 deployments finished, 3 failed$`,
	})
	expectMatches(t, log, secret, []string{
		`\[INFO\].*: target all: started, 6 deployments to change \(\+6 ~0 -0 =0\): .*deployments=6`,
		`: target all: started, .*summary="\+6 ~0 -0 =0"`,
		`\[INFO\].*: a/hidden: installing started: .*action=installing`, `: a/hidden: installing started: .*attempt=1`,
		`: a/hidden: installing started: .*bundle=hidden`, `: a/hidden: installing started: .*cluster=a`,
		`\[INFO\].*: a/hidden: installing finished after .*: .*seconds=`,
		`\[INFO\].*: b/web: installing waits after 1\ds for .*waits_for="Deployment `,
		`\[INFO\].*: b/web: installing failed after \S+: .*not ready: Deployment`,
		`\[INFO\].*: target all: ended after \S+, 3 of 6 deployments finished, 3 failed: .*finished=3`,
	})
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode of the file: %v (%v)", info.Mode(), err)
	}
}

// expectMatches reads a file, which must not contain a secret.
func expectMatches(t *testing.T, file, secret string, want []string) {
	t.Helper()
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(content), secret) {
		t.Errorf("%s has a secret value", filepath.Base(file))
	}
	for _, pattern := range want {
		if !regexp.MustCompile(pattern).Match(content) {
			t.Errorf("%s has no match of %s", filepath.Base(file), pattern)
		}
	}
	if t.Failed() {
		t.Logf("%s:\n%s", filepath.Base(file), content)
	}
}

// A pipe without a reader or a file that cannot be opened does not stop an apply.
func TestAccProgressCannotBeWritten(t *testing.T) {
	t.Parallel()
	s, w := newFixture(t, testenv.Shared(t)), newWorkspace(t)
	w.configure(t, s.provider("", on), s.bundle("one", "x"), target("", "fleet_bundle.one.bundles"))
	pipe := filepath.Join(w.dir, "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	before := w.env
	for _, file := range []string{pipe, filepath.Join(w.dir, "none", "progress")} {
		w.env = slices.Concat(before, []string{"FLEET_PROGRESS=" + file})
		output := w.run(t, "apply", "-auto-approve", "-input=false")
		if strings.Count(output, "The progress of applies is not written") == 0 {
			t.Errorf("no warning for %s:\n%s", filepath.Base(file), output)
		}
	}
	s.expectReleases(t, 0, "one")
}
