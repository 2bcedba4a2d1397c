{{/*
The number of pods of a component's Deployment; called with (list $ "limiter" values). With a HorizontalPodAutoscaler it is the
autoscaler's: then the live number is left as it is, because leaving the field out would set it to 1 at the moment of switching it on, and
at a rollback to a revision without it.
*/}}
{{- define "weir.replicas" -}}
{{- $ := index . 0 -}}
{{- $values := index . 2 -}}
{{- if not $values.autoscaling.enabled -}}
replicas: {{ $values.replicas }}
{{- else -}}
{{- $live := lookup "apps/v1" "Deployment" $.Release.Namespace (printf "%s-%s" (include "weir.fullname" $) (index . 1)) -}}
replicas: {{ max (dig "spec" "replicas" 0 $live) $values.autoscaling.minReplicas }}
{{- end -}}
{{- end -}}

{{- define "weir.autoscaler" -}}
{{- $ := index . 0 -}}
{{- $component := index . 1 -}}
{{- $values := (index . 2).autoscaling -}}
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata:
  name: {{ include "weir.fullname" $ }}-{{ $component }}
  labels: {{ include "weir.labels" (list $ $component) | nindent 4 }}
spec:
  scaleTargetRef:
    apiVersion: apps/v1
    kind: Deployment
    name: {{ include "weir.fullname" $ }}-{{ $component }}
  minReplicas: {{ $values.minReplicas }}
  maxReplicas: {{ $values.maxReplicas }}
  metrics:
    - type: ContainerResource
      containerResource:
        name: cpu
        container: {{ $component }}
        target: { type: Utilization, averageUtilization: {{ $values.targetCPUUtilizationPercentage }} }
    {{- with $values.metrics }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
{{- end -}}

{{- define "weir.disruptionBudget" -}}
{{- $ := index . 0 -}}
{{- $component := index . 1 -}}
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata:
  name: {{ include "weir.fullname" $ }}-{{ $component }}
  labels: {{ include "weir.labels" (list $ $component) | nindent 4 }}
spec:
  maxUnavailable: {{ index . 2 }}
  # A pod that does not run keeps no node from being drained.
  unhealthyPodEvictionPolicy: AlwaysAllow
  selector:
    matchLabels: {{ include "weir.selectorLabels" (list $ $component) | nindent 6 }}
{{- end -}}
