{{/* The labels of what belongs to the extender itself. */}}
{{- define "affinity-extender.labels" -}}
app.kubernetes.io/name: affinity-extender
app.kubernetes.io/part-of: affinity-extender
{{- end }}

{{/* The labels of its pods. */}}
{{- define "affinity-extender.podLabels" -}}
app.kubernetes.io/name: affinity-extender
app.kubernetes.io/component: extender
app.kubernetes.io/part-of: affinity-extender
{{- end }}

{{/* Who finds its pods. */}}
{{- define "affinity-extender.selector" -}}
app.kubernetes.io/name: affinity-extender
app.kubernetes.io/component: extender
{{- end }}

{{- define "affinity-extender.schedulerLabels" -}}
app.kubernetes.io/name: affinity-scheduler
app.kubernetes.io/component: scheduler
app.kubernetes.io/part-of: affinity-extender
{{- end }}

{{/* Whether there is a second scheduler. */}}
{{- define "affinity-extender.withScheduler" -}}
{{- if has .Values.form (list "sidecar" "service") }}true{{ end }}
{{- end }}

{{/* A ConfigMap's name ends with a hash of its content, so that a changed file rolls the pods. */}}
{{- define "affinity-extender.configName" -}}
affinity-extender-config-{{ include "affinity-extender.config" . | sha256sum | trunc 10 }}
{{- end }}
{{- define "affinity-extender.schedulerConfigName" -}}
affinity-scheduler-config-{{ include "affinity-extender.schedulerConfig" . | sha256sum | trunc 10 }}
{{- end }}

{{/* What every pod may do: little. */}}
{{- define "affinity-extender.podSecurity" -}}
runAsNonRoot: true
runAsUser: 65532
runAsGroup: 65532
seccompProfile:
  type: RuntimeDefault
{{- if eq .Values.form "service" }}
# Who may read the private key: see the volume.
fsGroup: 65532
{{- end }}
{{- end }}
{{- define "affinity-extender.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities:
  drop: [ALL]
{{- end }}

{{/* Preferred, not required: on a small cluster, two on one node are better than one. */}}
{{- define "affinity-extender.spread" -}}
- topologyKey: {{ .key }}
  maxSkew: 1
  whenUnsatisfiable: ScheduleAnyway
  labelSelector:
    matchLabels:
      {{- .labels | nindent 6 }}
{{- end }}

{{/* The release of the scheduler: the cluster's, without what a provider adds to it. */}}
{{- define "affinity-extender.schedulerTag" -}}
{{- $ofCluster := regexFind "^v[0-9]+[.][0-9]+[.][0-9]+" .Capabilities.KubeVersion.Version }}
{{- .Values.scheduler.image.tag | default $ofCluster }}
{{- end }}
