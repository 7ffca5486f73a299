package templates_test

import (
	"strings"
	"testing"
)

// The error for an object that cannot be decoded names the bundle and the file. It also names the
// line if the file is a plain manifest.
func TestValuesThatAreNoTexts(t *testing.T) {
	t.Parallel()
	const annotated = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n  annotations: {a: yes}\n"
	const environment = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec:\n  selector: {matchLabels: {app: web}}\n" +
		"  template:\n    metadata: {labels: {app: web}}\n    spec:\n      containers:\n      - name: web\n        image: web\n        env:\n        - {name: A, value: \"1\"}\n        - {name: B, value: 8080}\n"
	const test = "apiVersion: v1\nkind: Pod\nmetadata: {name: test, annotations: {helm.sh/hook: test}}\nspec: {containers: [{name: c, command: 1}]}\n"
	const number = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {a: 1}\n"
	tests := map[string]struct {
		files map[string]string
		want  string
	}{
		"an annotation of a plain manifest": {map[string]string{"sub/a.yaml": annotated}, "bundle b: sub/a.yaml: line 5: ConfigMap a: a of metadata.annotations is not text"},
		"data of a plain manifest":          {map[string]string{"a.yaml": number}, "bundle b: a.yaml: line 4: ConfigMap a: a of data is not text"},
		"an annotation in a chart":          {map[string]string{"Chart.yaml": chartYAML, "templates/a.yaml": annotated}, "bundle b: web/templates/a.yaml: ConfigMap a: a of metadata.annotations is not text"},
		"a number for a string":             {map[string]string{"a/web.yaml": configMap("a", "x") + "---\n" + environment}, "bundle b: a/web.yaml (document 2): line 21: Deployment web: spec.template.spec.containers.env.value is a number and must be a string"},
		"the same in a chart":               {map[string]string{"Chart.yaml": chartYAML, "templates/a.yaml": environment}, "bundle b: web/templates/a.yaml: Deployment web: spec.template.spec.containers.env.value is a number and must be a string"},
		"in a list":                         {map[string]string{"a.yaml": "apiVersion: v1\nkind: List\nitems:\n- apiVersion: v1\n  kind: Service\n  metadata: {name: s}\n  spec:\n    ports: {port: 80}\n"}, "bundle b: a.yaml: line 8: Service s: spec.ports is a map and must be a list"},
		"a boolean of YAML 1.1":             {map[string]string{"a.yaml": "apiVersion: v1\nkind: Service\nmetadata: {name: s}\nspec: {clusterIP: no}\n"}, "bundle b: a.yaml: line 4: Service s: spec.clusterIP is a boolean and must be a string"},
		"a fraction":                        {map[string]string{"a.yaml": "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec: {replicas: 1.5}\n"}, "bundle b: a.yaml: line 4: Deployment web: spec.replicas is a number and must be a whole number of 32 bits"},
		"a quantity":                        {map[string]string{"a.yaml": "apiVersion: v1\nkind: ResourceQuota\nmetadata: {name: q}\nspec: {hard: {pods: much}}\n"}, "bundle b: a.yaml: ResourceQuota q: quantities must match the regular expression"},
		"a hook":                            {map[string]string{"a.yaml": "apiVersion: v1\nkind: Pod\nmetadata: {name: p, annotations: {helm.sh/hook: pre-install}}\nspec: {containers: 1}\n"}, "bundle b: Pod p: spec.containers is a number and must be a list"},
		"a test":                            {map[string]string{"a.yaml": test}, ""},
		"another kind":                      {map[string]string{"a.yaml": "apiVersion: example.com/v1\nkind: Pod\nmetadata: {name: p}\nspec: {containers: 1}\n"}, ""},
		"a field that is new":               {map[string]string{"a.yaml": "apiVersion: v1\nkind: Service\nmetadata: {name: s}\nspec: {fromTheFuture: 1}\n"}, ""},
		"data in a chart":                   {map[string]string{"Chart.yaml": chartYAML, "templates/a.yaml": number}, "bundle b: web/templates/a.yaml: ConfigMap a: a of data is not text"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if _, err := newCharts().Render(t.Context(), deployment(test.files, nil)); (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
				t.Errorf("error = %v, want it to contain %q", err, test.want)
			}
		})
	}
}
