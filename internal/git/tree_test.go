package git_test

import (
	"errors"
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/git"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/gittest"
)

func TestTree(t *testing.T) {
	t.Parallel()
	s := gittest.New(t, gittest.Options{})
	pointer := "version https://git-lfs.github.com/spec/v1\noid sha256:abc\nsize 12\n"
	head, err := s.CommitFS(t.Context(), "repo", "main", "everything", fstest.MapFS{
		"README.md":       {Data: []byte("hello\n"), Mode: 0o644},
		"a/run.sh":        {Data: []byte("#!/bin/sh\n"), Mode: 0o755},
		"a/b/c/values":    {Data: []byte("x: 1\n"), Mode: 0o644},
		"a-b":             {Data: []byte("sorts before a/ in git\n"), Mode: 0o644},
		"large":           {Data: []byte(strings.Repeat("0123456789abcdef", 1<<17)), Mode: 0o644},
		"links/file":      {Data: []byte("../README.md"), Mode: fs.ModeSymlink | 0o777},
		"links/folder":    {Data: []byte("../a/./b"), Mode: fs.ModeSymlink | 0o777},
		"links/through":   {Data: []byte("folder/c/values"), Mode: fs.ModeSymlink | 0o777},
		"links/dangling":  {Data: []byte("nowhere"), Mode: fs.ModeSymlink | 0o777},
		"links/absolute":  {Data: []byte("/etc/passwd"), Mode: fs.ModeSymlink | 0o777},
		"links/escaping":  {Data: []byte("../../x"), Mode: fs.ModeSymlink | 0o777},
		"links/itself":    {Data: []byte("itself"), Mode: fs.ModeSymlink | 0o777},
		"assets/logo.png": {Data: []byte(pointer), Mode: 0o644},
	})
	if err != nil {
		t.Fatal(err)
	}
	tree, err := newClient(t, nil).Fetch(t.Context(), s.URL("repo"), head, git.Ref{})
	if err != nil {
		t.Fatal(err)
	}
	t.Run("as a file system", func(t *testing.T) {
		t.Parallel()
		sub, err := fs.Sub(tree, "a")
		if err != nil {
			t.Fatal(err)
		}
		if err := fstest.TestFS(sub, "run.sh", "b/c/values"); err != nil {
			t.Error(err)
		}
	})
	t.Run("modes", func(t *testing.T) {
		t.Parallel()
		want := map[string]string{
			".":            "dr-xr-xr-x",
			"README.md":    "-r--r--r--",
			"a/run.sh":     "-r-xr-xr-x",
			"links/file":   "-r--r--r--",
			"links/folder": "dr-xr-xr-x",
		}
		got := map[string]string{}
		for name := range want {
			info, err := fs.Stat(tree, name)
			if err != nil {
				t.Fatal(err)
			}
			got[name] = info.Mode().String()
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
	})
	t.Run("listing", func(t *testing.T) {
		t.Parallel()
		entries, err := fs.ReadDir(tree, ".")
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, entry := range entries {
			got = append(got, entry.Name())
		}
		if diff := cmp.Diff([]string{"README.md", "a", "a-b", "assets", "large", "links"}, got); diff != "" {
			t.Error(diff)
		}
	})
	read := []struct{ name, path, want string }{
		{"plain", "a/b/c/values", "x: 1\n"},
		{"link", "links/file", "hello\n"},
		{"through a linked folder", "links/folder/c/values", "x: 1\n"},
		{"through two links", "links/through", "x: 1\n"},
		{"large", "large", strings.Repeat("0123456789abcdef", 1<<17)},
	}
	for _, tt := range read {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := fs.ReadFile(tree, tt.path)
			if err != nil || string(got) != tt.want {
				t.Errorf("ReadFile(%s) = %.40q, %v, want %.40q", tt.path, got, err, tt.want)
			}
		})
	}
	failing := []struct {
		name, path string
		is         func(error) bool
	}{
		{"missing", "nope", func(err error) bool { return errors.Is(err, fs.ErrNotExist) }},
		{"below a file", "README.md/x", func(err error) bool { return errors.Is(err, fs.ErrNotExist) }},
		{"dangling link", "links/dangling", func(err error) bool { return errors.Is(err, fs.ErrNotExist) }},
		{"absolute link", "links/absolute", func(err error) bool { return errors.Is(err, git.ErrOutsideTree) }},
		{"escaping link", "links/escaping", func(err error) bool { return errors.Is(err, git.ErrOutsideTree) }},
		{"link to itself", "links/itself", func(err error) bool { return err != nil }},
		{"path with dots", "../x", func(err error) bool { return errors.Is(err, fs.ErrInvalid) }},
		{"LFS pointer", "assets/logo.png", isType[*git.LFSPointerError]},
	}
	for _, tt := range failing {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if _, err := fs.ReadFile(tree, tt.path); !tt.is(err) {
				t.Errorf("ReadFile(%s): %v", tt.path, err)
			}
		})
	}
	t.Run("links are seen as links", func(t *testing.T) {
		t.Parallel()
		target, err := fs.ReadLink(tree, "links/escaping")
		if err != nil || target != "../../x" {
			t.Errorf("ReadLink = %q, %v", target, err)
		}
		info, err := fs.Lstat(tree, "links/escaping")
		if err != nil || info.Mode().Type() != fs.ModeSymlink {
			t.Errorf("Lstat = %v, %v, want a symbolic link", info, err)
		}
	})
}
