{{/* The limiter's environment; called with (list $ address). */}}
{{- define "weir.limiter.env" -}}
{{- $ := index . 0 -}}
{{- $external := $.Values.redis.external -}}
- { name: LIMITER_ADDRESS, value: {{ index . 1 | quote }} }
- { name: LIMITER_ADMIN_ADDRESS, value: "0.0.0.0:9091" }
- { name: LIMITER_POLICIES, value: /etc/weir/policies }
{{- if $.Values.candidatePolicies }}
- { name: LIMITER_CANDIDATE_POLICIES, value: /etc/weir/candidate-policies }
{{- end }}
- { name: LIMITER_SHARDS, value: {{ $.Values.limiter.shards | quote }} }
- { name: LIMITER_STORE_DEADLINE_MS, value: {{ $.Values.limiter.storeDeadlineMs | quote }} }
- { name: LOG_LEVEL, value: {{ $.Values.limiter.logLevel }} }
{{- if $.Values.redis.embedded.enabled }}
- { name: LIMITER_STORE, value: "redis-cluster://weir@{{ include "weir.fullname" $ }}-redis:6379" }
- { name: LIMITER_STORE_PASSWORD_FILE, value: /etc/weir/redis/limiter-password }
{{- else }}
- { name: LIMITER_STORE, value: {{ $external.url | quote }} }
{{- if $external.existingSecret }}
- { name: LIMITER_STORE_PASSWORD_FILE, value: /etc/weir/redis/password }
{{- end }}
{{- if $external.sentinel.user }}
- { name: LIMITER_STORE_SENTINEL_USER, value: {{ $external.sentinel.user | quote }} }
{{- end }}
{{- if $external.sentinel.password }}
- { name: LIMITER_STORE_SENTINEL_PASSWORD_FILE, value: /etc/weir/redis/sentinel-password }
{{- end }}
{{- if $external.tls.existingSecret }}
- { name: LIMITER_STORE_TLS_CA, value: /etc/weir/redis-tls/ca.crt }
{{- if $external.tls.clientCertificate }}
- { name: LIMITER_STORE_TLS_CERT, value: /etc/weir/redis-tls/tls.crt }
- { name: LIMITER_STORE_TLS_KEY, value: /etc/weir/redis-tls/tls.key }
{{- end }}
{{- end }}
{{- end }}
{{- if $.Values.limiter.admin.existingSecret }}
- { name: LIMITER_ADMIN_TOKEN_FILE, value: /etc/weir/admin/token }
{{- end }}
{{- if $.Values.limiter.shardSecret.existingSecret }}
- { name: LIMITER_SHARD_SECRET_FILE, value: /etc/weir/shards/shard-secret }
{{- end }}
{{- with include "weir.tracing.env" $ }}
{{ . }}
{{- end }}
{{- with $.Values.limiter.extraEnv }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{- define "weir.limiter.mounts" -}}
- { name: policies, mountPath: /etc/weir/policies, readOnly: true }
{{- if .Values.candidatePolicies }}
- { name: candidate-policies, mountPath: /etc/weir/candidate-policies, readOnly: true }
{{- end }}
{{- if or .Values.redis.embedded.enabled .Values.redis.external.existingSecret }}
- { name: redis, mountPath: /etc/weir/redis, readOnly: true }
{{- end }}
{{- if .Values.redis.external.tls.existingSecret }}
- { name: redis-tls, mountPath: /etc/weir/redis-tls, readOnly: true }
{{- end }}
{{- if .Values.limiter.admin.existingSecret }}
- { name: admin, mountPath: /etc/weir/admin, readOnly: true }
{{- end }}
{{- if .Values.limiter.shardSecret.existingSecret }}
- { name: shards, mountPath: /etc/weir/shards, readOnly: true }
{{- end }}
{{- end -}}

{{/* Whole volumes and no subPath, so that an edit reaches the running limiter. */}}
{{- define "weir.limiter.volumes" -}}
- name: policies
  configMap: { name: {{ include "weir.policiesConfigMap" . }} }
{{- if .Values.candidatePolicies }}
- name: candidate-policies
  configMap: { name: {{ include "weir.fullname" . }}-candidate-policies }
{{- end }}
{{- if .Values.redis.embedded.enabled }}
- name: redis
  secret:
    secretName: {{ include "weir.redisSecret" . }}
    items: [{ key: limiter-password, path: limiter-password }]
{{- else if .Values.redis.external.existingSecret }}
- name: redis
  secret: { secretName: {{ .Values.redis.external.existingSecret }} }
{{- end }}
{{- with .Values.redis.external.tls.existingSecret }}
- name: redis-tls
  secret: { secretName: {{ . }} }
{{- end }}
{{- with .Values.limiter.admin.existingSecret }}
- name: admin
  secret: { secretName: {{ . }} }
{{- end }}
{{- with .Values.limiter.shardSecret.existingSecret }}
- name: shards
  secret: { secretName: {{ . }} }
{{- end }}
{{- end -}}

{{/* What must hold before a limiter starts: policies without a mistake, and somebody who answers as Redis. */}}
{{- define "weir.limiter.initContainers" -}}
- name: check-policies
  image: {{ include "weir.image" . }}
  imagePullPolicy: {{ .Values.image.pullPolicy }}
  args: [services/limiter/check-policies.ts, /etc/weir/policies]
  securityContext: {{ include "weir.containerSecurity" . | nindent 4 }}
  resources:
    requests: { cpu: 10m, memory: 64Mi }
    limits: { memory: 192Mi }
  volumeMounts: [{ name: policies, mountPath: /etc/weir/policies, readOnly: true }]
{{- if .Values.redis.embedded.enabled }}
{{ include "weir.waitFor" (list . "redis" (printf "%s-redis" (include "weir.fullname" .)) 6379) }}
{{- end }}
{{- end -}}
