{{- define "weir.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 40 | trimSuffix "-" -}}
{{- else -}}
{{- $name := default .Chart.Name .Values.nameOverride -}}
{{- if contains $name .Release.Name -}}
{{- .Release.Name | trunc 40 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name $name | trunc 40 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{/* What selects the pods of one component; called with (list $ "limiter"). */}}
{{- define "weir.selectorLabels" -}}
{{- $ := index . 0 -}}
app.kubernetes.io/name: {{ default $.Chart.Name $.Values.nameOverride }}
app.kubernetes.io/instance: {{ $.Release.Name }}
app.kubernetes.io/component: {{ index . 1 }}
{{- end -}}

{{/* The labels of pods in a template: without those of the chart's version, which would restart every pod, the database's too. */}}
{{- define "weir.podLabels" -}}
{{ include "weir.selectorLabels" . }}
app.kubernetes.io/part-of: weir
{{- end -}}

{{- define "weir.labels" -}}
{{- $ := index . 0 -}}
{{ include "weir.selectorLabels" . }}
app.kubernetes.io/version: {{ $.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ $.Release.Service }}
app.kubernetes.io/part-of: weir
helm.sh/chart: {{ printf "%s-%s" $.Chart.Name $.Chart.Version | replace "+" "_" }}
{{- end -}}

{{/* By its digest if there is one: a tag beside it would be ignored, and might tell of another version. Called with an image and its tag. */}}
{{- define "weir.imageReference" -}}
{{- $image := index . 0 -}}
{{ $image.repository }}{{ if $image.digest }}@{{ $image.digest }}{{ else }}:{{ index . 1 }}{{ end }}
{{- end -}}

{{- define "weir.image" -}}
{{ include "weir.imageReference" (list .Values.image (default .Chart.AppVersion .Values.image.tag)) }}
{{- end -}}

{{- define "weir.serviceAccount" -}}
{{- if .Values.serviceAccount.create -}}
{{ default (include "weir.fullname" .) .Values.serviceAccount.name }}
{{- else -}}
{{ default "default" .Values.serviceAccount.name }}
{{- end -}}
{{- end -}}

{{- define "weir.policiesConfigMap" -}}
{{ default (printf "%s-policies" (include "weir.fullname" .)) .Values.existingPolicies }}
{{- end -}}

{{- define "weir.redisSecret" -}}
{{ default (printf "%s-redis" (include "weir.fullname" .)) .Values.redis.embedded.existingSecret }}
{{- end -}}

{{- define "weir.hasLimiterService" -}}
{{- if has .Values.limiter.mode (list "service" "both") }}true{{ end -}}
{{- end -}}

{{/* `helm test` counts in a domain that only policies of the chart's own have. */}}
{{- define "weir.hasTest" -}}
{{- if and .Values.tests.enabled (not .Values.existingPolicies) }}true{{ end -}}
{{- end -}}

{{- define "weir.hasSidecar" -}}
{{- if and .Values.api.enabled (has .Values.limiter.mode (list "sidecar" "both")) }}true{{ end -}}
{{- end -}}
