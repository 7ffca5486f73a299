package gittest

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
	"sync"
)

// repositories are the bare repositories below a folder, and the git binary that works on them.
type repositories struct {
	dir     string
	git     string
	options Options

	// writing keeps commits to one repository in order.
	writing sync.Mutex
}

func (r *repositories) commit(ctx context.Context, repo, branch, message string, files fs.FS) (string, error) {
	r.writing.Lock()
	defer r.writing.Unlock()
	if err := r.create(ctx, repo, branch); err != nil {
		return "", err
	}
	ref := "refs/heads/" + branch
	parent, err := r.run(ctx, repo, nil, "for-each-ref", "--format=%(objectname)", ref)
	if err != nil {
		return "", err
	}
	stream, err := commitStream(ref, parent, message, files)
	if err != nil {
		return "", err
	}
	if _, err := r.run(ctx, repo, stream, "fast-import", "--quiet"); err != nil {
		return "", err
	}
	return r.run(ctx, repo, nil, "rev-parse", ref)
}

func (r *repositories) addSubmodule(ctx context.Context, repo, branch, name, url, commit string) (string, error) {
	r.writing.Lock()
	defer r.writing.Unlock()
	ref := "refs/heads/" + branch
	stream := fmt.Appendf(nil, "commit %s\ncommitter %s <%s> %s\n", ref, authorName, authorEmail, authorDate)
	b := bytes.NewBuffer(stream)
	writeData(b, []byte("add submodule "+name))
	fmt.Fprintf(b, "from %s^0\nM 160000 %s %s\n", ref, commit, name)
	if url != "" {
		// .gitmodules does not exist before the first submodule.
		declared, _ := r.run(ctx, repo, nil, "show", ref+":.gitmodules")
		fmt.Fprintf(b, "M 100644 inline .gitmodules\n")
		writeData(b, fmt.Appendf(nil, "%s\n[submodule %q]\n\tpath = %s\n\turl = %s\n", declared, name, name, url))
	}
	if _, err := r.run(ctx, repo, b.Bytes(), "fast-import", "--quiet"); err != nil {
		return "", fmt.Errorf("adding submodule %s to branch %s of %s: %w", name, branch, repo, err)
	}
	return r.run(ctx, repo, nil, "rev-parse", ref)
}

// create makes a bare repository if it does not exist.
func (r *repositories) create(ctx context.Context, repo, branch string) error {
	dir, err := r.folder(repo)
	if err != nil {
		return err
	}
	if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	_, err = r.run(ctx, repo, nil, "init", "--quiet", "--bare", "--initial-branch="+branch, "--object-format="+cmp.Or(r.options.ObjectFormat, "sha1"))
	return err
}

func (r *repositories) run(ctx context.Context, repo string, stdin []byte, args ...string) (string, error) {
	dir, err := r.folder(repo)
	if err != nil {
		return "", err
	}
	var stdout, stderr bytes.Buffer
	cmd := exec.CommandContext(ctx, r.git, args...)
	cmd.Dir, cmd.Env = dir, r.environment()
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(stdin), &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("git %s in %s: %w: %s", strings.Join(args, " "), repo, err, strings.TrimSpace(stderr.String()))
	}
	return strings.TrimSpace(stdout.String()), nil
}

func (r *repositories) folder(repo string) (string, error) {
	name := path.Clean(strings.Trim(repo, "/"))
	if !filepath.IsLocal(filepath.FromSlash(name)) || name == "." {
		return "", fmt.Errorf("%q is not the name of a repository", repo)
	}
	return filepath.Join(r.dir, filepath.FromSlash(name)), nil
}

// environment returns the environment of every git process of the server. No git setting of the
// machine or its user applies, and every commit has the same author.
func (r *repositories) environment() []string {
	return []string{
		"PATH=" + os.Getenv("PATH"),
		"GIT_CONFIG_GLOBAL=" + os.DevNull,
		"GIT_CONFIG_NOSYSTEM=1",
		"GIT_CONFIG_COUNT=2",
		"GIT_CONFIG_KEY_0=safe.directory",
		"GIT_CONFIG_VALUE_0=*",
		"GIT_CONFIG_KEY_1=uploadpack.allowReachableSHA1InWant",
		fmt.Sprintf("GIT_CONFIG_VALUE_1=%t", r.options.AllowReachableSHA1InWant),
		"GIT_TERMINAL_PROMPT=0",
		"GIT_AUTHOR_NAME=" + authorName, "GIT_AUTHOR_EMAIL=" + authorEmail, "GIT_AUTHOR_DATE=" + authorDate,
		"GIT_COMMITTER_NAME=" + authorName, "GIT_COMMITTER_EMAIL=" + authorEmail, "GIT_COMMITTER_DATE=" + authorDate,
	}
}
