package testenv

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/mod/modfile"
)

// modulePath tells the root of the repository from the roots of the modules inside it.
const modulePath = "github.com/agentless-fleet/terraform-provider-fleet"

// Log takes one line of progress, like t.Logf.
type Log func(format string, args ...any)

// Build builds the control planes unless that was done before, and returns the folder with the
// programs etcd, kube-apiserver, kube-controller-manager, kube-scheduler and kwok, and kwok.yaml.
// The working directory must be inside the repository.
func Build(ctx context.Context, log Log) (string, error) {
	root, err := repositoryRoot()
	if err != nil {
		return "", err
	}
	module, err := controlPlaneModule(root)
	if err != nil {
		return "", err
	}
	return build(ctx, orSilent(log), module, filepath.Join(root, ".build", "testenv"))
}

// A buildModule is a Go module of tools and what is built from it.
type buildModule struct {
	dir     string // with go.mod and go.sum
	ldflags string
	tools   []buildTool
	files   []buildFile
}

// A buildTool is one program.
type buildTool struct {
	name     string // of the file, such as "etcd"
	pkg      string
	estimate string // of building it cold on 2 cores, such as "about 2 min"
}

// A buildFile joins YAML files of a dependency into one, so that they are always of its version.
type buildFile struct {
	name   string
	module string
	paths  []string // inside the module
}

// programs are the names of everything that runs in an environment.
func programs() []string {
	return []string{"etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kwok"}
}

func controlPlaneModule(root string) (buildModule, error) {
	dir := filepath.Join(root, "internal", "testenv", "controlplane")
	version, err := requiredVersion(filepath.Join(dir, "go.mod"), "k8s.io/kubernetes")
	if err != nil {
		return buildModule{}, err
	}
	major, minor, _ := strings.Cut(strings.TrimPrefix(version, "v"), ".")
	minor, _, _ = strings.Cut(minor, ".")
	// Without these the API server reports a placeholder, and charts with a kubeVersion are refused.
	const v = "-X k8s.io/component-base/version."
	return buildModule{
		dir:     dir,
		ldflags: fmt.Sprintf("-s -w %sgitVersion=%s %sgitMajor=%s %sgitMinor=%s", v, version, v, major, v, minor),
		tools: []buildTool{
			{name: "etcd", pkg: "go.etcd.io/etcd/server/v3", estimate: "about 30 s"},
			{name: "kube-apiserver", pkg: "k8s.io/kubernetes/cmd/kube-apiserver", estimate: "about 2 min"},
			{name: "kube-controller-manager", pkg: "k8s.io/kubernetes/cmd/kube-controller-manager", estimate: "about 40 s"},
			{name: "kube-scheduler", pkg: "k8s.io/kubernetes/cmd/kube-scheduler", estimate: "a few seconds"},
			{name: "kwok", pkg: "sigs.k8s.io/kwok/cmd/kwok", estimate: "about 15 s"},
		},
		files: []buildFile{{
			name:   "kwok.yaml",
			module: "sigs.k8s.io/kwok",
			paths: []string{
				"kustomize/stage/node/fast/node-initialize.yaml",
				"kustomize/stage/node/heartbeat-with-lease/node-heartbeat-with-lease.yaml",
				"kustomize/stage/pod/fast/pod-ready.yaml",
				"kustomize/stage/pod/fast/pod-complete.yaml",
				"kustomize/stage/pod/fast/pod-delete.yaml",
				"kustomize/stage/pod/chaos/pod-container-running-failed.yaml", // On request, by a label.
			},
		}},
	}, nil
}

// build returns the folder under store that holds the module's programs and files. The folder's name
// is a hash of everything that goes into them; it appears all at once when it is complete.
func build(ctx context.Context, log Log, module buildModule, store string) (string, error) {
	key, err := module.key(ctx)
	if err != nil {
		return "", err
	}
	dir := filepath.Join(store, key)
	if module.isBuilt(dir) {
		return dir, nil
	}
	if err := os.MkdirAll(store, 0o750); err != nil {
		return "", fmt.Errorf("creating the folder for builds: %w", err)
	}
	unlock, err := waitForLock(ctx, filepath.Join(store, "lock"), func() {
		log("waiting for another process that is building into %s", store)
	})
	if err != nil {
		return "", err
	}
	defer unlock()
	if module.isBuilt(dir) {
		return dir, nil
	}
	unfinished := dir + ".unfinished"
	// Either may be left from a build that was interrupted, or from which files were deleted.
	for _, old := range []string{unfinished, dir} {
		if err := os.RemoveAll(old); err != nil {
			return "", fmt.Errorf("removing an incomplete build: %w", err)
		}
	}
	if err := module.buildInto(ctx, log, unfinished); err != nil {
		return "", err
	}
	if err := os.Rename(unfinished, dir); err != nil {
		return "", fmt.Errorf("putting the build in its place: %w", err)
	}
	return dir, nil
}

// key names the content: the module's dependencies, the compiler, the platform and the flags.
func (m buildModule) key(ctx context.Context) (string, error) {
	goVersion, err := m.goCommand(ctx, "env", "GOVERSION", "GOOS", "GOARCH").Output()
	if err != nil {
		return "", fmt.Errorf("asking go for its version: %w", commandError(err))
	}
	sum := sha256.New()
	fmt.Fprintf(sum, "%s\n%s\n%+v\n%+v\n", goVersion, m.ldflags, m.tools, m.files)
	for _, name := range []string{"go.mod", "go.sum"} {
		content, err := os.ReadFile(filepath.Join(m.dir, name))
		if err != nil {
			return "", fmt.Errorf("reading what a build is made of: %w", err)
		}
		fmt.Fprintf(sum, "%s %d\n%s", name, len(content), content)
	}
	return hex.EncodeToString(sum.Sum(nil))[:16], nil
}

func (m buildModule) isBuilt(dir string) bool {
	names := make([]string, 0, len(m.tools)+len(m.files))
	for _, tool := range m.tools {
		names = append(names, tool.name)
	}
	for _, file := range m.files {
		names = append(names, file.name)
	}
	for _, name := range names {
		if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
			return false
		}
	}
	return true
}

func (m buildModule) buildInto(ctx context.Context, log Log, dir string) error {
	if err := os.MkdirAll(dir, 0o750); err != nil {
		return fmt.Errorf("creating a folder to build into: %w", err)
	}
	for i, tool := range m.tools {
		log("building %s (%d/%d), %s on 2 cores when cold", tool.name, i+1, len(m.tools), tool.estimate)
		start := time.Now()
		command := m.goCommand(ctx, "build", "-trimpath", "-ldflags", m.ldflags, "-o", filepath.Join(dir, tool.name), tool.pkg)
		if output, err := command.CombinedOutput(); err != nil {
			return fmt.Errorf("building %s: %w\n%s", tool.name, err, lastLines(string(output), 20))
		}
		log("built %s in %s", tool.name, time.Since(start).Round(time.Second))
	}
	for _, file := range m.files {
		if err := m.joinFiles(ctx, file, dir); err != nil {
			return err
		}
	}
	return nil
}

func (m buildModule) joinFiles(ctx context.Context, file buildFile, dir string) error {
	output, err := m.goCommand(ctx, "list", "-m", "-f", "{{.Dir}}", file.module).Output()
	if err != nil {
		return fmt.Errorf("looking for module %s: %w", file.module, commandError(err))
	}
	source := strings.TrimSpace(string(output))
	documents := make([]string, 0, len(file.paths))
	for _, path := range file.paths {
		content, err := os.ReadFile(filepath.Join(source, filepath.FromSlash(path)))
		if err != nil {
			return fmt.Errorf("reading a file of module %s: %w", file.module, err)
		}
		documents = append(documents, strings.TrimRight(string(content), "\n")+"\n")
	}
	joined := []byte(strings.Join(documents, "---\n"))
	if err := os.WriteFile(filepath.Join(dir, file.name), joined, 0o600); err != nil {
		return fmt.Errorf("writing %s: %w", file.name, err)
	}
	return nil
}

// goCommand runs go in the module. A workspace or cgo would make other programs of the same key.
func (m buildModule) goCommand(ctx context.Context, args ...string) *exec.Cmd {
	command := exec.CommandContext(ctx, "go", args...)
	command.Dir = m.dir
	command.Env = append(os.Environ(), "CGO_ENABLED=0", "GOWORK=off")
	return command
}

// commandError adds what a command wrote to standard error.
func commandError(err error) error {
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return fmt.Errorf("%w\n%s", err, lastLines(string(exit.Stderr), 20))
	}
	return err
}

func requiredVersion(goMod, module string) (string, error) {
	content, err := os.ReadFile(goMod)
	if err != nil {
		return "", fmt.Errorf("reading which version to build: %w", err)
	}
	file, err := modfile.ParseLax(goMod, content, nil)
	if err != nil {
		return "", fmt.Errorf("reading which version to build: %w", err)
	}
	for _, require := range file.Require {
		if require.Mod.Path == module {
			return require.Mod.Version, nil
		}
	}
	return "", fmt.Errorf("%s does not require %s", goMod, module)
}

// repositoryRoot walks up from the working directory, which for a test is its package's.
func repositoryRoot() (string, error) {
	start, err := os.Getwd()
	if err != nil {
		return "", fmt.Errorf("looking for the repository: %w", err)
	}
	for dir := start; ; dir = filepath.Dir(dir) {
		content, err := os.ReadFile(filepath.Join(dir, "go.mod"))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return "", fmt.Errorf("looking for the repository: %w", err)
		}
		if modfile.ModulePath(content) == modulePath {
			return dir, nil
		}
		if dir == filepath.Dir(dir) {
			return "", fmt.Errorf("%s is not inside the repository of %s", start, modulePath)
		}
	}
}

func orSilent(log Log) Log {
	if log == nil {
		return func(string, ...any) {}
	}
	return log
}

func lastLines(text string, count int) string {
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	return strings.Join(lines[max(0, len(lines)-count):], "\n")
}
