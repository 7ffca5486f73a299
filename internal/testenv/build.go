package testenv

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/mod/modfile"
)

// modulePath identifies the root of the repository. The modules inside the repository have other
// paths.
const modulePath = "github.com/agentless-fleet/terraform-provider-fleet"

// Log receives one line of progress, like t.Logf.
type Log func(format string, args ...any)

// A buildModule is a Go module of tools and what is built from it.
type buildModule struct {
	// dir contains go.mod and go.sum. It is "" for a module that is written for the build.
	dir string
	// written are the files of such a module, by their paths. Its go.sum comes from the checksum database.
	written map[string]string
	ldflags string
	// sources are files of the module itself that its programs are made of, as patterns.
	sources []string
	// static is true for programs without the C library.
	static bool
	tools  []buildTool
	files  []buildFile
	links  []buildLink
}

// A buildTool is one program.
type buildTool struct {
	name     string // of the file, such as "etcd"
	pkg      string
	tags     string
	estimate string // of building it cold on 2 cores, such as "about 2 min"
}

// A buildFile joins YAML files of a dependency into one, so that they always match its version.
type buildFile struct {
	name   string
	module string
	paths  []string // inside the module
}

// A buildLink is a file of another build in the same store.
type buildLink struct {
	name string
	from string // the folder of that build
}

// unusedFor is how long an unused build stays in the store.
const unusedFor = 30 * 24 * time.Hour

// buildStore returns the folder for builds. All clones of the repository share the folder, because
// the name of a build is a hash of its content.
func buildStore() (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("looking for the folder for builds: %w", err)
	}
	return filepath.Join(cache, "terraform-provider-fleet", "testenv"), nil
}

// build returns the folder under store that contains the module's programs and files. The folder's
// name is a hash of everything that they are built from. The folder appears only when it is
// complete.
func build(ctx context.Context, log Log, module buildModule, store string) (string, error) {
	key, err := module.key(ctx)
	if err != nil {
		return "", err
	}
	dir := filepath.Join(store, key)
	if module.isBuilt(dir) {
		return dir, markUsed(dir)
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
		return dir, markUsed(dir)
	}
	if err := removeUnused(store, time.Now().Add(-unusedFor)); err != nil {
		return "", err
	}
	unfinished := dir + ".unfinished"
	// Both may exist: a build was interrupted, or files of a build were deleted.
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

// markUsed sets the time of the last use of a build.
func markUsed(dir string) error {
	now := time.Now()
	if err := os.Chtimes(dir, now, now); err != nil {
		return fmt.Errorf("noting that a build is used: %w", err)
	}
	return nil
}

// removeUnused removes the builds whose last use was before a time.
func removeUnused(store string, before time.Time) error {
	entries, err := os.ReadDir(store)
	if err != nil {
		return fmt.Errorf("looking for builds that are not used any more: %w", err)
	}
	for _, entry := range entries {
		info, err := entry.Info()
		if err != nil || !entry.IsDir() || info.ModTime().After(before) {
			continue
		}
		if err := os.RemoveAll(filepath.Join(store, entry.Name())); err != nil {
			return fmt.Errorf("removing a build that is not used any more: %w", err)
		}
	}
	return nil
}

// key returns a hash of the module's dependencies, the compiler, the platform and the flags.
func (m buildModule) key(ctx context.Context) (string, error) {
	goVersion, err := m.goCommand(ctx, "env", "GOVERSION", "GOOS", "GOARCH", "CGO_ENABLED").Output()
	if err != nil {
		return "", fmt.Errorf("asking go for its version: %w", commandError(err))
	}
	sum := sha256.New()
	fmt.Fprintf(sum, "%s\n%s\n%+v\n%+v\n", goVersion, m.ldflags, m.tools, m.files)
	if m.dir == "" {
		fmt.Fprintf(sum, "%+v\n%+v\n", m.links, m.written) // A map is printed in the order of its keys.
		return hex.EncodeToString(sum.Sum(nil))[:16], nil
	}
	names, err := m.keyFiles()
	if err != nil {
		return "", err
	}
	for _, name := range names {
		content, err := os.ReadFile(filepath.Join(m.dir, name))
		if err != nil {
			return "", fmt.Errorf("reading what a build is made of: %w", err)
		}
		fmt.Fprintf(sum, "%s %d\n%s", name, len(content), content)
	}
	return hex.EncodeToString(sum.Sum(nil))[:16], nil
}

// keyFiles returns the files of the module that decide what is built.
func (m buildModule) keyFiles() ([]string, error) {
	names := []string{"go.mod", "go.sum"}
	for _, pattern := range m.sources {
		found, err := fs.Glob(os.DirFS(m.dir), pattern)
		if err != nil {
			return nil, fmt.Errorf("looking for what a build is made of: %w", err)
		}
		names = append(names, found...)
	}
	return names, nil
}

func (m buildModule) isBuilt(dir string) bool {
	names := make([]string, 0, len(m.tools)+len(m.files))
	for _, tool := range m.tools {
		names = append(names, tool.name)
	}
	for _, file := range m.files {
		names = append(names, file.name)
	}
	for _, link := range m.links {
		names = append(names, link.name)
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
	if m.dir == "" {
		m.dir = filepath.Join(dir, "module")
		if err := m.write(); err != nil {
			return err
		}
	}
	for i, tool := range m.tools {
		log("building %s (%d/%d), %s on 2 cores when cold", tool.name, i+1, len(m.tools), tool.estimate)
		start := time.Now()
		// No other flags: packages of one version are then compiled once, for the provider and for tools.
		command := m.goCommand(ctx, "build", "-tags", tool.tags, "-ldflags", m.ldflags, "-o", filepath.Join(dir, tool.name), tool.pkg)
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
	for _, link := range m.links {
		if err := os.Symlink(filepath.Join("..", filepath.Base(link.from), link.name), filepath.Join(dir, link.name)); err != nil {
			return fmt.Errorf("linking a program of another build: %w", err)
		}
	}
	return nil
}

func (m buildModule) write() error {
	for _, name := range slices.Sorted(maps.Keys(m.written)) {
		path := filepath.Join(m.dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
			return fmt.Errorf("creating a folder of a module: %w", err)
		}
		if err := os.WriteFile(path, []byte(m.written[name]), 0o600); err != nil {
			return fmt.Errorf("writing a module: %w", err)
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

// goCommand runs go in the module. A workspace would build other programs for the same key.
func (m buildModule) goCommand(ctx context.Context, args ...string) *exec.Cmd {
	command := exec.CommandContext(ctx, "go", args...)
	command.Dir = m.dir
	command.Env = append(os.Environ(), "GOWORK=off")
	if m.static {
		command.Env = append(command.Env, "CGO_ENABLED=0", "GOFLAGS="+os.Getenv("GOFLAGS")+" -buildvcs=false")
	}
	if len(m.written) > 0 {
		command.Env = append(command.Env, "GOFLAGS="+os.Getenv("GOFLAGS")+" -mod=mod") // The option makes go complete go.mod and go.sum.
	}
	return command
}

// commandError adds the standard error of a command to its error.
func commandError(err error) error {
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return fmt.Errorf("%w\n%s", err, lastLines(string(exit.Stderr), 20))
	}
	return err
}

func readGoMod(path string) (*modfile.File, error) {
	content, err := os.ReadFile(filepath.Clean(path))
	if err != nil {
		return nil, fmt.Errorf("reading which version to build: %w", err)
	}
	file, err := modfile.Parse(path, content, nil)
	if err != nil {
		return nil, fmt.Errorf("reading which version to build: %w", err)
	}
	return file, nil
}

func requiredVersion(goMod, module string) (string, error) {
	file, err := readGoMod(goMod)
	if err != nil {
		return "", err
	}
	for _, require := range file.Require {
		if require.Mod.Path == module {
			return require.Mod.Version, nil
		}
	}
	return "", fmt.Errorf("%s does not require %s", goMod, module)
}

// repositoryRoot searches upwards from the working directory, which for a test is its package's
// folder.
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
