package acceptance_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/testenv"
)

// followTutorial runs the tutorial on the first two clusters.
func followTutorial(t *testing.T, env *testenv.Env) {
	t.Helper()
	s := newFixture(t, env)
	s.namespace = "shop"
	newReader(t, env).follow(t, page(t, "../../templates/guides/tutorial.md.tmpl"))
	for i := range 2 {
		s.expectNothing(t, i)
	}
}

// reader is a person who follows the commands of a page. The home folder has a kubeconfig with two
// contexts, and the provider where terraform init looks for it before it asks a registry.
type reader struct {
	// dir is where the last command has ended.
	dir string
	env []string
}

func newReader(t *testing.T, env *testenv.Env) *reader {
	t.Helper()
	w := newWorkspace(t)
	kubeconfig := filepath.Join(w.dir, ".kube", "config")
	writeContexts(t, env, kubeconfig, map[string]int{"kind-dev": 0, "kind-prod": 1})
	putProvider(t, filepath.Join(w.dir, ".terraform.d", "plugins"))
	return &reader{dir: t.TempDir(), env: append(w.shellEnv(t, kubeconfig, map[string]program{"kubectl": testenv.KubectlCLI}), "TF_CLI_CONFIG_FILE="+os.DevNull)}
}

// program returns the path of a program.
type program func(ctx context.Context, log testenv.Log) (string, error)

// shellEnv is the environment of a shell that has terraform and other programs.
func (w *workspace) shellEnv(t *testing.T, kubeconfig string, others map[string]program) []string {
	t.Helper()
	programs := filepath.Join(w.dir, "programs")
	link(t, w.cli, filepath.Join(programs, "terraform"))
	for name, find := range others {
		path, err := find(t.Context(), t.Logf)
		if err != nil {
			t.Fatal(err)
		}
		link(t, path, filepath.Join(programs, name))
	}
	return append(w.env, "PATH="+programs+":"+os.Getenv("PATH"), "HOME="+w.dir, "KUBECONFIG="+kubeconfig, "TF_CLI_ARGS=-no-color",
		"GIT_AUTHOR_NAME=Reader", "GIT_AUTHOR_EMAIL=reader@example.com", "GIT_COMMITTER_NAME=Reader", "GIT_COMMITTER_EMAIL=reader@example.com")
}

func (r *reader) write(t *testing.T, name, content string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(r.dir, name), []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

// putProvider puts the built provider into a folder of the layout of a filesystem mirror, as the first
// version.
func putProvider(t *testing.T, dir string) {
	t.Helper()
	bin, err := builtProvider()
	if err != nil {
		t.Fatal(err)
	}
	for _, host := range []string{"registry.terraform.io", "registry.opentofu.org"} {
		link(t, filepath.Join(bin, "terraform-provider-fleet"),
			filepath.Join(dir, host, "agentless-fleet", "fleet", "0.1.0", runtime.GOOS+"_"+runtime.GOARCH, "terraform-provider-fleet_v0.1.0"))
	}
}

func link(t *testing.T, target, path string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(target, path); err != nil {
		t.Fatal(err)
	}
}

// writeContexts writes a kubeconfig with contexts of the environment. names has their numbers.
func writeContexts(t *testing.T, env *testenv.Env, path string, names map[string]int) {
	t.Helper()
	from, err := clientcmd.LoadFromFile(env.Kubeconfig())
	if err != nil {
		t.Fatal(err)
	}
	if err := clientcmd.ResolveLocalPaths(from); err != nil {
		t.Fatal(err)
	}
	written := clientcmdapi.NewConfig()
	written.Clusters, written.AuthInfos = from.Clusters, from.AuthInfos
	for name, i := range names {
		written.Contexts[name] = from.Contexts[env.Contexts()[i]]
	}
	if err := clientcmd.WriteToFile(*written, path); err != nil {
		t.Fatal(err)
	}
}

// part is a block of commands on a page, with the output that the page shows after it.
type part struct {
	commands string
	output   string
}

// fails reports whether the page says that the commands fail.
func (p part) fails() bool { return regexp.MustCompile(`(?m)^Error: `).MatchString(p.output) }

// page returns the parts of a template that readers run: blocks marked as shell. What no test can run is
// marked as sh, and has one line.
func page(t *testing.T, path string) []part {
	t.Helper()
	content := strings.ReplaceAll(read(t, path), `{{ "{{" }}`, "{{")
	var parts []part
	for _, block := range regexp.MustCompile("(?ms)^```([a-z]*)\n(.*?)^```$").FindAllStringSubmatch(content, -1) {
		switch language, text := block[1], block[2]; {
		case language == "shell":
			parts = append(parts, part{commands: text})
		case language == "text" && len(parts) > 0:
			parts[len(parts)-1].output += text
		case language == "sh" && strings.Count(text, "\n") > 1:
			t.Errorf("%s: no test runs these lines:\n%s", path, text)
		}
	}
	if len(parts) == 0 {
		t.Fatalf("%s has no commands", path)
	}
	return parts
}

func (r *reader) follow(t *testing.T, parts []part) {
	t.Helper()
	for _, part := range parts {
		output, err := r.try(t, part.commands)
		if (err != nil) != part.fails() {
			t.Fatalf("%s\nends with %v:\n%s", part.commands, err, output)
		}
		if missing := missingIn(stable(output), stable(part.output)); missing != "" {
			t.Fatalf("%s\ndoes not print\n%s\nIt prints\n%s", part.commands, missing, output)
		}
	}
}

// run runs commands that must succeed.
func (r *reader) run(t *testing.T, commands string) {
	t.Helper()
	r.follow(t, []part{{commands: commands}})
}

// try runs commands where the last ones have ended, and says yes to Terraform.
func (r *reader) try(t *testing.T, commands string) (string, error) {
	t.Helper()
	end := filepath.Join(t.TempDir(), "end")
	output, err := tryShell(t, r.dir, r.env, commands+"\npwd > "+end, "yes\n")
	if err == nil {
		r.dir = strings.TrimSpace(read(t, end))
	}
	return output, err
}

// tryShell runs commands in a shell, which ends with the first that fails.
func tryShell(t *testing.T, dir string, env []string, commands, answers string) (string, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	command := exec.CommandContext(ctx, "sh", "-euc", commands)
	command.Dir, command.Env, command.Stdin = dir, env, strings.NewReader(answers)
	output, err := command.CombinedOutput()
	return string(output), err
}

// missingIn returns the first lines of an excerpt that an output does not have. A line "..." stands for
// lines that are left out.
func missingIn(output, excerpt string) string {
	rest := "\n" + output + "\n"
	for _, lines := range regexp.MustCompile(`(?m)^\.\.\.$`).Split(excerpt, -1) {
		if lines = strings.Trim(lines, "\n"); lines == "" {
			continue
		}
		_, after, found := strings.Cut(rest, "\n"+lines+"\n")
		if !found {
			return lines
		}
		rest = "\n" + after
	}
	return ""
}

func TestMissingIn(t *testing.T) {
	t.Parallel()
	const output = "a\n  b\n\nc\nd\n"
	tests := map[string]struct{ excerpt, want string }{
		"no excerpt":             {"", ""},
		"all of it":              {output, ""},
		"lines that follow":      {"  b\n\nc\n", ""},
		"lines are left out":     {"...\na\n...\nd\n...\n", ""},
		"lines do not follow":    {"a\nc\n", "a\nc"},
		"another indentation":    {"b\n", "b"},
		"part of a line":         {"...\n b\n", " b"},
		"another order":          {"c\n...\na\n", "a"},
		"a line that is no more": {"a\n...\ne\n", "e"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := missingIn(output, test.excerpt); got != test.want {
				t.Errorf("missing is %q, want %q", got, test.want)
			}
		})
	}
}

// stable replaces what differs from run to run, and removes what pages leave out: where the
// configuration has what a warning is about.
func stable(output string) string {
	text := strings.ReplaceAll(output, "OpenTofu", "Terraform")
	text = regexp.MustCompile(`(?m)^  with [^\n]*,\n(  on [^\n]*\n( +\d+: [^\n]*\n)?)?\n?`).ReplaceAllString(text, "")
	text = regexp.MustCompile(`\b[0-9a-f]{12}\b`).ReplaceAllString(text, "hash")
	text = regexp.MustCompile(` [0-9a-f]{8}"`).ReplaceAllString(text, ` digits"`)
	return regexp.MustCompile(`(?m)[ \t]+$`).ReplaceAllString(text, "")
}
