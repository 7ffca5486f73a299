apiVersion: v1
kind: ConfigMap
metadata: {name: {{ .Release.Name }}-3}
data: {key: {{ .Values.key }}, template: {{ .Template.Name }}}
