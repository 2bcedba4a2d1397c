{{- define "weir.redis.config" -}}
{{- $redis := .Values.redis.embedded -}}
{{- $settings := dict
  "port" "6379"
  "dir" "/data"
  "cluster-enabled" "yes"
  "cluster-node-timeout" ($redis.nodeTimeoutMs | toString)
  "cluster-require-full-coverage" "no"
  "cluster-replica-validity-factor" "0"
  "appendonly" (ternary "yes" "no" $redis.persistence.enabled)
  "appendfsync" "everysec"
  "save" "\"\""
  "maxmemory" $redis.maxMemory
  "maxmemory-policy" "volatile-ttl"
  "tcp-keepalive" "30"
  "repl-diskless-sync-delay" "0"
-}}
{{- range $name, $value := merge (deepCopy $redis.config) $settings }}
{{ $name }} {{ $value }}
{{- end }}
{{- end -}}
