package templates_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/target"
)

// secret is a Secret with one value.
func secret(name, value string) string {
	return "apiVersion: v1\nkind: Secret\nmetadata:\n  name: " + name + "\nstringData:\n  password: " + value + "\n"
}

const allVary = "all"

// varyingTests are charts with a fixed ConfigMap and other objects. want are the names of the
// objects that vary, or allVary if the names themselves can vary.
var varyingTests = map[string]struct { //nolint:gochecknoglobals // a table of two tests
	files  map[string]string
	values map[string]any
	want   []string
	// byChance marks a row in which results of functions that no seed has lead to something else. An
	// apply stops before it writes that.
	byChance bool
}{
	"keys, sorted":                {files: map[string]string{"a": configMap("a", `{{ keys .Values.m | sortAlpha | join "," }}`)}},
	"keys, sorted later":          {files: map[string]string{"a": configMap("a", `{{ $k := keys .Values.m }}{{ $k = uniq $k }}{{ sortAlpha $k | join "," }}`)}},
	"keys, counted":               {files: map[string]string{"a": configMap("a", `{{ $k := keys .Values.m }}{{ if gt (len $k) 2 }}x{{ else }}y{{ end }}`)}},
	"keys, in a condition":        {files: map[string]string{"a": configMap("a", `{{ $k := keys .Values.m }}{{ if $k }}x{{ end }}`)}},
	"keys, searched":              {files: map[string]string{"a": configMap("a", `{{ $k := keys .Values.m }}{{ if has "b" $k }}x{{ end }}`)}},
	"keys, joined":                {files: map[string]string{"a": configMap("a", `{{ keys .Values.m | join "," }}`)}, want: []string{"a"}},
	"keys, first one":             {files: map[string]string{"a": configMap("a", `{{ keys .Values.m | first }}`)}, want: []string{"a"}},
	"keys, in a loop of objects":  {files: map[string]string{"a": "{{ range $k := keys .Values.m }}\n---\n" + configMap("{{ $k }}", "x") + "\n{{ end }}"}},
	"keys, in a loop into a map":  {files: map[string]string{"a": configMap("a", `{{ $o := dict }}{{ range $k := keys .Values.m }}{{ $_ := set $o $k (get $.Values.m $k) }}{{ end }}{{ toJson $o | quote }}`)}},
	"keys, last one kept":         {files: map[string]string{"a": configMap("a", `{{ $o := dict }}{{ range $k := keys .Values.m }}{{ $_ := set $o "last" $k }}{{ end }}{{ toJson $o | quote }}`)}, want: []string{"a"}},
	"keys, compared":              {files: map[string]string{"a": configMap("a", `{{ $n := 0 }}{{ range $k := keys .Values.m }}{{ if eq $k "zzz" }}{{ $n = 1 }}{{ end }}{{ end }}{{ $n }}`)}, want: []string{allVary}},
	"values, summed":              {files: map[string]string{"a": configMap("a", `{{ values .Values.m | join "+" }}`)}, want: []string{"a"}},
	"values, sorted":              {files: map[string]string{"a": configMap("a", `{{ $v := values .Values.m }}{{ sortAlpha $v | join "+" }}`)}},
	"default, given":              {files: map[string]string{"s": secret("s", `{{ default (randAlphaNum 8) .Values.password | b64enc }}`)}, values: map[string]any{"password": "x"}},
	"default, not given":          {files: map[string]string{"s": secret("s", `{{ default (randAlphaNum 8) .Values.password | b64enc }}`)}, want: []string{"s"}},
	"or, given":                   {files: map[string]string{"s": secret("s", `{{ or .Values.password (randAlphaNum 8) | b64enc }}`)}, values: map[string]any{"password": "x"}},
	"or, not given":               {files: map[string]string{"s": secret("s", `{{ or .Values.password (randAlphaNum 8) | b64enc }}`)}, want: []string{"s"}},
	"and":                         {files: map[string]string{"s": secret("s", `{{ and (randAlphaNum 8) "x" }}`)}},
	"ternary, given":              {files: map[string]string{"s": secret("s", `{{ ternary .Values.password (randAlphaNum 8) (hasKey .Values "password") }}`)}, values: map[string]any{"password": "x"}},
	"random name":                 {files: map[string]string{"a": configMap("a-{{ randAlpha 5 | lower }}", "x")}, want: []string{allVary}},
	"random namespace":            {files: map[string]string{"a": strings.Replace(configMap("a", "x"), "name: a", "name: a\n  namespace: n{{ randInt 0 2 }}", 1)}, want: []string{allVary}},
	"random, equal by chance":     {files: map[string]string{"a": configMap("a", `{{ if eq (randInt 0 1000000000) 7 }}x{{ else }}z{{ end }}`)}, byChance: true},
	"random, compared before":     {files: map[string]string{"a": configMap("a", `{{ $is := eq (randInt 0 1000000000) 7 }}x{{ $is }}`)}, byChance: true},
	"random, of a prefix":         {files: map[string]string{"a": configMap("a", `{{ $r := randAlpha 20 }}{{ hasPrefix "abc" $r | quote }}`)}, byChance: true},
	"random, matched":             {files: map[string]string{"a": configMap("a", `{{ regexMatch "^abcdef" (randAlpha 20) | quote }}`)}, byChance: true},
	"random, its length":          {files: map[string]string{"a": configMap("a", `{{ randAlpha 20 | len | quote }}`)}},
	"random, multiplied by zero":  {files: map[string]string{"a": configMap("a", `{{ mul 0 (randInt 0 9) | quote }}`)}},
	"random, one of its parts":    {files: map[string]string{"a": configMap("a", `{{ (split "z" (randAlpha 20))._0 | len | quote }}`)}, want: []string{"a"}},
	"random, through YAML":        {files: map[string]string{"a": configMap("a", `{{ (printf "a: %s\nb: 1" (randAlpha 20) | fromYaml).b | quote }}`)}},
	"random, two in one":          {files: map[string]string{"a": configMap("a", `{{ sortAlpha (list (randInt 0 2 | toString) (randInt 0 2 | toString)) | join "" | quote }}`)}, want: []string{"a"}},
	"random, a missing field":     {files: map[string]string{"a": configMap("a", `{{ $d := dict (randAlpha 3) "1" }}{{ $d.abc }}x`)}, byChance: true},
	"random, a missing key":       {files: map[string]string{"a": configMap("a", `{{ $d := dict (randAlpha 3) "1" }}{{ hasKey $d "abc" | quote }}`)}, byChance: true},
	"random, beside a fixed one":  {files: map[string]string{"a": configMap("a", `{{ $d := dict "r" (randAlpha 3) "f" "v" }}{{ $d.f }}{{ index $d "f" }}{{ get $d "f" }}`), "s": secret("s", `{{ randAlpha 3 }}`)}, want: []string{"s"}},
	"random, a condition of it":   {files: map[string]string{"s": secret("s", `{{ $p := randAlpha 9 }}{{ if $p }}{{ $p | b64enc }}{{ end }}`)}, want: []string{"s"}},
	"random, decides a document":  {files: map[string]string{"a": "{{ $p := randAlpha 9 }}{{ if $p }}\n" + configMap("a", "{{ $p }}") + "{{ end }}"}, want: []string{"a"}},
	"random, decides a name":      {files: map[string]string{"a": "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  {{ if eq \"qqqqqqqqq\" (randAlpha 9) }}name: a{{ else }}name: b{{ end }}\n"}, byChance: true},
	"random, set in a condition":  {files: map[string]string{"a": configMap("a", `{{ $d := dict }}{{ if randAlpha 9 }}{{ $_ := set $d "x" "1" }}{{ end }}{{ toJson $d | quote }}`)}},
	"random, jumps":               {files: map[string]string{"a": configMap("a", `{{ range list 1 2 }}{{ if randAlpha 9 }}{{ break }}{{ end }}{{ end }}x`)}},
	"random, not included":        {files: map[string]string{"a": configMap("a", `{{ $x := randAlpha 9 }}x`)}},
	"random, in a test hook":      {files: map[string]string{"h": strings.Replace(configMap("h-{{ randAlpha 5 | lower }}", "x"), "metadata:", "metadata:\n  annotations: {helm.sh/hook: test}", 1)}},
	"random, decides on a hook":   {files: map[string]string{"h": strings.Replace(configMap("h", "x"), "metadata:", "metadata:\n  annotations: {helm.sh/hook: '{{ index (list `test` `x` `y`) (randInt 0 3) }}'}", 1)}, want: []string{allVary}},
	"random, in the notes":        {files: map[string]string{"NOTES.txt": "{{ randAlpha 9 }}{{ if eq (randInt 0 9) 3 }}x{{ end }}"}},
	"random, notes and a Secret":  {files: map[string]string{"NOTES.txt": "{{ if eq (randInt 0 9) 3 }}x{{ end }}", "s": secret("s", `{{ randAlpha 3 }}`)}, want: []string{"s"}},
	"random, text of tpl":         {files: map[string]string{"a": configMap("a", `{{ tpl (printf "x%s" (randAlpha 3)) . }}`)}, want: []string{"a"}},
	"random, in a text of tpl":    {files: map[string]string{"a": configMap("a", `{{ tpl .Values.t . }}`)}, values: map[string]any{"t": "{{ randAlpha 3 }}"}, want: []string{"a"}},
	"random, stored in values":    {files: map[string]string{"z": configMap("a", `{{ $_ := set .Values "p" (randAlpha 9) }}x`), "b": configMap("b", "{{ .Values.p }}"), "s": secret("s", "{{ .Values.p }}")}, want: []string{"b", "s"}},
	"now in an annotation":        {files: map[string]string{"a": strings.Replace(configMap("a", "x"), "metadata:", "metadata:\n  annotations: {at: '{{ now | date \"2006\" }}'}", 1)}, want: []string{"a"}},
	"now as seconds":              {files: map[string]string{"a": configMap("a", `{{ now | unixEpoch | quote }}`)}, want: []string{"a"}},
	"now compared":                {files: map[string]string{"a": configMap("a", `{{ if gt (now | unixEpoch | int64) 9 }}x{{ end }}`)}},
	"certificate of a CA":         {files: map[string]string{"s": secret("s", `{{ $ca := genCA "x" 1 }}{{ $c := genSignedCert "x" nil nil 1 $ca }}{{ $c.Cert | b64enc }}`), "w": configMap("w", `{{ (genCA "x" 1).Cert | b64enc }}`)}, want: []string{"s", "w"}},
	"path separator":              {files: map[string]string{"a": configMap("a", `{{ osBase "a" }}`)}, want: []string{allVary}},
	"lookup":                      {files: map[string]string{"a": configMap("a", `{{ lookup "v1" "Secret" "n" "s" | len | quote }}`)}, want: []string{"a"}},
	"lookup of a password":        {files: map[string]string{"s": secret("s", `{{ include "p" . }}`), "_h.tpl": lookupPassword}, want: []string{"s"}},
	"lookup, in place":            {files: map[string]string{"s": "apiVersion: v1\nkind: Secret\nmetadata:\n  name: s\ndata:\n  {{- $s := lookup \"v1\" \"Secret\" \"n\" \"s\" }}\n  {{- if $s }}\n  password: {{ $s.data.password }}\n  {{- else }}\n  password: {{ randAlphaNum 8 | b64enc }}\n  {{- end }}\n"}, want: []string{"s"}},
	"lookup, into a variable":     {files: map[string]string{"s": "{{ $p := randAlphaNum 8 | b64enc }}{{ $s := lookup \"v1\" \"Secret\" \"n\" \"s\" }}{{ if $s }}{{ $p = index $s.data \"password\" }}{{ end }}\n" + secret("s", "{{ $p }}")}, want: []string{"s"}},
	"lookup of what nobody knows": {files: map[string]string{"s": secret("s", `{{ (lookup "v1" "Secret" "n" "s").unknown }}x`), "t": secret("t", `{{ index (lookup "v1" "Secret" "n" "s") (printf "un%s" "known") }}x`)}, byChance: true},
	"lookup decides a document":   {files: map[string]string{"s": "{{ if not (lookup \"v1\" \"Secret\" \"n\" \"s\") }}\n" + secret("s", "x") + "{{ end }}"}, want: []string{allVary}},
	"lookup decides a condition":  {files: map[string]string{"s": secret("s", `{{ if lookup "v1" "Secret" "n" "s" }}a{{ else }}a{{ end }}`)}},
	"lookup of all":               {files: map[string]string{"a": configMap("a", `{{ range (lookup "v1" "Secret" "n" "").items }}{{ .metadata.name }}{{ end }}`)}, want: []string{"a"}},
	"lookup around a comment":     {files: map[string]string{"a": "{{ if gt (len (lookup \"v1\" \"Secret\" \"n\" \"s\")) 0 }}\n# It is there.\n{{ end }}" + configMap("a", "x")}},
	"lookup of a ConfigMap":       {files: map[string]string{"a": configMap("a", `{{ if (lookup "v1" "ConfigMap" "n" "s").data }}a{{ else }}a{{ end }}`)}, want: []string{allVary}},
	"lookup of replicas":          {files: map[string]string{"a": configMap("a", `{{ dig "spec" "replicas" 2 (lookup "apps/v1" "Deployment" "n" "s") | quote }}`)}, want: []string{allVary}},
	"lookup of a live workload":   {files: map[string]string{"a": "{{ $existing := lookup \"apps/v1\" \"StatefulSet\" \"n\" \"s\" }}" + configMap("a", `"{{ if $existing }}{{ range $existing.spec.volumeClaimTemplates }}{{ .metadata.name }}{{ end }}{{ end }}"`)}, want: []string{allVary}},
	"lookup or failure":           {files: map[string]string{"s": "{{ if and .Release.IsUpgrade (not (lookup \"v1\" \"Secret\" \"n\" \"s\")) }}{{ fail \"PASSWORDS ERROR\" }}{{ end }}" + secret("s", `{{ (lookup "v1" "Secret" "n" "s").data | default (dict "password" (randAlpha 9)) | dig "password" "x" }}`)}, want: []string{"s"}},
	"random, never empty":         {files: map[string]string{"s": "{{ $p := randAlpha 9 }}" + secret("s", "{{ $p }}"), "a": `{{ if ne "" (randAlpha 9) }}` + configMap("a", "x") + "{{ end }}"}, want: []string{"s"}},
	"upgrade or a value":          {files: map[string]string{"a": `{{ if or .Release.IsUpgrade .Values.m }}` + configMap("a", "x") + "{{ end }}", "s": secret("s", "{{ randAlpha 9 }}")}, want: []string{"s"}},
	"upgrade decides a document":  {files: map[string]string{"a": `{{ if .Release.IsUpgrade }}` + configMap("a", "x") + "{{ end }}"}, want: []string{allVary}},
	"keys filling a map":          {files: map[string]string{"a": configMap("a", `{{ $o := dict }}{{ range $i, $k := keys .Values.m }}{{ $_ := set $o $k (get $.Values.m $k | upper) }}{{ end }}{{ $o | toJson | sha256sum }}`)}},
	"set in the notes":            {files: map[string]string{"NOTES.txt": `{{ $_ := set .Values "p" (randAlpha 9) }}`, "s": secret("s", `{{ randAlpha 3 }}`)}, want: []string{"s"}},
	"revision":                    {files: map[string]string{"a": configMap("a", `{{ .Release.Revision | quote }}`)}, want: []string{"a"}},
	"revision compared":           {files: map[string]string{"a": configMap("a", `{{ if eq .Release.Revision 5 }}x{{ end }}`)}, byChance: true},
	"first revision":              {files: map[string]string{"a": configMap("a", `{{ if .Release.IsInstall }}x{{ else }}z{{ end }}`)}, want: []string{"a"}},
	"capabilities":                {files: map[string]string{"a": configMap("a", `{{ .Capabilities.KubeVersion.Minor | quote }}`), "s": secret("s", `{{ randAlpha 3 }}`)}, want: []string{allVary}},
}

// lookupPassword keeps a password that is on the cluster.
//
//nolint:gosec // no password
const lookupPassword = `{{ define "p" }}{{ $p := "" }}{{ $s := lookup "v1" "Secret" .Release.Namespace "s" }}
{{- if and $s (hasKey $s.data "password") }}{{ $p = $s.data.password }}{{ else if .Values.password }}{{ $p = .Values.password | b64enc }}{{ else }}{{ $p = randAlphaNum 8 | b64enc }}{{ end }}
{{- $p }}{{ end }}`

func varyingDeployment(files map[string]string, values map[string]any) target.Deployment {
	chart := map[string]string{"Chart.yaml": chartYAML, "templates/fixed.yaml": configMap("fixed", "{{ .Values.m.a | quote }}")}
	for name, content := range files {
		if !strings.Contains(name, ".") {
			name += ".yaml"
		}
		chart["templates/"+name] = content
	}
	all := map[string]any{"m": map[string]any{"a": "x1", "b": "x2", "c": "x3"}}
	maps.Copy(all, values)
	return deployment(chart, withValues(all))
}

func TestVarying(t *testing.T) {
	t.Parallel()
	for name, test := range varyingTests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rendering, err := newCharts().Render(t.Context(), varyingDeployment(test.files, test.values))
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for key := range rendering.Varying {
				got = append(got, key[strings.LastIndex(key, "/")+1:])
			}
			slices.Sort(got)
			if rendering.NamesVary {
				got = append(got, allVary)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("because of %q (-want +got):\n%s", rendering.Irreproducible, diff)
			}
			if (rendering.Irreproducible == "") != (len(got) == 0) {
				t.Errorf("%v vary because of %q", got, rendering.Irreproducible)
			}
		})
	}
}
