package cluster_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/cluster"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/kube/connect"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/mask"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/release"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/render"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/secret"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/status"
)

// A kubeconfig that another resource writes while Terraform runs is read again after it was
// missing.
func TestConnectAfterAFailure(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "config")
	made := cluster.NewSet(map[string]cluster.Entry{
		"one": {Connection: connect.Connection{ConfigPaths: []string{path}, ConfigContext: "one"}},
	}, &render.Charts{}, &mask.Masker{})
	if _, err := made.Connect("one"); err == nil {
		t.Fatal("a cluster without a kubeconfig has a client")
	}
	content := "apiVersion: v1\nkind: Config\nclusters: [{name: c, cluster: {server: 'https://c:6443'}}]\ncontexts: [{name: one, context: {cluster: c}}]\n"
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	first, err := made.Connect("one")
	if err != nil {
		t.Fatal(err)
	}
	if second, err := made.Connect("one"); second != first || err != nil {
		t.Errorf("another client is made for the same cluster: %v", err)
	}
}

// A cluster whose configuration is wrong is not merely unreachable, and the environment is used only
// with consent.
func TestConnectWithoutAConnection(t *testing.T) {
	path := filepath.Join(t.TempDir(), "config")
	content := "apiVersion: v1\nkind: Config\nclusters: [{name: c, cluster: {server: 'https://c:6443'}}]\n" +
		"contexts: [{name: one, context: {cluster: c}}, {name: two, context: {cluster: c}}]\ncurrent-context: two\n"
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("KUBECONFIG", path)
	tests := map[string]struct {
		connection connect.Connection
		invalid    bool
		fails      string
	}{
		"nothing":                {invalid: true, fails: "from_environment = true"},
		"a context alone":        {connection: connect.Connection{ConfigContext: "one"}, invalid: true, fails: "from_environment = true"},
		"one of several":         {connection: connect.Connection{ConfigPaths: []string{path}}, invalid: true, fails: "config_context is missing"},
		"the environment":        {connection: connect.Connection{FromEnvironment: true}},
		"a context":              {connection: connect.Connection{ConfigPaths: []string{path}, ConfigContext: "one"}},
		"a context that is gone": {connection: connect.Connection{ConfigPaths: []string{path}, ConfigContext: "three"}, fails: "no context"},
		"a file that is gone":    {connection: connect.Connection{ConfigPaths: []string{path + "x"}}, fails: path + "x"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			made := cluster.NewSet(map[string]cluster.Entry{"one": {Connection: test.connection}}, &render.Charts{}, &mask.Masker{})
			_, err := made.Connect("one")
			unusable, _ := errors.AsType[*status.ConnectionError](err)
			if test.fails == "" && err != nil || test.fails != "" && (unusable == nil || unusable.Invalid != test.invalid || !strings.Contains(err.Error(), test.fails)) {
				t.Errorf("error = %v, want %q in it; invalid: %t", err, test.fails, test.invalid)
			}
		})
	}
}

// A release outside the namespaces of an entry is refused before any request. A connection that is not
// known yet, and a removed entry without a limit, refuse nothing.
func TestNamespacesOfAnEntry(t *testing.T) {
	t.Parallel()
	entry := func(namespaces ...string) cluster.Entry {
		return cluster.Entry{Connection: connect.Connection{Host: "https://127.0.0.1:1", Token: secret.Hide("x"), Namespaces: namespaces}}
	}
	made := cluster.NewSet(map[string]cluster.Entry{
		"all": entry(), "one": entry("ns"), "other": entry("a", "b"), "unknown": {ConnectionUnknown: true},
	}, &render.Charts{}, &mask.Masker{}).WithFormer(map[string]cluster.Entry{"former": entry("a")})
	for name, refused := range map[string]bool{"all": false, "one": false, "other": true, "unknown": false, "missing": false} {
		err := made.CheckNamespace(name, "ns")
		outside, is := errors.AsType[*release.OutsideError](err)
		if is != refused || (err != nil) != refused {
			t.Errorf("%s: %v, want an error: %t", name, err, refused)
		}
		if is && (outside.Cluster != name || !strings.Contains(err.Error(), "the namespace ns;") || !strings.HasSuffix(err.Error(), "a, b")) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, refused := range map[string]bool{"one": false, "other": true, "former": true} {
		client, err := made.Connect(name)
		if err != nil {
			t.Fatal(err)
		}
		_, err = client.Release(t.Context(), "ns", "web")
		if _, is := errors.AsType[*release.OutsideError](err); is != refused || err == nil {
			t.Errorf("%s: %v, want that it is refused: %t", name, err, refused)
		}
	}
}
