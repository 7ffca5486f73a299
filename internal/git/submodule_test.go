package git_test

import (
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/git"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/gittest"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/secret"
)

func addModule(t *testing.T, s *gittest.Server, repo, name, address, commit string) string {
	t.Helper()
	hash, err := s.Submodule(t.Context(), repo, "main", name, address, commit)
	if err != nil {
		t.Fatal(err)
	}
	return hash
}

// files returns the contents of the regular files of a file system, by path.
func files(t *testing.T, of fs.FS) map[string]string {
	t.Helper()
	found := map[string]string{}
	err := fs.WalkDir(of, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		content, err := fs.ReadFile(of, name)
		found[name] = string(content)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	delete(found, ".gitmodules")
	return found
}

func TestSubmodules(t *testing.T) {
	t.Parallel()
	for _, scheme := range []string{"http", "ssh"} {
		t.Run(scheme, func(t *testing.T) {
			t.Parallel()
			private := gittest.New(t, gittest.Options{Username: "robot", Password: "open sesame"})
			inner := commit(t, private, "acme/inner", "main", map[string]string{"deep": "inner"})
			home := gittest.New(t, gittest.Options{})
			old := commit(t, home, "acme/lib", "main", map[string]string{"chart/Chart.yaml": "old"})
			commit(t, home, "acme/lib", "main", map[string]string{"chart/Chart.yaml": "new"})
			commit(t, home, "acme/middle", "main", map[string]string{"m": "middle"})
			middle := addModule(t, home, "acme/middle", "in/ner", private.URL("acme/inner"), inner)
			_, err := home.CommitFS(t.Context(), "acme/fleet", "main", "everything", fstest.MapFS{
				"apps/fleet.yaml": {Data: []byte("x")},
				"apps/linked":     {Data: []byte("../vendor/lib/chart"), Mode: fs.ModeSymlink | 0o777},
			})
			if err != nil {
				t.Fatal(err)
			}
			addModule(t, home, "acme/fleet", "vendor/lib", "../lib", old)
			addModule(t, home, "acme/fleet", "again", "../lib", old)
			head := addModule(t, home, "acme/fleet", "middle", "../../acme/middle.git/../middle", middle)

			at := home.URL
			if scheme == "ssh" {
				at = home.SSHURL
			}
			client := newClient(t, map[string]git.Credentials{
				home.SSHURL(""):     {SSHPrivateKey: secret.Hide(home.SSHKey()), KnownHosts: home.KnownHosts()},
				private.URL("acme"): {Username: "robot", Password: secret.Hide("open sesame")},
			})
			ctx := within(t, at("acme/fleet"), private.URL("")+"**", home.URL("")+"**", strings.Replace(home.SSHURL(""), "git@", "", 1)+"**")
			full, err := client.FetchWithSubmodules(ctx, at("acme/fleet"), head, git.Ref{Branch: "main"})
			if err != nil {
				t.Fatal(err)
			}
			want := map[string]string{
				"apps/fleet.yaml": "x", "vendor/lib/chart/Chart.yaml": "old", "again/chart/Chart.yaml": "old",
				"middle/m": "middle", "middle/in/ner/deep": "inner",
			}
			got := files(t, full)
			delete(got, "middle/.gitmodules")
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
			if content, err := fs.ReadFile(full, "apps/linked/Chart.yaml"); err != nil || string(content) != "old" {
				t.Errorf("through a link: %q, %v, want old", content, err)
			}
			sub, err := fs.Sub(full, "middle")
			if err != nil {
				t.Fatal(err)
			}
			if err := fstest.TestFS(sub, "m", "in/ner/deep"); err != nil {
				t.Error(err)
			}
			before := home.Requests() + private.Requests()
			if _, err := client.FetchWithSubmodules(ctx, at("acme/fleet"), head, git.Ref{Branch: "main"}); err != nil {
				t.Error(err)
			}
			plain, err := client.Fetch(ctx, at("acme/fleet"), head, git.Ref{Branch: "main"})
			if err != nil {
				t.Fatal(err)
			}
			if after := home.Requests() + private.Requests(); after != before {
				t.Errorf("the second time made %d requests", after-before)
			}
			if entries, err := fs.ReadDir(plain, "vendor/lib"); err != nil || len(entries) > 0 {
				t.Errorf("without submodules: %v, %v, want an empty folder", entries, err)
			}
		})
	}
}

func TestSubmoduleErrors(t *testing.T) {
	t.Parallel()
	private := gittest.New(t, gittest.Options{Username: "robot", Password: "open sesame"})
	hidden := commit(t, private, "hidden", "main", map[string]string{"a": "1"})
	s := gittest.New(t, gittest.Options{})
	there := commit(t, s, "there", "main", map[string]string{"a": "1"})
	address, err := url.Parse(private.URL("hidden"))
	if err != nil {
		t.Fatal(err)
	}
	address.User = url.UserPassword("robot", "open sesame")
	tests := []struct {
		name   string
		url    string
		commit string
		is     func(error) bool
	}{
		{"no repository", "../nowhere", there, isType[*git.RepositoryNotFoundError]},
		{"no commit", "../there", strings.Repeat("ab", 20), isType[*git.RevisionNotFoundError]},
		{"private", private.URL("hidden"), hidden, isType[*git.AuthenticationError]},
		{"password in the address", address.String(), hidden, isType[*git.UnsupportedURLError]},
		{"local", "/srv/repo", there, isType[*git.UnsupportedURLError]},
		{"another program", "ext::sh -c evil", there, isType[*git.SubmoduleError]},
		{"above the host", "../../../x", there, isType[*git.SubmoduleError]},
		{"the host itself", "..", there, isType[*git.SubmoduleError]},
	}
	for i, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			repo := fmt.Sprintf("fleet%d", i)
			commit(t, s, repo, "main", map[string]string{"a": "1"})
			head := addModule(t, s, repo, "vendor/it", tt.url, tt.commit)
			client := newClient(t, nil, s.URL(""), private.URL(""))
			_, err := client.FetchWithSubmodules(t.Context(), s.URL(repo), head, git.Ref{})
			got, ok := errors.AsType[*git.SubmoduleError](err)
			if !ok || got.Path != "vendor/it" || !tt.is(err) {
				t.Fatalf("FetchWithSubmodules: %T %v", err, err)
			}
			if strings.Contains(err.Error(), "sesame") {
				t.Errorf("the error shows a password: %v", err)
			}
			if _, err := client.Fetch(t.Context(), s.URL(repo), head, git.Ref{}); err != nil {
				t.Errorf("Fetch without submodules: %v", err)
			}
		})
	}
}

// Git keeps a nested repository that was added by mistake as a submodule which .gitmodules does
// not name. Fleet leaves it as an empty folder.
func TestUndeclaredSubmodule(t *testing.T) {
	t.Parallel()
	s := gittest.New(t, gittest.Options{})
	there := commit(t, s, "there", "main", map[string]string{"a": "1"})
	commit(t, s, "fleet", "main", map[string]string{"a": "1"})
	stray := addModule(t, s, "fleet", "vendor/stray", "", there)
	both := addModule(t, s, "fleet", "vendor/it", "../there", there)
	client := newClient(t, nil, s.URL(""))
	for head, want := range map[string]map[string]string{
		stray: {"a": "1"},
		both:  {"a": "1", "vendor/it/a": "1"},
	} {
		found, err := client.FetchWithSubmodules(t.Context(), s.URL("fleet"), head, git.Ref{})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, files(t, found)); diff != "" {
			t.Error(diff)
		}
		if entries, err := fs.ReadDir(found, "vendor/stray"); err != nil || len(entries) > 0 {
			t.Errorf("vendor/stray: %v, %v, want an empty folder", entries, err)
		}
	}

	commit(t, s, "broken", "main", map[string]string{".gitmodules": "[submodule \"it\"]\n\tpath = vendor/it\n"})
	head := addModule(t, s, "broken", "vendor/it", "", there)
	if _, err := client.FetchWithSubmodules(t.Context(), s.URL("broken"), head, git.Ref{}); !isType[*git.SubmoduleError](err) {
		t.Errorf("without an address: %v, want a SubmoduleError", err)
	}
}

// Submodules that are nested too deep are an error.
func TestNestedSubmodules(t *testing.T) {
	t.Parallel()
	s := gittest.New(t, gittest.Options{AllowReachableSHA1InWant: true})
	head := commit(t, s, "self", "main", map[string]string{"a": "1"})
	for range 12 {
		head = addModule(t, s, "self", "inner", "../self", head)
	}
	client := newClient(t, nil)
	if _, err := client.FetchWithSubmodules(t.Context(), s.URL("self"), head, git.Ref{}); !isType[*git.SubmoduleError](err) {
		t.Errorf("FetchWithSubmodules: %v, want a SubmoduleError", err)
	}
}
