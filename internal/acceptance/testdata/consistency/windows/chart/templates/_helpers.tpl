{{- define "windows.labels" -}}
app: {{ .Release.Name }}
{{- end -}}
