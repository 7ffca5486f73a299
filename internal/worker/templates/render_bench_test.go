package templates_test

import (
	"fmt"
	"testing"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/worker/templates"
)

func BenchmarkRender(b *testing.B) {
	helpers := `{{- define "x.name" -}}{{ .Chart.Name | trunc 63 | trimSuffix "-" }}{{- end }}
{{- define "x.labels" -}}
app.kubernetes.io/name: {{ include "x.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}
`
	files := map[string]string{"Chart.yaml": chartYAML, "templates/_helpers.tpl": helpers}
	for i := range 10 {
		files[fmt.Sprintf("templates/d%d.yaml", i)] = fmt.Sprintf(`apiVersion: apps/v1
kind: Deployment
metadata:
  name: {{ include "x.name" . }}-%d
  labels: {{- include "x.labels" . | nindent 4 }}
spec:
  replicas: {{ .Values.n | default 1 }}
  {{- with .Values.tol }}
  tolerations: {{- toYaml . | nindent 4 }}
  {{- end }}
  template:
    metadata:
      labels: {{- include "x.labels" . | nindent 8 }}
      annotations:
        sum: {{ tpl "{{ .Release.Name }}" . | sha256sum }}
    spec: {containers: [{name: c, image: "{{ .Values.image }}"}]}
`, i)
	}
	renderer := &templates.Renderer{}
	d := deployment(files, withValues(map[string]any{"image": "a"}))
	b.ReportAllocs()
	for b.Loop() {
		r, err := renderer.Plan(b.Context(), d)
		if err != nil || r.Irreproducible != "" {
			b.Fatal(err, r.Irreproducible)
		}
	}
}
