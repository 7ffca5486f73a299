package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	// anchor matches the line before the attributes of an attribute.
	anchor = regexp.MustCompile(`^<a id="nested(?:att|block)--([a-z0-9_-]+)"></a>$`)
	// described matches the line of an attribute.
	described = regexp.MustCompile("^- `([a-z0-9_]+)` \\(")
)

// documented returns the attributes that docs/ describe, such as "fleet_bundle.helm.values".
func documented(t *testing.T, root string) map[string]bool {
	t.Helper()
	known := make(map[string]bool)
	for name, file := range map[string]string{
		"provider":               "index.md",
		"fleet_bundle":           "resources/bundle.md",
		"fleet_gitrepo":          "resources/gitrepo.md",
		"fleet_cluster_target":   "resources/cluster_target.md",
		"data.fleet_deployments": "data-sources/deployments.md",
	} {
		text, err := os.ReadFile(filepath.Join(root, "docs", filepath.FromSlash(file)))
		if err != nil {
			t.Fatal(err)
		}
		prefix := name
		for line := range strings.Lines(string(text)) {
			line = strings.TrimSpace(line)
			if found := anchor.FindStringSubmatch(line); found != nil {
				prefix = name + "." + strings.ReplaceAll(found[1], "--", ".")
			}
			if found := described.FindStringSubmatch(line); found != nil {
				known[prefix+"."+found[1]] = true
			}
		}
	}
	return known
}
