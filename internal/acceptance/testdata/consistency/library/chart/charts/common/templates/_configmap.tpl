{{- define "common.name" }}{{ .Release.Name | trunc 63 | trimSuffix "-" }}{{ end }}
{{- define "common.configmap" -}}
apiVersion: v1
kind: ConfigMap
metadata:
  name: {{ include "common.name" .context }}
data:
  {{- range $key, $value := .data }}
  {{ $key }}: {{ $value | quote }}
  {{- end }}
  {{- include .extra .context }}
{{- end }}
