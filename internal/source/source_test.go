package source_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/bundle"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/fleetyaml"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/git"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/gittest"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/panics"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/source"
)

var _ source.Git = (*git.Client)(nil)

// apps returns two bundles.
func apps(replicas int) map[string]string {
	return map[string]string{
		"apps/web/fleet.yaml":      "defaultNamespace: web\n",
		"apps/web/deployment.yaml": fmt.Sprintf("apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec: {replicas: %d}\n", replicas),
		"apps/db/fleet.yaml":       "defaultNamespace: db\n",
		"apps/db/config.yaml":      "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: db}\n",
	}
}

func readApps() *bundle.ReadOptions {
	return &bundle.ReadOptions{RepoName: "fleet", Paths: []string{"apps/*"}, Strict: true}
}

// newStore returns an empty store, as in another process.
func newStore(t *testing.T) *source.Store {
	t.Helper()
	return newStoreWith(t, source.Config{})
}

// newStoreWith also reads git repositories.
func newStoreWith(t *testing.T, config source.Config) *source.Store {
	t.Helper()
	client := git.New(git.Config{TempDir: t.TempDir()})
	t.Cleanup(func() {
		if err := client.Close(); err != nil {
			t.Error(err)
		}
	})
	config.Git = client
	return source.New(config)
}

func commit(t *testing.T, s *gittest.Server, files map[string]string) string {
	t.Helper()
	hash, err := s.Commit(t.Context(), "fleet", "main", "change", files)
	if err != nil {
		t.Fatal(err)
	}
	return hash
}

func writeFiles(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, content := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

func generate(t *testing.T, store *source.Store, spec source.Spec) map[string]source.Generated {
	t.Helper()
	generation, err := store.Generate(t.Context(), spec, nil)
	if err != nil {
		t.Fatal(err)
	}
	list := generation.Bundles
	if len(list) == 0 || len(generation.Warnings) > 0 || len(generation.Broken) > 0 {
		t.Fatalf("%d bundles, warnings: %v, broken: %v", len(list), generation.Warnings, generation.Broken)
	}
	generated := make(map[string]source.Generated, len(list))
	for _, g := range list {
		generated[g.Bundle.Name] = g
	}
	return generated
}

func digests(generated map[string]source.Generated) map[string]string {
	list := make(map[string]string, len(generated))
	for name, g := range generated {
		list[name] = g.Bundle.Digest
	}
	return list
}

// The same content must have the same digest in all kinds of sources. An empty store must make the
// same bundle from only a descriptor.
func TestSameContentSameDigest(t *testing.T) {
	t.Parallel()
	server := gittest.New(t, gittest.Options{})
	hash := commit(t, server, apps(1))
	dir := t.TempDir()
	writeFiles(t, dir, apps(1))
	specs := map[string]source.Spec{
		"git":       {Git: &source.PinnedCommit{Repo: server.URL("fleet"), Commit: hash, Branch: "main"}, Read: readApps()},
		"directory": {Directory: dir, Read: readApps()},
		"files":     {Files: apps(1), Read: readApps()},
	}
	want := digests(generate(t, newStore(t), specs["files"]))
	if len(want) != 2 {
		t.Fatalf("bundles: %v, want two", want)
	}
	for name, spec := range specs {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			generated := generate(t, newStore(t), spec)
			if diff := cmp.Diff(want, digests(generated)); diff != "" {
				t.Errorf("digests (-files +%s):\n%s", name, diff)
			}
			other := newStore(t)
			for name, g := range generated {
				if _, ok := other.Cached(g.Bundle.Digest); ok {
					continue // With the first bundle the others are made, too.
				}
				again, err := other.Bundle(t.Context(), g.Descriptor, g.Bundle.Digest)
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(g.Bundle, again); diff != "" {
					t.Errorf("bundle %s made again (-first +second):\n%s", name, diff)
				}
			}
		})
	}
}

func TestDefinition(t *testing.T) {
	t.Parallel()
	server := gittest.New(t, gittest.Options{})
	manifest := apps(1)["apps/web/deployment.yaml"]
	hash := commit(t, server, map[string]string{"apps/web/templates/deployment.yaml": manifest})
	definition := &source.Definition{Name: "web", Options: fleetyaml.Definition{Options: fleetyaml.Options{
		DefaultNamespace: "web",
		Helm:             &fleetyaml.Helm{Values: map[string]any{"replicas": 3, "hosts": []string{"a"}}},
	}}}
	inline := map[string]string{"templates/deployment.yaml": manifest}
	fromFiles := generate(t, newStore(t), source.Spec{Files: inline, Definition: definition})
	fromGit := generate(t, newStore(t), source.Spec{
		Git:  &source.PinnedCommit{Repo: server.URL("fleet"), Commit: hash},
		Path: "apps/web", Definition: definition,
	})
	if diff := cmp.Diff(digests(fromFiles), digests(fromGit)); diff != "" {
		t.Errorf("digests (-files +git):\n%s", diff)
	}
	for _, g := range []source.Generated{fromFiles["web"], fromGit["web"]} {
		if _, err := newStore(t).Bundle(t.Context(), g.Descriptor, g.Bundle.Digest); err != nil {
			t.Error(err)
		}
	}
}

func TestCacheSendsNoRequest(t *testing.T) {
	t.Parallel()
	server := gittest.New(t, gittest.Options{})
	spec := source.Spec{Git: &source.PinnedCommit{Repo: server.URL("fleet"), Commit: commit(t, server, apps(1)), Branch: "main"}, Read: readApps()}
	store := newStore(t)
	generated := generate(t, store, spec)
	before := server.Requests()
	for name, g := range generated {
		if cached, ok := store.Cached(g.Bundle.Digest); !ok || cached.Name != name {
			t.Errorf("Cached(%s) = %v, %t", name, cached, ok)
		}
		if _, err := store.Bundle(t.Context(), g.Descriptor, g.Bundle.Digest); err != nil {
			t.Error(err)
		}
	}
	if after := server.Requests(); after != before {
		t.Errorf("%d requests for what is in memory", after-before)
	}
}

func TestManyBundlesOneFetch(t *testing.T) {
	t.Parallel()
	server := gittest.New(t, gittest.Options{})
	spec := source.Spec{Git: &source.PinnedCommit{Repo: server.URL("fleet"), Commit: commit(t, server, apps(1)), Branch: "main"}, Read: readApps()}
	generated := generate(t, newStore(t), spec)
	before := server.Requests()
	store := newStore(t)
	var group sync.WaitGroup
	for range 4 {
		for _, g := range generated {
			group.Go(func() {
				if _, err := store.Bundle(t.Context(), g.Descriptor, g.Bundle.Digest); err != nil {
					t.Error(err)
				}
			})
		}
	}
	group.Wait()
	if got, want := server.Requests()-before, 2; got != want {
		t.Errorf("%d requests, want %d", got, want)
	}
}

func TestDigestMismatch(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	writeFiles(t, dir, apps(1))
	generated := generate(t, newStore(t), source.Spec{Directory: dir, Read: readApps()})
	writeFiles(t, dir, apps(2))
	if err := os.RemoveAll(filepath.Join(dir, "apps", "db")); err != nil {
		t.Fatal(err)
	}
	now := generate(t, newStore(t), source.Spec{Directory: dir, Read: readApps()})
	for name, g := range generated {
		want := &source.DigestMismatchError{Bundle: name, Where: "directory " + dir, Want: g.Bundle.Digest}
		if changed, ok := now[name]; ok {
			want.Got = changed.Bundle.Digest
		}
		_, err := newStore(t).Bundle(t.Context(), g.Descriptor, g.Bundle.Digest)
		got, ok := errors.AsType[*source.DigestMismatchError](err)
		if !ok {
			t.Fatalf("bundle %s: %v, want a DigestMismatchError", name, err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
	}
}

// A commit that was overwritten no longer exists. The current content of the branch is used only if
// it is the same.
func TestOverwrittenCommit(t *testing.T) {
	t.Parallel()
	server := gittest.New(t, gittest.Options{})
	ctx := t.Context()
	planned := commit(t, server, apps(1))
	spec := source.Spec{Git: &source.PinnedCommit{Repo: server.URL("fleet"), Commit: planned, Branch: "main"}, Read: readApps()}
	generated := generate(t, newStore(t), spec)
	if err := server.Delete("fleet"); err != nil {
		t.Fatal(err)
	}
	if _, err := server.Commit(ctx, "fleet", "main", "rewritten", apps(2)); err != nil {
		t.Fatal(err)
	}
	if _, err := newStore(t).Bundle(ctx, generated["fleet-apps-db"].Descriptor, generated["fleet-apps-db"].Bundle.Digest); err != nil {
		t.Errorf("the unchanged bundle: %v", err)
	}
	_, err := newStore(t).Bundle(ctx, generated["fleet-apps-web"].Descriptor, generated["fleet-apps-web"].Bundle.Digest)
	if _, ok := errors.AsType[*source.DigestMismatchError](err); !ok || !strings.Contains(err.Error(), planned) {
		t.Errorf("the changed bundle: %v, want a DigestMismatchError that names the planned commit", err)
	}
	if _, ok := errors.AsType[*git.RevisionNotFoundError](err); !ok {
		t.Errorf("the changed bundle: %v, want a RevisionNotFoundError beside it", err)
	}
}

func TestGenerateErrors(t *testing.T) {
	t.Parallel()
	server := gittest.New(t, gittest.Options{})
	hash := commit(t, server, apps(1))
	tests := []struct {
		name string
		spec source.Spec
		is   func(error) bool // nil: any error.
	}{
		{"no source", source.Spec{Read: readApps()}, nil},
		{"two sources", source.Spec{Directory: ".", Files: apps(1), Read: readApps()}, nil},
		{"no way to make bundles", source.Spec{Directory: "."}, nil},
		{"no commit", source.Spec{Git: &source.PinnedCommit{Repo: server.URL("fleet")}, Read: readApps()}, nil},
		{"missing directory", source.Spec{Directory: "./nowhere", Read: readApps()}, isType[*source.DirectoryError]},
		{"path out of the files", source.Spec{Files: map[string]string{"../x": ""}, Read: readApps()}, nil},
		{"missing folder", source.Spec{Git: &source.PinnedCommit{Repo: server.URL("fleet"), Commit: hash}, Path: "nope", Read: readApps()}, func(err error) bool { return errors.Is(err, fs.ErrNotExist) }},
		{"missing commit", source.Spec{Git: &source.PinnedCommit{Repo: server.URL("fleet"), Commit: strings.Repeat("ab", 20)}, Read: readApps()}, isType[*git.RevisionNotFoundError]},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, err := newStore(t).Generate(t.Context(), tt.spec, nil)
			if err == nil || tt.is != nil && !tt.is(err) {
				t.Errorf("Generate: %T %v", err, err)
			}
		})
	}
}

func isType[E error](err error) bool {
	_, ok := errors.AsType[E](err)
	return ok
}

func TestDirectoryIsConfined(t *testing.T) {
	t.Parallel()
	outside, dir := t.TempDir(), t.TempDir()
	writeFiles(t, outside, map[string]string{"secret.yaml": "kind: Secret\n"})
	writeFiles(t, dir, apps(1))
	if err := os.Symlink(filepath.Join(outside, "secret.yaml"), filepath.Join(dir, "apps", "web", "secret.yaml")); err != nil {
		t.Skip(err)
	}
	if _, err := newStore(t).Generate(t.Context(), source.Spec{Directory: dir, Read: readApps()}, nil); err == nil {
		t.Error("a file outside of the directory was read")
	}
}

func TestCancelled(t *testing.T) {
	t.Parallel()
	server := gittest.New(t, gittest.Options{})
	hash := commit(t, server, apps(1))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := newStore(t).Generate(ctx, source.Spec{Git: &source.PinnedCommit{Repo: server.URL("fleet"), Commit: hash}, Read: readApps()}, nil)
	if !errors.Is(err, context.Canceled) {
		t.Errorf("Generate: %v, want context.Canceled", err)
	}
}

// A submodule is an empty folder unless submodules are requested.
func TestGenerateWithSubmodules(t *testing.T) {
	t.Parallel()
	server := gittest.New(t, gittest.Options{})
	commit(t, server, map[string]string{"apps/web/fleet.yaml": "defaultNamespace: web\n", "apps/web/a.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n"})
	library, err := server.Commit(t.Context(), "library", "main", "library", map[string]string{"b.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: b}\n"})
	if err != nil {
		t.Fatal(err)
	}
	head, err := server.Submodule(t.Context(), "fleet", "main", "apps/web/library", "../library", library)
	if err != nil {
		t.Fatal(err)
	}
	for submodules, want := range map[bool][]string{false: {"a.yaml"}, true: {"a.yaml", "library/b.yaml"}} {
		made := generate(t, newStore(t), source.Spec{
			Git: &source.PinnedCommit{Repo: server.URL("fleet"), Commit: head, Branch: "main", Submodules: submodules}, Read: readApps(),
			Sources: []string{server.URL("library")},
		})
		var got []string
		for _, file := range made["fleet-apps-web"].Bundle.Files {
			got = append(got, file.Name)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("submodules %t (-want +got):\n%s", submodules, diff)
		}
	}
}

// panicking is a source of files that panics.
type panicking struct{ source.Git }

func (panicking) Fetch(context.Context, string, string, source.Ref) (fs.FS, error) {
	panic("broken")
}

// All callers that wait for the same reading share it, and get its panic as an error.
func TestReadingThatPanics(t *testing.T) {
	t.Parallel()
	spec := source.Spec{Git: &source.PinnedCommit{Repo: "https://git.example.com/fleet", Commit: strings.Repeat("a", 40)}, Read: readApps()}
	_, err := source.New(source.Config{Git: panicking{}}).Generate(t.Context(), spec, nil)
	if panicked := new(panics.Error); !errors.As(err, &panicked) {
		t.Errorf("error = %v, want a panic", err)
	}
}
