{{/* Names of the secrets with certificates for the way from the API to the limiter pods; empty without TLS. */}}
{{- define "weir.limiterTls" -}}
{{- if .Values.limiter.tls.issuerRef -}}
{{ include "weir.fullname" . }}-limiter-tls
{{- else -}}
{{ .Values.limiter.tls.existingSecret }}
{{- end -}}
{{- end -}}

{{- define "weir.callerTls" -}}
{{- if .Values.limiter.tls.issuerRef -}}
{{ include "weir.fullname" . }}-api-limiter-tls
{{- else if .Values.limiter.tls.existingSecret -}}
{{ .Values.api.limiter.tls.existingSecret }}
{{- end -}}
{{- end -}}

{{/* What a caller of the limiters needs to know of them; called with (list $ "API_LIMITER_TLS"). */}}
{{- define "weir.callerTls.env" -}}
{{- $ := index . 0 -}}
{{- $prefix := index . 1 -}}
- { name: {{ $prefix }}_CA, value: /etc/weir/limiter-tls/ca.crt }
{{- if $.Values.limiter.tls.clientCertificates }}
- { name: {{ $prefix }}_CERT, value: /etc/weir/limiter-tls/tls.crt }
- { name: {{ $prefix }}_KEY, value: /etc/weir/limiter-tls/tls.key }
{{- end }}
{{- end -}}
