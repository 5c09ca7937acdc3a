{{- define "labels" -}}
app.kubernetes.io/name: search
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}
