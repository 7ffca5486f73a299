package source_test

import (
	"fmt"
	"os"
	"path"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/bundle"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/git"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/gittest"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/source"
)

// repositoryOf returns a repository in which each folder is a bundle of five files. Every tenth
// bundle is a Helm chart.
func repositoryOf(folders int) fstest.MapFS {
	files := fstest.MapFS{}
	for i := range folders {
		dir := fmt.Sprintf("apps/team-%02d/app-%04d", i%20, i)
		add := func(name, content string) { files[path.Join(dir, name)] = &fstest.MapFile{Data: []byte(content)} }
		add("fleet.yaml", fmt.Sprintf("defaultNamespace: app-%d\nhelm:\n  valuesFiles: [values-own.yaml]\ntargetCustomizations:\n- clusterSelector: {matchLabels: {env: prod}}\n  helm: {values: {replicas: 3}}\n", i))
		add("values-own.yaml", fmt.Sprintf("replicas: 1\nimage: {tag: v%d}\n", i))
		if i%10 == 0 {
			add("Chart.yaml", fmt.Sprintf("apiVersion: v2\nname: app-%d\nversion: 1.0.%d\n", i, i))
		}
		for _, kind := range []string{"ConfigMap", "Service", "ServiceAccount"} {
			add("templates/"+strings.ToLower(kind)+".yaml", fmt.Sprintf("apiVersion: v1\nkind: %s\nmetadata:\n  name: app-%d\n  labels: {app: app-%d}\n%s", kind, i, i, strings.Repeat("# A line of a manifest.\n", 40)))
		}
	}
	return files
}

// BenchmarkGenerate2000 reads a repository of 2,000 bundles from a git server, each time with
// nothing cached. peak-MB is the maximum memory of this process. It does not include the git
// server, which is a separate process.
func BenchmarkGenerate2000(b *testing.B) {
	const bundles = 2000
	server := gittest.New(b, gittest.Options{})
	commit, err := server.CommitFS(b.Context(), "fleet", "main", "All", repositoryOf(bundles))
	if err != nil {
		b.Fatal(err)
	}
	spec := source.Spec{
		Git:  &source.PinnedCommit{Repo: server.URL("fleet"), Commit: commit, Branch: "main"},
		Read: &bundle.ReadOptions{RepoName: "fleet", Paths: []string{"apps"}, Strict: true},
	}
	b.ReportAllocs()
	for b.Loop() {
		client := git.New(git.Config{TempDir: b.TempDir()})
		made, err := source.New(source.Config{Git: client}).Generate(b.Context(), spec, nil)
		if err != nil {
			b.Fatal(err)
		}
		if len(made.Bundles) != bundles {
			b.Fatalf("%d bundles", len(made.Bundles))
		}
		if err := client.Close(); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(peak(b), "peak-MB")
}

// peak returns the maximum memory that this process has used.
func peak(b *testing.B) float64 {
	b.Helper()
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		b.Skip("only Linux tells")
	}
	for line := range strings.Lines(string(status)) {
		fields := strings.Fields(line)
		if len(fields) > 1 && fields[0] == "VmHWM:" {
			kilobytes, err := strconv.ParseFloat(fields[1], 64)
			if err != nil {
				b.Fatal(err)
			}
			return kilobytes / 1024
		}
	}
	return 0
}
