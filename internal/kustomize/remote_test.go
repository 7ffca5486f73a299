package kustomize_test

import (
	"errors"
	"net"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/kustomize/api/types"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/kustomize"
)

// plugin returns a kustomization with a plugin whose configuration is in a file, and the file.
func plugin(field, kind, config string) string {
	return "-- kustomization.yaml --\nresources: [app.yaml]\n" + field + ": [plugin.yaml]\n-- plugin.yaml --\napiVersion: builtin\nkind: " + kind +
		"\nmetadata: {name: p}\n" + config + "\n" + app[1:]
}

// A kustomization reaches no server, by whatever field it names one.
//
// Its rows are not parallel, because each looks at the connections of all.
func TestAttackRemotePlugins(t *testing.T) {
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	connected := make(chan struct{}, 100)
	served := make(chan struct{})
	go func() {
		defer close(served)
		for {
			connection, err := listener.Accept()
			if err != nil {
				return
			}
			connected <- struct{}{}
			_ = connection.Close() // The client sees an end of its connection.
		}
	}()
	t.Cleanup(func() {
		_ = listener.Close() // It ends the loop above.
		<-served
	})
	host := listener.Addr().String()
	url := "http://" + host + "/x.yaml"
	inline := func(field, text string) string {
		return "-- kustomization.yaml --\nresources: [app.yaml]\n" + field + ":\n- |-\n  " + strings.ReplaceAll(text, "\n", "\n  ") + "\n" + app[1:]
	}
	tests := map[string]string{
		"ConfigMapGenerator with a file":          plugin("generators", "ConfigMapGenerator", "files: ['"+url+"']"),
		"ConfigMapGenerator with a key":           plugin("generators", "ConfigMapGenerator", "files: ['key="+url+"']"),
		"ConfigMapGenerator with envs":            plugin("generators", "ConfigMapGenerator", "envs: ['"+url+"']"),
		"ConfigMapGenerator with an env file":     plugin("generators", "ConfigMapGenerator", "name: a\nenv: '"+url+"'"),
		"SecretGenerator":                         plugin("generators", "SecretGenerator", "files: ['"+url+"']"),
		"HelmChartInflationGenerator":             plugin("generators", "HelmChartInflationGenerator", "name: a\nadditionalValuesFiles: ['"+url+"']"),
		"HelmChartInflationGenerator with a repo": plugin("generators", "HelmChartInflationGenerator", "name: a\nrepo: '"+url+"'"),
		"PatchTransformer":                        plugin("transformers", "PatchTransformer", "path: '"+url+"'\ntarget: {kind: ConfigMap}"),
		"PatchTransformer in capitals":            plugin("transformers", "PatchTransformer", "path: '"+strings.Replace(url, "http", "HTTP", 1)+"'\ntarget: {kind: ConfigMap}"),
		"PatchJson6902Transformer":                plugin("transformers", "PatchJson6902Transformer", "path: '"+url+"'\ntarget: {kind: ConfigMap, name: app}"),
		"PatchStrategicMergeTransformer":          plugin("transformers", "PatchStrategicMergeTransformer", "paths: ['"+url+"']"),
		"ReplacementTransformer":                  plugin("transformers", "ReplacementTransformer", "replacements: [{path: '"+url+"'}]"),
		"ValueAddTransformer":                     plugin("transformers", "ValueAddTransformer", "targetFilePath: '"+url+"'"),
		"a validator":                             plugin("validators", "PatchTransformer", "path: '"+url+"'\ntarget: {kind: ConfigMap}"),
		"an alias":                                plugin("transformers", "PatchTransformer", "target: {kind: ConfigMap, name: &a '"+url+"'}\npath: *a"),
		"a list of plugins":                       "-- kustomization.yaml --\nresources: [app.yaml]\ntransformers: [plugin.yaml]\n-- plugin.yaml --\napiVersion: v1\nkind: List\nitems: [{apiVersion: builtin, kind: PatchTransformer, metadata: {name: p}, path: '" + url + "'}]\n" + app[1:],
		"a plugin written inline":                 inline("transformers", "apiVersion: builtin\nkind: PatchTransformer\nmetadata: {name: p}\npath: "+url),
		"a plugin in one line":                    "-- kustomization.yaml --\nresources: [app.yaml]\ntransformers: ['{apiVersion: builtin, kind: PatchTransformer, metadata: {name: p}, path: \"" + url + "\"}']\n" + app[1:],
		"a plugin that another kustomization makes": "-- kustomization.yaml --\nresources: [app.yaml]\ntransformers: [plugins]\n" +
			"-- plugins/kustomization.yaml --\nresources: [plugin.yaml]\npatches:\n- target: {kind: PatchTransformer}\n  patch: |-\n    - {op: replace, path: /path, value: '" + url + "'}\n" +
			"-- plugins/plugin.yaml --\napiVersion: builtin\nkind: PatchTransformer\nmetadata: {name: p}\npath: x\ntarget: {kind: ConfigMap}\n" + app[1:],
		"a plugin in another kustomization": "-- kustomization.yaml --\nresources: [app.yaml]\ntransformers: [plugins]\n" +
			"-- plugins/kustomization.yaml --\nresources: [plugin.yaml]\n-- plugins/plugin.yaml --\napiVersion: builtin\nkind: PatchTransformer\nmetadata: {name: p}\npath: '" + url + "'\ntarget: {kind: ConfigMap}\n" + app[1:],
		"helmCharts":                  "-- kustomization.yaml --\nhelmCharts: [{name: a, additionalValuesFiles: ['" + url + "']}]\n",
		"helmChartInflationGenerator": "-- kustomization.yaml --\nhelmChartInflationGenerator: [{chartName: a, values: '" + url + "', chartRepoUrl: '" + url + "'}]\n",
		"a file that has the name of an address": "-- kustomization.yaml --\nresources: ['" + url + "']\n-- http:/" + host + "/x.yaml --" +
			strings.TrimPrefix(app, "\n-- app.yaml --"),
		"a generator that has the name of an address":     "-- kustomization.yaml --\nconfigMapGenerator: [{name: a, files: ['" + url + "']}]\n-- http:/" + host + "/x.yaml --\na\n",
		"configurations that have the name of an address": "-- kustomization.yaml --\nconfigurations: ['" + url + "']\n-- http:/" + host + "/x.yaml --\n{}\n",
		"definitions that have the name of an address":    "-- kustomization.yaml --\ncrds: ['" + url + "']\n-- http:/" + host + "/x.yaml --\n{}\n",
		"a schema that has the name of an address":        "-- kustomization.yaml --\nopenapi: {path: '" + url + "'}\n-- http:/" + host + "/x.yaml --\n{}\n",
		"a component that has the name of an address":     "-- kustomization.yaml --\ncomponents: ['" + url + "']\n-- http:/" + host + "/x.yaml --\n{}\n",
		"a repository of git in two lines":                "-- kustomization.yaml --\nresources: [app.yaml]\ngenerators: [\"http://" + host + "/a/b.git\\n\"]\n" + app[1:],
		"a file that has the name of a repository":        "-- kustomization.yaml --\nresources: ['ssh://" + host + "/a/b']\n-- ssh:/" + host + "/a/b --\nno: object\n",
	}
	for name, archive := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := kustomize.Build(files(archive), ".", nil)
			if failed, ok := errors.AsType[*kustomize.Error](err); !ok {
				t.Errorf("Build: %v (%T), want an Error", err, failed)
			} else if text := failed.Err.Error(); !strings.Contains(text, "not in the bundle") && !strings.Contains(text, "not permitted") && !strings.Contains(text, "only list resources") {
				t.Errorf("kustomize refused it, and it was not refused before: %v", err)
			}
			select {
			case <-connected:
				t.Error("a connection was made")
			default:
			}
		})
	}
}

// What a plugin takes from its bundle still works, and so does data that looks like an address.
func TestPlugins(t *testing.T) {
	t.Parallel()
	const url = "https://example.com/docs"
	const inFile = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: app\ndata: {color: blue}\n"
	tests := map[string]struct{ files, want string }{
		"a patch":        {plugin("transformers", "PatchTransformer", "path: patch.yaml\ntarget: {kind: ConfigMap}") + "-- patch.yaml --\n" + inFile, "color: blue"},
		"a file":         {plugin("generators", "ConfigMapGenerator", "name: made\nfiles: [a.txt]") + "-- a.txt --\nhello\n", "hello"},
		"literals":       {plugin("generators", "ConfigMapGenerator", "name: made\nliterals: ['link="+url+"']"), "link: " + url},
		"an annotation":  {plugin("transformers", "AnnotationsTransformer", "annotations: {link: '"+url+"'}\nfieldSpecs: [{path: metadata/annotations, create: true}]"), "link: " + url},
		"a patch inline": {plugin("transformers", "PatchTransformer", "patch: '[{\"op\": \"add\", \"path\": \"/data/link\", \"value\": \""+url+"\"}]'\ntarget: {kind: ConfigMap}"), "link: " + url},
		"plugins of another kustomization": {"-- kustomization.yaml --\nresources: [app.yaml]\ntransformers: [plugins]\n-- plugins/kustomization.yaml --\nresources: [plugin.yaml]\n" +
			"-- plugins/plugin.yaml --\napiVersion: builtin\nkind: PrefixTransformer\nmetadata: {name: p}\nprefix: eu-\nfieldSpecs: [{path: metadata/name}]\n" + app[1:], "name: eu-app"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			built, err := kustomize.Build(files(tt.files), ".", nil)
			if err != nil || !strings.Contains(string(built), tt.want) {
				t.Errorf("Build: %s (%v), want %q", built, err, tt.want)
			}
		})
	}
}

// A field that a new version of kustomize adds could name something remote. So it has to be read
// here, and added to confine.go if it does.
func TestFieldsOfKustomizations(t *testing.T) {
	t.Parallel()
	var fields []string
	for field := range reflect.TypeFor[types.Kustomization]().Fields() {
		fields = append(fields, field.Name)
	}
	want := []string{
		"TypeMeta", "MetaData", "OpenAPI", "NamePrefix", "NameSuffix", "Namespace", "CommonLabels", "Labels", "CommonAnnotations",
		"PatchesStrategicMerge", "PatchesJson6902", "Patches", "Images", "ImageTags", "Replacements", "Replicas", "Vars", "SortOptions",
		"Resources", "Components", "Crds", "Bases", "ConfigMapGenerator", "SecretGenerator", "HelmGlobals", "HelmCharts",
		"HelmChartInflationGenerator", "GeneratorOptions", "Configurations", "Generators", "Transformers", "Validators", "BuildMetadata",
	}
	if diff := cmp.Diff(want, fields); diff != "" {
		t.Errorf("fields (-known +kustomize):\n%s", diff)
	}
}
