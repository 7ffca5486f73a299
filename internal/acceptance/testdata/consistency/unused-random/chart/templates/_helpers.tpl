{{- define "unused.password" }}{{ randAlphaNum 12 }}{{ end }}
