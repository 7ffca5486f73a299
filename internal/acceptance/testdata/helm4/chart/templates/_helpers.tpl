{{- define "markers" -}}
labels: { objectset.rio.cattle.io/hash: c0fae66aeeea5c9703d7410307d74609c272103d }
annotations: { objectset.rio.cattle.io/id: default-fleet-apps-web }
{{- end }}
