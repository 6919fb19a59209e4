{{/* Every object's name begins with this, but in the release that is called as the chart: so several
     releases get along in one cluster, and in one namespace. */}}
{{- define "affinity-extender.prefix" -}}
{{- if ne .Release.Name .Chart.Name }}{{ .Release.Name }}-{{ end }}
{{- end }}
{{- define "affinity-extender.name" -}}
{{ include "affinity-extender.prefix" . }}affinity-extender
{{- end }}
{{/* The second scheduler: the name of its objects, and what pods write as schedulerName. */}}
{{- define "affinity-extender.scheduler" -}}
{{ include "affinity-extender.prefix" . }}affinity-scheduler
{{- end }}

{{/* The scheduler's profile for pod groups in mode replace: what their pods write as schedulerName. */}}
{{- define "affinity-extender.groups" -}}
{{ include "affinity-extender.prefix" . }}groups
{{- end }}

{{/* A file of Kustomize with the names of this release, but for those of annotations and labels. */}}
{{- define "affinity-extender.file" -}}
{{- $prefix := include "affinity-extender.prefix" .root }}
{{- $text := .root.Files.Get (print "manifests/" .file) }}
{{- /* Both names in one pass: the release may be called as one of them. */}}
{{- $text = regexReplaceAll "affinity-(extender|scheduler)" $text (print $prefix "affinity-${1}") }}
{{- $text | replace (print $prefix "affinity-extender.io") "affinity-extender.io" }}
{{- end }}

{{/* The labels of what belongs to the extender itself. */}}
{{- define "affinity-extender.labels" -}}
app.kubernetes.io/name: {{ include "affinity-extender.name" . }}
app.kubernetes.io/part-of: {{ include "affinity-extender.name" . }}
{{- end }}

{{/* The labels of its pods. */}}
{{- define "affinity-extender.podLabels" -}}
{{ include "affinity-extender.selector" . }}
app.kubernetes.io/part-of: {{ include "affinity-extender.name" . }}
{{- end }}

{{/* Who finds its pods. */}}
{{- define "affinity-extender.selector" -}}
app.kubernetes.io/name: {{ include "affinity-extender.name" . }}
app.kubernetes.io/component: extender
{{- end }}

{{- define "affinity-extender.schedulerLabels" -}}
app.kubernetes.io/name: {{ include "affinity-extender.scheduler" . }}
app.kubernetes.io/component: scheduler
app.kubernetes.io/part-of: {{ include "affinity-extender.name" . }}
{{- end }}

{{/* Whether the cluster has ValidatingAdmissionPolicies. */}}
{{- define "affinity-extender.hasPolicies" -}}
{{- if semverCompare ">=1.30.0-0" .Capabilities.KubeVersion.Version }}true{{ end }}
{{- end }}

{{/* Whether there is a second scheduler. */}}
{{- define "affinity-extender.withScheduler" -}}
{{- if has .Values.form (list "sidecar" "service") }}true{{ end }}
{{- end }}

{{/* A ConfigMap's name ends with a hash of its content, so that a changed file rolls the pods. */}}
{{- define "affinity-extender.configName" -}}
{{ include "affinity-extender.name" . }}-config-{{ include "affinity-extender.config" . | sha256sum | trunc 10 }}
{{- end }}
{{- define "affinity-extender.schedulerConfigName" -}}
{{ include "affinity-extender.scheduler" . }}-config-{{ include "affinity-extender.schedulerConfig" . | sha256sum | trunc 10 }}
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

{{/* What all pods have in common: `labels` of their own, `selector` of their workload, `spread` over these
     keys, and `onHost` on the servers of k3s. */}}
{{- define "affinity-extender.podMetadata" -}}
labels:
  {{- .labels | nindent 2 }}
  {{- with .root.Values.podLabels }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- with .root.Values.podAnnotations }}
annotations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}
{{- define "affinity-extender.placement" -}}
{{- $values := .root.Values }}
{{- $nodes := dict "kubernetes.io/os" "linux" }}
{{- $tolerations := list }}
{{- if .onHost }}
{{- $_ := set $nodes "node-role.kubernetes.io/control-plane" "true" }}
{{- range list "node-role.kubernetes.io/control-plane" "CriticalAddonsOnly" }}
{{- $tolerations = append $tolerations (dict "key" . "operator" "Exists") }}
{{- end }}
{{- end }}
{{- $spread := $values.topologySpreadConstraints }}
{{- if not (kindIs "slice" $spread) }}
{{- $spread = list }}
{{- range .spread }}
{{- /* Preferred, not required: on a small cluster, two on one node are better than one. */}}
{{- $spread = append $spread (dict "topologyKey" . "maxSkew" 1 "whenUnsatisfiable" "ScheduleAnyway") }}
{{- end }}
{{- end -}}
priorityClassName: {{ $values.priorityClassName | default (ternary "system-node-critical" "system-cluster-critical" .onHost) | quote }}
nodeSelector:
  {{- mergeOverwrite $nodes $values.nodeSelector | toYaml | nindent 2 }}
{{- with concat $tolerations $values.tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with $values.affinity }}
affinity:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- if $spread }}
topologySpreadConstraints:
  {{- $own := dict "labelSelector" (dict "matchLabels" (fromYaml .selector)) }}
  {{- range $spread }}
  - {{- merge (ternary dict (deepCopy $own) (hasKey . "labelSelector")) . | toYaml | nindent 4 }}
  {{- end }}
{{- end }}
{{- end }}

{{/* The release of the scheduler: the cluster's, without what a provider adds to it. */}}
{{- define "affinity-extender.schedulerTag" -}}
{{- $ofCluster := regexFind "^v[0-9]+[.][0-9]+[.][0-9]+" .Capabilities.KubeVersion.Version }}
{{- .Values.scheduler.image.tag | default $ofCluster }}
{{- end }}
{{/* Its minor version, where the extender has to be told: it takes 1.37 for granted. */}}
{{- define "affinity-extender.schedulerVersion" -}}
{{- $release := include "affinity-extender.schedulerTag" . | trimPrefix "v" | regexFind "^[0-9]+[.][0-9]+" }}
{{- if has $release (list "1.33" "1.34" "1.35" "1.36" "1.38") }}{{ $release }}{{ end }}
{{- end }}
