package connect

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/mask"
)

func TestKubeconfigIsReadOnce(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "config")
	token := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(token, []byte("t"), 0o600); err != nil {
		t.Fatal(err)
	}
	content := "apiVersion: v1\nkind: Config\nclusters: [{name: c, cluster: {server: 'https://c:6443'}}]\n" +
		"users: [{name: u, user: {tokenFile: " + token + "}}]\ncontexts: [{name: one, context: {cluster: c, user: u}}, {name: two, context: {cluster: c, user: u}}]\n"
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	var read Kubeconfigs
	for i, context := range []string{"one", "two"} {
		config, err := Connection{ConfigPaths: []string{path}, ConfigContext: context}.restConfig(&read, &mask.Masker{})
		if err != nil {
			t.Fatalf("context %s: %v", context, err)
		}
		if config.WrapTransport == nil {
			t.Errorf("context %s has no token; the one before took it", context)
		}
		if i == 0 {
			if err := os.Remove(path); err != nil {
				t.Fatal(err)
			}
		}
	}
	var other Kubeconfigs
	if _, err := other.Config(Connection{ConfigPaths: []string{path}, ConfigContext: "one"}, nil); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("another configuration reads the file that is gone: %v", err)
	}
}

// A file that could not be read is read again for the next connection.
func TestKubeconfigAfterAFailure(t *testing.T) {
	t.Parallel()
	const content = "apiVersion: v1\nkind: Config\nclusters: [{name: c, cluster: {server: 'https://c:6443'}}]\ncontexts: [{name: one, context: {cluster: c}}]\n"
	tests := map[string]func(t *testing.T, path string){
		"not there": func(*testing.T, string) {},
		"no YAML":   func(t *testing.T, path string) { t.Helper(); write(t, path, "}") },
		"a folder": func(t *testing.T, path string) {
			t.Helper()
			if err := os.Mkdir(path, 0o700); err != nil {
				t.Fatal(err)
			}
		},
	}
	for name, spoil := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "config")
			spoil(t, path)
			connection := Connection{ConfigPaths: []string{path}, ConfigContext: "one"}
			var read Kubeconfigs
			if _, err := read.Config(connection, nil); err == nil {
				t.Error("the first connection has a client")
			}
			if err := os.RemoveAll(path); err != nil {
				t.Fatal(err)
			}
			write(t, path, content)
			if _, err := read.Config(connection, nil); err != nil {
				t.Errorf("the second connection: %v", err)
			}
		})
	}
}

func write(t *testing.T, path, content string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}
