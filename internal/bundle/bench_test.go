package bundle_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/bundle"
)

// BenchmarkRead2000 reads a source of 2,000 bundles: charts, plain manifests with overlays, and
// bundles with values files and customizations. Twice as many bundles must take twice as long.
func BenchmarkRead2000(b *testing.B) {
	for _, bundles := range []int{2000, 4000} {
		b.Run(fmt.Sprint(bundles), func(b *testing.B) {
			root := b.TempDir()
			for i := range bundles {
				writeBundle(b, filepath.Join(root, "apps", fmt.Sprintf("group%03d", i/20), fmt.Sprintf("app%05d", i)), i)
			}
			fsys := os.DirFS(root)
			b.ReportAllocs()
			for b.Loop() {
				result, err := bundle.Reader{}.Read(fsys, bundle.ReadOptions{RepoName: "test", Strict: true})
				if err != nil || len(result.Bundles) != bundles {
					b.Fatalf("%d bundles: %v", len(result.Bundles), err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N*bundles), "µs/bundle")
		})
	}
}

// writeBundle writes one of three kinds of bundles.
func writeBundle(b *testing.B, folder string, number int) {
	b.Helper()

	const kinds = 3
	manifest := "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings}\ndata:\n" + strings.Repeat("  key: value\n", 50)
	files := []map[string]string{
		{
			"fleet.yaml":       "defaultNamespace: shop\nhelm: {chart: chart, releaseName: web, valuesFiles: [values.yaml]}\n",
			"values.yaml":      "replicas: 3\nimage: {tag: v1.2.3}\n" + strings.Repeat("# a comment\n", 20),
			"chart/Chart.yaml": "apiVersion: v2\nname: web\nversion: 1.2.3\n", "chart/values.yaml": "replicas: 1\n",
			"chart/templates/deployment.yaml": strings.ReplaceAll(manifest, "value", "{{ .Values.image.tag }}"), "chart/templates/_helpers.tpl": "",
		},
		{
			"fleet.yaml": "defaultNamespace: shop\ntargetCustomizations:\n- clusterSelector: {matchLabels: {env: prod}}\n  yaml: {overlays: [prod]}\n",
			"a.yaml":     manifest, "b.yaml": manifest, "overlays/prod/a_patch.yaml": "data: {key: other}\n",
		},
		{
			"fleet.yaml": "labels: {app: web}\nhelm: {values: {region: \"${ .ClusterLabels.region }\"}}\ntargetCustomizations:\n" + strings.Repeat("- clusterSelector: {matchLabels: {env: dev}}\n  helm: {values: {replicas: 1, list: [a, b, c]}}\n", 10),
			"cm.yaml":    manifest,
		},
	}[number%kinds]
	for name, content := range files {
		name = filepath.Join(folder, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			b.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
			b.Fatal(err)
		}
	}
}
