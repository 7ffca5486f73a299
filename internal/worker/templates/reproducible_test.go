package templates_test

import (
	"maps"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/fleetyaml"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/target"
)

const (
	subYAML = "apiVersion: v2\nname: sub\nversion: 1.0.0\n"
	withSub = chartYAML + "dependencies:\n- name: sub\n  version: 1.0.0\n  condition: sub.enabled\n"
)

// nonDeterministicChart is a chart whose template puts something into a ConfigMap.
func nonDeterministicChart(template string, files map[string]string) map[string]string {
	chart := map[string]string{"Chart.yaml": chartYAML, "templates/a.yaml": configMap("a", "'x'") + "  t: |\n    " + template + "\n"}
	maps.Copy(chart, files)
	return chart
}

func withValues(values map[string]any) func(*target.Deployment) {
	return func(d *target.Deployment) { d.Options.Helm = &fleetyaml.Helm{Values: values} }
}

func TestIrreproducible(t *testing.T) {
	t.Parallel()
	two := map[string]any{"m": map[string]any{"a": "1", "b": "2"}}
	tests := map[string]struct {
		template string
		values   map[string]any
		files    map[string]string
		want     string // "" for a chart whose renderings are always the same
	}{
		"plain":                  {template: `{{ .Values.now }}{{ .Release.Name }}{{ "now" }}{{/* now */}}`, values: map[string]any{"now": "x"}},
		"clock":                  {template: `{{ now | quote }}`, want: "template templates/a.yaml:8 uses now"},
		"random":                 {template: `{{ randAlphaNum 5 }}`, want: "randAlphaNum"},
		"certificate":            {template: `{{ $ca := genCA "x" 1 }}{{ $ca.Cert | b64enc }}`, want: "genCA"},
		"cluster":                {template: `{{ lookup "v1" "Secret" "" "" | len }}`, want: "lookup"},
		"in parentheses":         {template: `{{ printf "%s" (now | date "2006") }}`, want: "now"},
		"as an argument":         {template: `{{ list now | first }}`, want: "now"},
		"time zone":              {template: `{{ toDate "2006-01-02" "2020-01-01" | unixEpoch }}`, want: "toDate"},
		"time zone of TOML":      {template: `{{ (fromToml "a = 2020-01-01T00:00:00").a }}`, want: "fromToml"},
		"path separator":         {template: `{{ osBase "a" }}`, want: "osBase"},
		"plain printf":           {template: `{{ printf "%s-%d%%p" "a" 1 }}`},
		"two functions":          {template: `{{ if false }}{{ now }}{{ end }}{{ uuidv4 }}`, want: "uses uuidv4"},
		"revision from the root": {template: `{{ $.Release.Revision }}`, want: "templates/a.yaml:8 uses .Revision"},
		"revision by index":      {template: `{{ index .Release "Revision" }}`, want: ".Revision"},
		"revision of a variable": {template: `{{ $r := .Release }}{{ $r.Revision }}`, want: ".Revision"},
		"revision of a dict":     {template: `{{ with dict "r" .Release }}{{ .r.Revision }}{{ end }}`, want: ".Revision"},
		"value called Revision":  {template: `{{ .Values.Revision }}{{ $.Values.Capabilities.drop }}`, values: map[string]any{"Revision": "x", "Capabilities": map[string]any{"drop": "ALL"}}},
		"first install":          {template: `{{ if .Release.IsInstall }}a{{ end }}`, want: ".IsInstall"},
		"first install, alike":   {template: `{{ if .Release.IsInstall }}a{{ else }}a{{ end }}`},
		"first install, random":  {template: `{{ if .Release.IsInstall }}{{ lookup "v1" "Secret" "a" "b" | len }}{{ else }}0{{ end }}`, want: "lookup"},
		"everything at once":     {template: `{{ toYaml .Release | sha256sum }}`, want: "the cluster or the revision"},

		"map order":                  {template: `{{ keys .Values.m | join "," }}`, values: two, want: "keys"},
		"map order of values":        {template: `{{ range values .Values.m }}{{ . }}{{ end }}`, values: two, want: "values"},
		"map of one":                 {template: `{{ keys .Values.m | join "," }}`, values: map[string]any{"m": map[string]any{"a": "1"}}},
		"map order put right":        {template: `{{ keys .Values.m | sortAlpha | join "," }}`, values: two},
		"map order put right around": {template: `{{ range (sortAlpha (keys .Values.m | uniq)) }}{{ . }}{{ end }}`, values: two},
		"map order of two":           {template: `{{ concat (keys .Values.m) (values .Values.m) | uniq | sortAlpha | join "," }}`, values: two},
		"map order put right late":   {template: `{{ keys .Values.m | join "," | list | sortAlpha }}`, values: two, want: "keys"},
		"map order not asked":        {template: `{{ if keys .Values.m }}{{ keys .Values.m | len }}{{ keys .Values.m | has "a" }}{{ end }}`, values: two},
		"map order kept":             {template: `{{ if $k := keys .Values.m }}{{ first $k }}{{ end }}`, values: two, want: "keys"},
		"map order of a needle":      {template: `{{ list (list "a" "b") (list "b" "a") | has (keys .Values.m) }}`, values: two},

		"in a branch not taken":         {template: `{{ if .Values.on }}{{ uuidv4 }}{{ end }}`},
		"in a branch taken":             {template: `{{ if .Values.on }}{{ uuidv4 }}{{ end }}`, values: map[string]any{"on": true}, want: "uuidv4"},
		"in what is not asked any more": {template: `{{ or "a" (now | toString) }}`},
		"in a partial not included":     {template: `x`, files: map[string]string{"templates/_h.tpl": `{{ define "h" }}{{ now }}{{ end }}`}},
		"in a partial":                  {template: `{{ include "h" . }}`, files: map[string]string{"templates/_h.tpl": "\n{{ define \"h\" }}\n{{ now }}{{ end }}"}, want: "template templates/_h.tpl:3 uses now"},
		"in a partial by template":      {template: `{{ template "h" . }}`, files: map[string]string{"templates/_h.tpl": `{{ define "h" }}{{ now }}{{ end }}`}, want: "_h.tpl:1 uses now"},
		"in a partial by computed name": {template: `{{ include (printf "%s" "h") . }}`, files: map[string]string{"templates/_h.tpl": `{{ define "h" }}{{ now }}{{ end }}{{ define "g" }}{{ uuidv4 }}{{ end }}`}, want: "now"},
		"in a file by its path":         {template: `{{ include (print $.Template.BasePath "/b.yaml") . | sha256sum }}`, files: map[string]string{"templates/b.yaml": configMap("b", "{{ randAlpha 3 }}")}, want: "b.yaml:6 uses randAlpha"},
		"in the notes":                  {template: `x`, files: map[string]string{"templates/NOTES.txt": `{{ now }}{{ .Release.Revision }}{{ .Capabilities.KubeVersion }}`}},
		"in notes that change values":   {template: `{{ .Values.sub.x }}`, files: map[string]string{"Chart.yaml": withSub, "charts/sub/Chart.yaml": subYAML, "charts/sub/templates/NOTES.txt": `{{ $_ := set .Values "x" (randAlpha 3) }}`}, values: map[string]any{"sub": map[string]any{"x": "1"}}, want: "NOTES.txt:1 uses randAlpha"},
		"in a subchart":                 {template: `x`, files: map[string]string{"charts/sub/Chart.yaml": subYAML, "charts/sub/templates/a.yaml": configMap("s", "{{ randAlpha 3 }}")}, want: "template charts/sub/templates/a.yaml:6 uses randAlpha"},
		"in a subchart not included":    {template: `x`, files: map[string]string{"charts/sub/Chart.yaml": subYAML, "charts/sub/templates/_h.tpl": `{{ define "h" }}{{ randAlpha 3 }}{{ end }}`}},
		"in a disabled subchart":        {template: `x`, files: map[string]string{"Chart.yaml": withSub, "charts/sub/Chart.yaml": subYAML, "charts/sub/templates/a.yaml": configMap("s", "{{ randAlpha 3 }}")}, values: map[string]any{"sub": map[string]any{"enabled": false}}},
		"in a library":                  {template: `{{ include "h" . }}`, files: map[string]string{"charts/sub/Chart.yaml": subYAML + "type: library\n", "charts/sub/templates/_h.tpl": `{{ define "h" }}{{ randAlpha 3 }}{{ end }}`}, want: "charts/sub/templates/_h.tpl:1 uses randAlpha"},

		"value not run":             {template: `{{ .Values.text | quote }}`, values: map[string]any{"text": "{{ now }}"}},
		"value run by tpl":          {template: `{{ tpl .Values.text . }}`, values: map[string]any{"text": "{{ now }}"}, want: "a text passed to tpl uses now"},
		"value run by tpl, fine":    {template: `{{ tpl .Values.text . }}`, values: map[string]any{"text": "{{ .Release.Name }}", "other": "{{ now }}"}},
		"value run by tpl in tpl":   {template: `{{ tpl .Values.text . }}`, values: map[string]any{"text": "{{ tpl .Values.other . }}", "other": "{{ now }}"}, want: "now"},
		"text made for tpl":         {template: `{{ tpl (printf "%s%s" "{{ no" "w }}") . }}`, want: "now"},
		"text hidden from the eye":  {template: `{{ tpl (.Values.text | b64dec) . }}`, values: map[string]any{"text": "e3sgbm93IH19"}, want: "now"},
		"define in tpl":             {template: `{{ tpl .Values.text . }}`, values: map[string]any{"text": `{{ define "x" }}{{ now }}{{ end }}{{ include "x" . }}`}, want: "now"},
		"file run by tpl":           {template: `{{ tpl (.Files.Get "f.txt") . }}`, files: map[string]string{"f.txt": "{{ uuidv4 }}"}, want: "uuidv4"},
		"subchart's default by tpl": {template: `x`, files: map[string]string{"charts/sub/Chart.yaml": subYAML, "charts/sub/values.yaml": "text: '{{ now }}'\n", "charts/sub/templates/a.yaml": configMap("s", "{{ tpl .Values.text . | quote }}")}, want: "now"},
		"alert rules":               {template: `{{ tpl "a" . }}{{ "{{" }} $labels.instance {{ "}}" }}`, files: map[string]string{"rules.txt": "{{ $labels.now }}"}},
		"files of a chart":          {template: `{{ range $path, $_ := .Files.Glob "conf/*" }}{{ $path }}{{ end }}{{ (.Files.Glob "conf/*").AsConfig | sha256sum }}{{ .Files.Lines "conf/a" | len }}`, files: map[string]string{"conf/a": "1\n2", "conf/b": "2"}},
		"functions of Helm":         {template: `{{ dict "a" 1 | toYaml | fromYaml | toToml | quote }}{{ toYamlPretty .Values }}{{ fromYamlArray "[1]" | toJson | fromJsonArray | len }}{{ (fromJson "{").Error }}{{ required "a" "b" }}`},

		"capabilities":               {template: `{{ .Capabilities.KubeVersion.Minor }}`, want: "template templates/a.yaml:8 uses .Capabilities"},
		"capabilities, alike":        {template: `{{ if .Capabilities.APIVersions.Has "seldom/v1" }}a{{ end }}`, want: ".Capabilities"},
		"capabilities by index":      {template: `{{ (index . "Capabilities").KubeVersion.Minor }}`, want: ".Capabilities"},
		"capabilities by loop":       {template: `{{ range $k, $v := . }}{{ if hasPrefix "Cap" $k }}{{ $v.KubeVersion.Minor | len }}{{ end }}{{ end }}`, want: "a template reads .Capabilities"},
		"capabilities of a copy":     {template: `{{ $c := deepCopy . }}{{ $c.Capabilities.KubeVersion.Minor | len }}`, want: ".Capabilities"},
		"capabilities of a variable": {template: `{{ $c := . }}{{ with $c }}{{ .Capabilities.APIVersions | len }}{{ end }}`, want: ".Capabilities"},
		"capabilities in a define":   {template: `{{ include "v" (dict "context" $) }}`, files: map[string]string{"templates/_v.tpl": `{{ define "v" }}{{ .context.Capabilities.KubeVersion.GitVersion }}{{ end }}`}, want: "_v.tpl:1 uses .Capabilities"},
		"capabilities not asked":     {template: `{{ if .Values.ingress }}{{ .Capabilities.KubeVersion.Minor }}{{ end }}`},
		"capabilities of Helm":       {template: `{{ .Capabilities.HelmVersion.Version }}`},
		"everything in one":          {template: `{{ toYaml . | sha256sum }}`, want: ".Capabilities"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rendering, err := newCharts().Render(t.Context(), deployment(nonDeterministicChart(test.template, test.files), withValues(test.values)))
			if err != nil {
				t.Fatal(err)
			}
			if (test.want == "") != (rendering.Irreproducible == "") || !strings.Contains(rendering.Irreproducible, test.want) {
				t.Errorf("got %q, want it to name %q", rendering.Irreproducible, test.want)
			}
		})
	}
}

// An address in memory is found because two renderings differ. By chance they have the same one: then the
// apply finds the difference, before it writes.
func TestAddressesVary(t *testing.T) {
	t.Parallel()
	const attempts = 5
	tests := map[string]struct {
		template string
		files    map[string]string
		want     string
	}{
		"of values":   {template: `{{ printf "%p" .Values }}`, want: "printf"},
		"in a struct": {template: `{{ .Chart.Maintainers }}`, files: map[string]string{"Chart.yaml": chartYAML + "maintainers: [{name: a}]\n"}, want: "the cluster or the revision"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got string
			for range attempts {
				rendering, err := newCharts().Render(t.Context(), deployment(nonDeterministicChart(test.template, test.files), withValues(nil)))
				if err != nil {
					t.Fatal(err)
				}
				if got = rendering.Irreproducible; got != "" {
					break
				}
			}
			if !strings.Contains(got, test.want) {
				t.Errorf("got %q, want it to name %q", got, test.want)
			}
		})
	}
}

// A chart that reads capabilities is known for a cluster whose capabilities are known.
func TestRenderWithCapabilities(t *testing.T) {
	t.Parallel()
	const template = `{{ .Capabilities.KubeVersion.Version }} {{ .Capabilities.KubeVersion.Minor }} {{ .Capabilities.APIVersions.Has "example.com/v1/Thing" }} {{ .Capabilities.APIVersions | join " " }}`
	render := func(t *testing.T, files map[string]string, has *target.Capabilities) (map[string]string, string) {
		t.Helper()
		rendering, err := newCharts().Render(t.Context(), deployment(files, func(d *target.Deployment) { d.Capabilities = has }))
		if err != nil {
			t.Fatal(err)
		}
		return rendering.Hashes(), rendering.Irreproducible
	}
	old := &target.Capabilities{Version: "v1.30.1", Major: "1", Minor: "30", APIs: []string{"v1", "v1/Pod"}}
	recent := &target.Capabilities{Version: "v1.30.1", Major: "1", Minor: "30", APIs: []string{"example.com/v1", "example.com/v1/Thing", "v1"}}
	first, reason := render(t, nonDeterministicChart(template, nil), old)
	if reason != "" {
		t.Errorf("not known although the capabilities are: %s", reason)
	}
	plain, _ := render(t, nonDeterministicChart(`v1.30.1 30 false v1 v1/Pod`, nil), nil)
	if diff := cmp.Diff(plain, first); diff != "" {
		t.Errorf("not rendered with what the cluster can do (-want +got):\n%s", diff)
	}
	if second, _ := render(t, nonDeterministicChart(template, nil), recent); cmp.Equal(first, second) {
		t.Error("two clusters that can do different things get the same objects")
	}
	for name, test := range map[string]struct {
		files map[string]string
		want  string
	}{
		"random as well":      {nonDeterministicChart(template+`{{ randAlpha 3 }}`, nil), "randAlpha"},
		"fails there":         {nonDeterministicChart(`{{ if not (.Capabilities.APIVersions.Has "x/v1") }}{{ fail "x is missing" }}{{ end }}`, nil), "x is missing"},
		"wants another":       {nonDeterministicChart(`a`, map[string]string{"Chart.yaml": chartYAML + "kubeVersion: '>=1.31.0'\n"}), ">=1.31.0"},
		"first install wants": {nonDeterministicChart(`{{ if .Release.IsInstall }}{{ .Capabilities.KubeVersion.Minor }}{{ end }}`, nil), ".IsInstall"},
	} {
		if _, reason := render(t, test.files, old); !strings.Contains(reason, test.want) {
			t.Errorf("%s: %q does not name %q", name, reason, test.want)
		}
	}
}

// A failure because of missing data that only the cluster has is not an error of the bundle. A
// failure on every cluster is.
func TestRenderFailsOnlyForSure(t *testing.T) {
	t.Parallel()
	tests := map[string]struct{ template, want string }{
		"missing API":    {`{{ if not (.Capabilities.APIVersions.Has "x/v1") }}{{ fail "x is missing" }}{{ end }}`, ".Capabilities"},
		"missing object": {`{{ if not (lookup "v1" "Secret" "a" "b") }}{{ fail "b is missing" }}{{ end }}`, "lookup"},
		"in the notes":   {`x`, ".Capabilities"},
		"upgrade only":   {`{{ if .Release.IsInstall }}{{ fail "cannot be installed" }}{{ end }}`, "cannot be installed"},
		"in any case":    {`{{ fail "wrong" }}{{ now }}`, ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			files := nonDeterministicChart(test.template, nil)
			if name == "in the notes" {
				files["templates/NOTES.txt"] = `{{ if not (.Capabilities.APIVersions.Has "x/v1") }}{{ fail "x is missing" }}{{ end }}`
			}
			rendering, err := newCharts().Render(t.Context(), deployment(files, nil))
			if (err != nil) != (test.want == "") || !strings.Contains(rendering.Irreproducible, test.want) {
				t.Fatalf("got %q, %v, want %q", rendering.Irreproducible, err, test.want)
			}
			if err == nil && (rendering.Chart != "web" || rendering.Version != "1.2.3") {
				t.Errorf("chart %q %q", rendering.Chart, rendering.Version)
			}
		})
	}
}

func TestDependsOnCluster(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		files  map[string]string
		values map[string]any
		want   bool
	}{
		"nothing":     {files: nonDeterministicChart(`x`, nil)},
		"template":    {files: nonDeterministicChart(`{{ .Capabilities.KubeVersion }}`, nil), want: true},
		"not reached": {files: nonDeterministicChart(`x`, map[string]string{"templates/_h.tpl": `{{ define "h" }}{{ .Capabilities }}{{ end }}`}), want: true},
		"subchart":    {files: nonDeterministicChart(`x`, map[string]string{"charts/sub/Chart.yaml": subYAML, "charts/sub/templates/a.yaml": `{{ .Capabilities }}`}), want: true},
		"value":       {files: nonDeterministicChart(`{{ tpl .Values.a.b .}}`, nil), values: map[string]any{"a": map[string]any{"b": "{{ .Capabilities }}"}}, want: true},
		"file":        {files: nonDeterministicChart(`{{ tpl (.Files.Get "f") . }}`, map[string]string{"f": "{{ .Capabilities }}"}), want: true},
		"kubeVersion": {files: nonDeterministicChart(`x`, map[string]string{"Chart.yaml": chartYAML + "kubeVersion: '>=1.20.0'\n"}), want: true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			depends, err := newCharts().DependsOnCluster(deployment(test.files, withValues(test.values)))
			if err != nil || depends != test.want {
				t.Errorf("got %t, %v, want %t", depends, err, test.want)
			}
		})
	}
}

// FuzzReproducible checks that a rendering that is called reproducible has the same result each
// time.
func FuzzReproducible(f *testing.F) {
	for _, seed := range []string{
		`{{ now }}`, `{{ keys .Values.m | sortAlpha }}`, `{{ keys .Values.m }}`, `{{ range values .Values.m }}{{ . }}{{ end }}`,
		`{{ include "h" . }}`, `{{ tpl .Values.t . }}`, `{{ if .Capabilities.APIVersions.Has "a/v1" }}a{{ end }}`, `{{ randInt 0 9 }}`,
		`{{ $x := .Release }}{{ $x.Revision }}`, `{{ toYaml . }}`, `{{ .Chart }}{{ .Files }}{{ .Template }}`, `{{ uuidv4 | len }}`,
		`{{ define "z" }}{{ now }}{{ end }}{{ block "y" . }}{{ shuffle "abc" }}{{ end }}`, `{{ keys .Values.m | uniq | join "" }}`,
		`{{ with $k := concat (keys .Values.m) }}{{ $k | sortAlpha }}{{ $k }}{{ end }}`, `{{ range $i, $k := keys .Values.m | sortAlpha }}{{ $k }}{{ else }}{{ now }}{{ end }}`,
	} {
		f.Add(seed)
	}
	charts := newCharts
	laborious := regexp.MustCompile(`[0-9]{4}|0x|e[0-9]|until|repeat|seq|bcrypt|htpasswd|gen|indent|include|tpl|template|derive|wrap|range|mul`)
	harmless := regexp.MustCompile(`range (\$[a-z], )?(\$[a-z] := )?(keys|values|\.Values|sortAlpha|\()`)
	f.Fuzz(func(t *testing.T, template string) {
		if len(template) > 1000 || laborious.MatchString(harmless.ReplaceAllString(template, "")) {
			t.Skip("takes long to render")
		}
		files := map[string]string{
			"Chart.yaml": chartYAML + "maintainers: [{name: a}]\n", "templates/_h.tpl": `{{ define "h" }}{{ .Values.m | toYaml }}{{ end }}`,
			"templates/a.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata:\n  t: {{ include \"fuzzed\" . | quote }}\n",
			"templates/_f.tpl": `{{ define "fuzzed" }}` + template + `{{ end }}`,
		}
		d := deployment(files, withValues(map[string]any{"t": "{{ .Values.m.a }}", "m": map[string]any{"a": "1", "b": "2", "c": "3", "d": "4"}}))
		first, err := charts().Render(t.Context(), d)
		if err != nil || first.Irreproducible != "" {
			return
		}
		for range 5 {
			again, err := charts().Render(t.Context(), d)
			if err != nil || again.Irreproducible != "" || !cmp.Equal(first.Hashes(), again.Hashes()) {
				t.Fatalf("%q is reproducible once, and then %v, %q", template, err, again.Irreproducible)
			}
			d.Capabilities = &target.Capabilities{Version: "v1.2.3", Major: "1", Minor: "2", APIs: []string{"a/v1"}}
		}
	})
}
