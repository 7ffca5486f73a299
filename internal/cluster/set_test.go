package cluster_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/cluster"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/diff"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/kube"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/render"
)

// A kubeconfig that another resource writes while Terraform runs is read again after it was
// missing.
func TestConnectAfterAFailure(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "config")
	made := cluster.NewSet(map[string]cluster.Entry{
		"one": {Connection: kube.Connection{ConfigPaths: []string{path}, ConfigContext: "one"}},
	}, &render.Charts{}, &diff.Masker{})
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
