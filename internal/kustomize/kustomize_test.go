package kustomize_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/bundle"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/kustomize"
)

const app = `
-- app.yaml --
apiVersion: v1
kind: ConfigMap
metadata:
  name: app
data:
  color: red
`

func files(archive string) []bundle.File {
	var found []bundle.File
	for _, file := range txtar.Parse([]byte(archive)).Files {
		found = append(found, bundle.File{Name: file.Name, Content: file.Data})
	}
	return found
}

func TestBuild(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, files, dir, rendered, want string
	}{
		{
			name:  "prefix and labels",
			files: "-- kustomization.yaml --\nnamePrefix: eu-\nresources: [app.yaml]\n" + app[1:],
			dir:   ".",
			want:  "apiVersion: v1\ndata:\n  color: red\nkind: ConfigMap\nmetadata:\n  name: eu-app\n",
		},
		{
			name:  "another spelling, a base beside and a patch",
			files: "-- overlay/kustomization.yml --\nresources: [../base]\npatches: [{path: patch.yaml}]\n-- overlay/patch.yaml --\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: app}\ndata: {color: blue}\n-- base/Kustomization --\nresources: [app.yaml]\n-- base/app.yaml --" + strings.TrimPrefix(app, "\n-- app.yaml --"),
			dir:   "overlay",
			want:  "apiVersion: v1\ndata:\n  color: blue\nkind: ConfigMap\nmetadata:\n  name: app\n",
		},
		{
			name:     "what a chart rendered comes first",
			files:    "-- kustomization.yaml --\nnamespace: shop\nresources: [app.yaml]\n" + app[1:],
			rendered: "apiVersion: v1\nkind: Service\nmetadata:\n  name: web\n",
			dir:      ".",
			want:     "apiVersion: v1\nkind: Service\nmetadata:\n  name: web\n  namespace: shop\n---\napiVersion: v1\ndata:\n  color: red\nkind: ConfigMap\nmetadata:\n  name: app\n  namespace: shop\n",
		},
		{
			name:  "a variable of the environment stays out",
			files: "-- kustomization.yaml --\nconfigMapGenerator: [{name: env, envs: [a.env], options: {disableNameSuffixHash: true}}]\n-- a.env --\nPATH\n",
			dir:   ".",
			want:  "apiVersion: v1\ndata:\n  PATH: \"\"\nkind: ConfigMap\nmetadata:\n  name: env\n",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			built, err := kustomize.Build(files(tt.files), tt.dir, []byte(tt.rendered))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, string(built)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestBuildConfined(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, files, want string }{
		{"remote resource", "-- kustomization.yaml --\nresources: ['https://example.com/a.yaml']\n", "https://example.com/a.yaml"},
		{"remote base", "-- kustomization.yaml --\nresources: ['github.com/acme/base?ref=v1']\n", "github.com/acme/base?ref=v1"},
		{"folder that is called like a repository", "-- kustomization.yaml --\nresources: ['github.com/acme/base']\n-- github.com/acme/base/kustomization.yaml --\n{}\n", "github.com/acme/base"},
		{"ssh base", "-- kustomization.yaml --\ncomponents: ['git@example.com:acme/base.git']\n", "git@example.com:acme/base.git"},
		{"above the bundle", "-- kustomization.yaml --\nresources: [../other]\n", "../other"},
		{"absolute", "-- kustomization.yaml --\nconfigMapGenerator: [{name: a, files: [key=/etc/passwd]}]\n", "/etc/passwd"},
		{"secret file", "-- kustomization.yaml --\nsecretGenerator: [{name: a, files: ['../../id']}]\n", "../../id"},
		{"remote patch", "-- kustomization.yaml --\npatches: [{path: 'https://example.com/p.yaml'}]\n", "https://example.com/p.yaml"},
		{"remote schema", "-- kustomization.yaml --\nopenapi: {path: 'http://example.com/s.json'}\n", "http://example.com/s.json"},
		{"below a base", "-- kustomization.yaml --\nresources: [base]\n-- base/kustomization.yaml --\ntransformers: ['http://example.com/t.yaml']\n", "http://example.com/t.yaml"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, err := kustomize.Build(files(tt.files), ".", nil)
			outside, ok := errors.AsType[*kustomize.OutsideError](err)
			if !ok || outside.Name != tt.want {
				t.Errorf("Build: %v, want an OutsideError about %s", err, tt.want)
			}
		})
	}
}

func TestBuildErrors(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, files string }{
		{"no kustomization", app},
		{"unknown field", "-- kustomization.yaml --\nresourcess: []\n"},
		{"not YAML", "-- kustomization.yaml --\nresources: [\n"},
		{"cycle", "-- kustomization.yaml --\nresources: [a]\n-- a/kustomization.yaml --\nresources: [../a]\n"},
		{"cycle of plugins", "-- kustomization.yaml --\ntransformers: [a]\n-- a/kustomization.yaml --\nresources: [../b]\n-- b/kustomization.yaml --\nresources: [../a]\n"},
		{"plugin", "-- kustomization.yaml --\ngenerators: [g.yaml]\n-- g.yaml --\napiVersion: x/v1\nkind: Evil\nmetadata:\n  name: e\n  annotations:\n    config.kubernetes.io/function: |\n      exec: {path: /bin/true}\n"},
		{"chart", "-- kustomization.yaml --\nhelmCharts: [{name: a, repo: 'https://example.com'}]\n"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, err := kustomize.Build(files(tt.files), ".", nil)
			if failed, ok := errors.AsType[*kustomize.Error](err); !ok {
				t.Errorf("Build: %v (%T), want an Error", err, failed)
			}
		})
	}
}
