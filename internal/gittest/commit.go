package gittest

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"testing/fstest"
)

// The author of every commit, so that equal histories have equal commits.
const (
	authorName  = "gittest"
	authorEmail = "gittest@example.com"
	authorDate  = "1700000000 +0000"
)

// Commit commits files, path → content, as the whole tree of the branch and returns the commit.
// Repository and branch are made when they do not exist; the first branch of a repository becomes
// its HEAD.
func (s *Server) Commit(ctx context.Context, repo, branch, message string, files map[string]string) (string, error) {
	tree := make(fstest.MapFS, len(files))
	for name, content := range files {
		tree[name] = &fstest.MapFile{Data: []byte(content), Mode: 0o644}
	}
	return s.CommitFS(ctx, repo, branch, message, tree)
}

// CommitFS is Commit with the files, executable bits and symbolic links of a
// file system.
func (s *Server) CommitFS(ctx context.Context, repo, branch, message string, files fs.FS) (string, error) {
	commit, err := s.repositories.commit(ctx, repo, branch, message, files)
	if err != nil {
		return "", fmt.Errorf("committing to branch %s of %s: %w", branch, repo, err)
	}
	return commit, nil
}

// Submodule adds a submodule to an existing branch and returns the commit. url is the URL in
// .gitmodules; "" leaves .gitmodules as it is.
func (s *Server) Submodule(ctx context.Context, repo, branch, name, url, commit string) (string, error) {
	return s.repositories.addSubmodule(ctx, repo, branch, name, url, commit)
}

// Git runs git in a repository and returns its output without the surrounding white space. It is
// for commands that have no method of their own.
func (s *Server) Git(ctx context.Context, repo string, args ...string) (string, error) {
	return s.repositories.run(ctx, repo, nil, args...)
}

// commitStream returns the input of git fast-import for one commit.
func commitStream(ref, parent, message string, files fs.FS) ([]byte, error) {
	var b bytes.Buffer
	fmt.Fprintf(&b, "commit %s\n", ref)
	fmt.Fprintf(&b, "committer %s <%s> %s\n", authorName, authorEmail, authorDate)
	writeData(&b, []byte(message))
	if parent != "" {
		fmt.Fprintf(&b, "from %s\n", parent)
	}
	b.WriteString("deleteall\n")
	err := fs.WalkDir(files, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		mode, content, err := readEntry(files, name, entry)
		if err != nil {
			return err
		}
		fmt.Fprintf(&b, "M %s inline %s\n", mode, name)
		writeData(&b, content)
		return nil
	})
	return b.Bytes(), err
}

func readEntry(files fs.FS, name string, entry fs.DirEntry) (mode string, content []byte, err error) {
	if entry.Type()&fs.ModeSymlink != 0 {
		target, err := fs.ReadLink(files, name)
		return "120000", []byte(target), err
	}
	info, err := entry.Info()
	if err != nil {
		return "", nil, err
	}
	mode = "100644"
	if info.Mode()&0o111 != 0 {
		mode = "100755"
	}
	content, err = fs.ReadFile(files, name)
	return mode, content, err
}

func writeData(b *bytes.Buffer, content []byte) {
	fmt.Fprintf(b, "data %d\n", len(content))
	b.Write(content)
	b.WriteByte('\n')
}
