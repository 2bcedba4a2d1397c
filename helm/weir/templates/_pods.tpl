{{/* What every pod has in common; called with (list $ user group). Passes Pod Security "restricted". */}}
{{- define "weir.podSecurity" -}}
{{- $ := index . 0 -}}
serviceAccountName: {{ include "weir.serviceAccount" $ }}
automountServiceAccountToken: false
enableServiceLinks: false
{{- with $.Values.image.pullSecrets }}
imagePullSecrets: {{ toYaml . | nindent 2 }}
{{- end }}
securityContext:
  runAsNonRoot: true
  runAsUser: {{ index . 1 }}
  runAsGroup: {{ index . 1 }}
  fsGroup: {{ index . 1 }}
  fsGroupChangePolicy: OnRootMismatch
  seccompProfile: { type: RuntimeDefault }
{{- end -}}

{{- define "weir.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities: { drop: [ALL] }
{{- end -}}

{{/* Where a pod of a component is put; called with (list $ "limiter" values). */}}
{{- define "weir.placement" -}}
{{- $ := index . 0 -}}
{{- $component := index . 1 -}}
{{- $values := index . 2 -}}
{{- with $values.nodeSelector }}
nodeSelector: {{ toYaml . | nindent 2 }}
{{- end }}
{{- with $values.tolerations }}
tolerations: {{ toYaml . | nindent 2 }}
{{- end }}
{{- with $values.affinity }}
affinity: {{ toYaml . | nindent 2 }}
{{- end }}
{{- with $values.topologySpreadConstraints }}
topologySpreadConstraints:
{{- range . }}
  - {{ toYaml . | nindent 4 }}
    {{- if not (hasKey . "labelSelector") }}
    labelSelector:
      matchLabels: {{ include "weir.selectorLabels" (list $ $component) | nindent 8 }}
    {{- end }}
{{- end }}
{{- end }}
{{- end -}}

{{/*
The probes of a service by its admin port; called with the port's name. A start takes about two seconds; the deadlines are for a busy
node, because a restart cures no lack of CPU.
*/}}
{{- define "weir.probes" -}}
startupProbe:
  httpGet: { path: /readyz, port: {{ . }} }
  periodSeconds: 1
  timeoutSeconds: 5
  failureThreshold: 120
readinessProbe:
  httpGet: { path: /readyz, port: {{ . }} }
  periodSeconds: 5
  timeoutSeconds: 5
livenessProbe:
  httpGet: { path: /livez, port: {{ . }} }
  periodSeconds: 10
  timeoutSeconds: 10
  failureThreshold: 6
{{- end -}}

{{/* Where traces go, for the environment of limiter and API; nothing where they go nowhere. */}}
{{- define "weir.tracing.env" -}}
{{- with .Values.tracing }}
{{- if .endpoint }}
- { name: OTEL_EXPORTER_OTLP_ENDPOINT, value: {{ .endpoint | quote }} }
- { name: OTEL_EXPORTER_OTLP_PROTOCOL, value: {{ .protocol }} }
- { name: OTEL_TRACES_SAMPLER, value: {{ .sampler }} }
{{- if hasSuffix "traceidratio" .sampler }}
- { name: OTEL_TRACES_SAMPLER_ARG, value: {{ .samplerRatio | quote }} }
{{- end }}
{{- end }}
{{- end }}
{{- end -}}

{{/* Waits until somebody listens; called with (list $ name host port). */}}
{{- define "weir.waitFor" -}}
{{- $ := index . 0 -}}
- name: wait-for-{{ index . 1 }}
  image: {{ include "weir.image" $ }}
  imagePullPolicy: {{ $.Values.image.pullPolicy }}
  securityContext: {{ include "weir.containerSecurity" $ | nindent 4 }}
  args:
    - -e
    - |
      const { connect } = require('node:net')
      const attempt = () => connect({{ index . 3 }}, '{{ index . 2 }}')
        .once('connect', () => process.exit(0))
        .once('error', ({ message }) => { console.log(message); setTimeout(attempt, 1000) })
      attempt()
  resources:
    requests: { cpu: 10m, memory: 48Mi }
    limits: { memory: 128Mi }
{{- end -}}
