//go:build unix

package acceptance_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/charttest"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/gittest"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/testenv"
)

// machineFixture is the common part of the machines: the programs, the state, and the path of a
// token. Each run finds another token there.
type machineFixture struct {
	*gate
	root  string
	state *stateServer
	cli   string
}

// newMachineFixture needs root: each machine is a separate user.
func newMachineFixture(t *testing.T) *machineFixture {
	t.Helper()
	testenv.Require(t)
	if os.Getuid() != 0 {
		t.Skip("only root can run Terraform as somebody else")
	}
	w := newWorkspace(t)               // Builds what there is to build.
	root, err := os.MkdirTemp("", "m") //nolint:usetesting // plugins put their sockets below it, whose paths must be short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(root); err != nil {
			t.Error(err)
		}
	})
	p := &machineFixture{gate: newGate(t, 1), root: root, state: newStateServer(t), cli: filepath.Join(root, "bin", "cli")}
	p.tokens = filepath.Join(root, "run")
	p.folder(t, root, 0)
	p.folder(t, p.tokens, 0)
	built, err := builtProvider()
	if err != nil {
		t.Fatal(err)
	}
	p.share(t, w.cli, p.cli)
	for _, host := range []string{"registry.terraform.io", "registry.opentofu.org"} {
		p.share(t, filepath.Join(built, "terraform-provider-fleet"),
			filepath.Join(root, "bin", "mirror", host, "agentless-fleet", "fleet", "1.0.0", runtime.GOOS+"_"+runtime.GOARCH, "terraform-provider-fleet_v1.0.0"))
	}
	config := fmt.Sprintf("provider_installation {\n  filesystem_mirror {\n    path = %q\n  }\n}\n", filepath.Join(root, "bin", "mirror"))
	p.put(t, filepath.Join(root, "bin", "terraformrc"), config)
	return p
}

// folder makes a folder that all users may read and one may write.
func (p *machineFixture) folder(t *testing.T, path string, owner int) {
	t.Helper()
	if err := os.MkdirAll(path, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Chown(path, owner, owner); err != nil {
		t.Fatal(err)
	}
}

func (p *machineFixture) put(t *testing.T, path, content string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

// share puts a program where all users may run it, as a link if that is enough.
func (p *machineFixture) share(t *testing.T, from, to string) {
	t.Helper()
	for dir := filepath.Dir(to); dir != p.root; dir = filepath.Dir(dir) {
		p.folder(t, dir, 0)
	}
	const forAll = 0o005
	if info, err := os.Stat(from); err == nil && info.Mode()&forAll == forAll && os.Link(from, to) == nil {
		return
	}
	content, err := os.ReadFile(from)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(to, content, 0o755); err != nil {
		t.Fatal(err)
	}
}

// machine is a user with folders of its own, and with nothing else: no HOME, no program on the
// PATH, and no folder to write to except TMPDIR, one for the cache and one for the output of
// Terraform.
type machine struct {
	*workspace
	root string
	uid  int
}

// machine makes a machine that plans or applies this configuration with a role.
func (p *machineFixture) machine(t *testing.T, name, configuration string) *machine {
	t.Helper()
	m := &machine{root: filepath.Join(p.root, name), uid: 100_000 + rand.IntN(1_000_000_000)} //nolint:gosec // a number that no user has
	p.folder(t, m.root, 0)
	for _, folder := range []string{"work", "tmp", "cache", "out"} {
		p.folder(t, filepath.Join(m.root, folder), m.uid)
	}
	m.workspace = &workspace{
		dir: filepath.Join(m.root, "work"), cli: p.cli,
		as: &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(m.uid), Gid: uint32(m.uid)}}, //nolint:gosec // within bounds
		env: []string{
			"PATH=", "TMPDIR=" + filepath.Join(m.root, "tmp"),
			"TF_CLI_CONFIG_FILE=" + filepath.Join(p.root, "bin", "terraformrc"), "TF_IN_AUTOMATION=1", "CHECKPOINT_DISABLE=1",
			"TF_HTTP_ADDRESS=" + p.state.URL, "TF_HTTP_LOCK_ADDRESS=" + p.state.URL, "TF_HTTP_UNLOCK_ADDRESS=" + p.state.URL,
			"TFC_RUN_ID=run-" + name, "TFC_WORKSPACE_NAME=prod", "TFC_WORKSPACE_SLUG=" + p.namespace + "/prod",
			"TFC_CONFIGURATION_VERSION_GIT_COMMIT_SHA=77aa77aa",
			// HCP Terraform also passes tokens by the paths of their files.
			fmt.Sprintf(`TF_VAR_tfc_kubernetes_dynamic_credentials={default={token_path=""},aliases={a={token_path=%q}}}`, p.token()),
		},
	}
	p.put(t, filepath.Join(m.dir, "main.tf"), configuration)
	m.run(t, "init", "-input=false")
	m.seal(t)
	return m
}

func (p *machineFixture) token() string { return filepath.Join(p.tokens, "0") }

// seal removes the right of the machine's user to write in the working folder.
func (m *machine) seal(t *testing.T) {
	t.Helper()
	root, err := os.OpenRoot(m.dir)
	if err != nil {
		t.Fatal(err)
	}
	err = fs.WalkDir(root.FS(), ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.Type()&fs.ModeSymlink != 0 {
			return err
		}
		mode := fs.FileMode(0o444)
		if entry.IsDir() {
			mode = 0o555
		}
		return errors.Join(root.Chmod(path, mode), root.Chown(path, 0, 0))
	})
	if err := errors.Join(err, root.Close()); err != nil {
		t.Fatal(err)
	}
}

// works runs a command by a role that the project ships. It wants no file to be written outside of
// the allowed folders.
func (p *machineFixture) works(t *testing.T, m *machine, as string, args ...string) {
	t.Helper()
	p.become(t, as, role(t, as))
	if err := os.Chown(p.token(), m.uid, m.uid); err != nil {
		t.Fatal(err)
	}
	before := p.listing(t, m)
	m.run(t, args...)
	if diff := cmp.Diff(before, p.listing(t, m)); diff != "" {
		t.Errorf("%s %s has written where it must not (-before +after):\n%s", filepath.Base(m.root), args[0], diff)
	}
	for _, left := range entries(t, filepath.Join(m.root, "tmp")) {
		// This is what a plan records of several targets, for the apply on the same machine.
		if !strings.HasPrefix(left, "terraform-provider-fleet-") || !strings.HasSuffix(left, ".json") {
			t.Errorf("%s is left in TMPDIR", left)
		}
	}
	for _, shared := range []string{os.TempDir(), "/tmp", "/var/tmp", "/dev/shm"} {
		expectNothingOf(t, m.uid, shared, p.root)
	}
}

// listing lists all files of the fixture except those in the folders that this machine may write
// to.
func (p *machineFixture) listing(t *testing.T, m *machine) map[string]string {
	t.Helper()
	listed := map[string]string{}
	err := filepath.WalkDir(p.root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if dir := filepath.Dir(path); dir == m.root && entry.Name() != "work" {
			return fs.SkipDir
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		listed[path] = fmt.Sprintf("%s %d bytes of %s", info.Mode(), info.Size(), info.ModTime())
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return listed
}

func entries(t *testing.T, dir string) []string {
	t.Helper()
	found, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	names := make([]string, len(found))
	for i, entry := range found {
		names[i] = entry.Name()
	}
	return names
}

// expectNothingOf wants no file of a user below dir, except in one folder.
func expectNothingOf(t *testing.T, uid int, dir, but string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return nil //nolint:nilerr // Others come and go there.
		}
		if path == but {
			return fs.SkipDir
		}
		info, err := entry.Info()
		if err != nil {
			return nil //nolint:nilerr // The same.
		}
		if of, ok := info.Sys().(*syscall.Stat_t); ok && int(of.Uid) == uid {
			t.Errorf("%s was written", path)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// hand copies a saved plan and its configuration to another machine.
func (p *machineFixture) hand(t *testing.T, from *machine, name string) *machine {
	t.Helper()
	to := p.machine(t, name, read(t, filepath.Join(from.dir, "main.tf")))
	p.put(t, filepath.Join(to.root, "out", "tfplan"), read(t, filepath.Join(from.root, "out", "tfplan")))
	return to
}

// story returns the description in a release's newest record, which contains the origin of the
// release.
func (s *fixture) story(t *testing.T, i int, name string) string {
	t.Helper()
	revision := s.releases(t, i)[name].revision
	secret, err := s.client(t, i).CoreV1().Secrets(s.namespace).Get(t.Context(), fmt.Sprintf("sh.helm.release.v1.%s.v%s", name, revision), metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var content struct {
		Info struct {
			Description string `json:"description"`
		} `json:"info"`
	}
	if err := json.Unmarshal(recorded(t, secret.Data["release"]), &content); err != nil {
		t.Fatal(err)
	}
	return content.Info.Description
}

// A plan is made on one machine and applied on another, by different users with different rights,
// who have only a temporary folder. The apply does what was planned, although branch and charts
// have changed.
func TestAccTwoMachines(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		kind, cache string
		// installed is true if a release is deployed before.
		installed bool
	}{
		"created, pinned by the data source":           {kind: "data", cache: "  cache_dir = \"../cache\"\n"},
		"changed, pinned by the branch of a resource":  {kind: "resource", installed: true},
		"changed, by the resource, with a cache":       {kind: "resource", installed: true, cache: "  cache_dir = \"../cache\"\n"},
		"changed, pinned by the data source, no cache": {kind: "data", installed: true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newMachineFixture(t)
			git := gittest.New(t, gittest.Options{AllowReachableSHA1InWant: true})
			charts := charttest.New(t, charttest.Options{})
			push := func(value, newest string) string {
				t.Helper()
				charts.AddChart(chartOf("web", newest))
				commit, err := git.Commit(t.Context(), "fleet", "main", "Value "+value, map[string]string{
					"one/fleet.yaml": "defaultNamespace: " + p.namespace + "\n", "one/cm.yaml": configMap("one", value),
					"web/fleet.yaml": fmt.Sprintf("defaultNamespace: %s\nhelm:\n  repo: %s\n  chart: web\n  version: ~1\n  values: {word: %s}\n", p.namespace, charts.RepositoryURL(), value),
				})
				if err != nil {
					t.Fatal(err)
				}
				return commit
			}
			bundles := "fleet_gitrepo.one.bundles"
			if test.kind == "data" {
				bundles = "data." + bundles
			}
			provider := strings.ReplaceAll(p.provider(test.cache+fmt.Sprintf("  registries = { %q = {} }\n", charts.URL("")), on), fmt.Sprintf("%q", p.token()), `var.tfc_kubernetes_dynamic_credentials.aliases["a"].token_path`)
			configuration := "terraform {\n  required_providers {\n    fleet = { source = \"agentless-fleet/fleet\" }\n  }\n  backend \"http\" {}\n}\n" +
				"variable \"tfc_kubernetes_dynamic_credentials\" {\n  type = object({ default = object({ token_path = string }), aliases = map(object({ token_path = string })) })\n}\n" +
				provider + fmt.Sprintf("%s \"fleet_gitrepo\" \"one\" {\n  name = \"all\"\n  repo = %q\n  branch = \"main\"\n  paths = [\"one\", \"web\"]\n}\n", test.kind, git.URL("fleet")) +
				target("", bundles)
			commit, word := push("first", "1.0.0"), "first"
			if test.installed {
				before := p.machine(t, "a", configuration)
				p.works(t, before, "apply", "apply", "-auto-approve", "-input=false")
				commit, word = push("second", "1.0.1"), "second"
			}
			planner := p.machine(t, "b", configuration)
			p.record()
			p.works(t, planner, "plan", "plan", "-input=false", "-out=../out/tfplan")
			expectReads(t, 1, p.recorded())
			push("third", "1.0.2")
			applier := p.hand(t, planner, "c")
			p.works(t, applier, "apply", "apply", "-input=false", "../out/tfplan")

			// A constraint is resolved once, when it is first read.
			want := map[string]string{"one": word, "web": "1.0.0 " + word}
			if test.kind == "data" && test.installed {
				want["web"] = "1.0.1 " + word // A data source stores no version.
			}
			got := map[string]string{}
			for name := range want {
				got[name] = p.value(t, 0, name)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("not what was planned (-want +got):\n%s", diff)
			}
			if story, want := p.story(t, 0, "all-one"), ", commit "+commit+", run-c, workspace prod, configuration 77aa77aa"; !strings.HasSuffix(story, want) {
				t.Errorf("the history says %q, want %q at its end", story, want)
			}
			p.works(t, p.machine(t, "d", configuration), "apply", "destroy", "-auto-approve", "-input=false")
			p.expectNothing(t, 0)
		})
	}
}
