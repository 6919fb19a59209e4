{{/* The extender's configuration. */}}
{{- define "affinity-extender.config" -}}
{{- $config := dict
    "apiVersion" "affinity-extender.io/v1"
    "kind" "AffinityExtenderConfiguration"
    "mode" .Values.mode
    "interPodAffinity" (dict "hardPodAffinityWeight" 1)
    "logging" (dict "format" "json") }}
{{- with include "affinity-extender.schedulerVersion" . }}
{{- $_ := set $config "schedulerVersion" . }}
{{- end }}
{{- if eq .Values.mode "replace" }}
{{- $groups := dict "schedulerName" (include "affinity-extender.groups" .) "mode" "bind" }}
{{- $_ := set $config "profiles" (list $groups) }}
{{- end }}
{{- if .Values.quota.enabled }}
{{- $_ := set $config "plugins" (list "InterPodAffinity" "CrossNamespacePodAffinity") }}
{{- $limited := dict "limitedByDefault" .Values.quota.limitedByDefault }}
{{- $_ := set $config "crossNamespacePodAffinity" $limited }}
{{- end }}
{{- if kindIs "map" .Values.annotations.namespaceSelector }}
{{- $_ := set $config "annotations" .Values.annotations }}
{{- end }}
{{- if include "affinity-extender.prefix" . }}
{{- $lease := dict "leaseName" (include "affinity-extender.name" .) }}
{{- $_ := set $config "requiredDuringExecution" $lease }}
{{- end }}
{{- if eq .Values.form "service" }}
{{- $folder := "/etc/affinity-extender-tls" }}
{{- $_ := set $config "serving" (dict
    "bindAddress" "0.0.0.0"
    "tlsCertFile" (printf "%s/tls.crt" $folder)
    "tlsPrivateKeyFile" (printf "%s/tls.key" $folder)
    "clientCAFile" (printf "%s/ca.crt" $folder)
    "allowedClientNames" (list (include "affinity-extender.scheduler" .))
    "shutdownDelaySeconds" 5) }}
{{- end }}
{{- mergeOverwrite $config (deepCopy .Values.config) | toYaml }}
{{- end }}

{{/* Whether the extender may refuse nodes beside a scheduler that keeps to hard rules itself. */}}
{{- define "affinity-extender.judges" -}}
{{- if or .Values.quota.enabled (kindIs "map" .Values.annotations.namespaceSelector) }}true{{ end }}
{{- end }}

{{/* Where the scheduler's own plugins have to be off, since the extender does the same: names by
     extension point. The preFilter of NodeAffinity stays, so that pods for few nodes do not try all. */}}
{{- define "affinity-extender.off" -}}
{{- $points := dict
    "InterPodAffinity" (dict "shadow" (list) "assist" (list "preScore" "score") "replace" (list "multiPoint"))
    "NodeAffinity" (dict "shadow" (list) "assist" (list "preScore" "score") "replace" (list "filter" "preScore" "score")) }}
{{- $off := dict }}
{{- range $plugin := .Values.config.plugins | default (list "InterPodAffinity") }}
{{- range $point := dig $plugin $.Values.mode (list) $points }}
{{- $_ := set $off $point (append (index $off $point | default list) $plugin) }}
{{- end }}
{{- end }}
{{- $off | toJson }}
{{- end }}

{{/* Whether pods may be placed while the extender is down: not by rules that only it knows. A quota
     says for itself what may exceed it then. */}}
{{- define "affinity-extender.ignorable" -}}
{{- $alone := or (eq .Values.mode "replace") (kindIs "map" .Values.annotations.namespaceSelector) }}
{{- if or (eq .Values.mode "shadow") (not $alone) }}true{{ end }}
{{- end }}

{{/* The second scheduler's configuration: scheduler-config/ has the reasons. */}}
{{- define "affinity-extender.schedulerConfig" -}}
{{- $name := include "affinity-extender.scheduler" . }}
{{- $profile := dict "schedulerName" $name }}
{{- range $point, $plugins := include "affinity-extender.off" . | fromJson }}
{{- $disabled := list }}
{{- range $plugins }}{{ $disabled = append $disabled (dict "name" .) }}{{ end }}
{{- $plugins := $profile.plugins | default dict }}
{{- $_ := set $plugins $point (dict "disabled" $disabled) }}
{{- $_ := set $profile "plugins" $plugins }}
{{- end }}
{{- $profiles := list $profile }}
{{- if eq .Values.mode "replace" }}
{{- $profiles = append $profiles (dict "schedulerName" (include "affinity-extender.groups" .)) }}
{{- $version := (include "affinity-extender.config" . | fromYaml).schedulerVersion | default "1.37" }}
{{- if semverCompare ">=1.38.0" (print $version ".0") }}
{{- $args := dict "minCandidateNodesPercentage" 100 }}
{{- $_ := set $profile "pluginConfig" (list (dict "name" "DefaultPreemption" "args" $args)) }}
{{- end }}
{{- end }}
{{- $extender := dict
    "urlPrefix" "http://127.0.0.1:10280"
    "enableHTTPS" false
    "prioritizeVerb" "prioritize"
    "weight" 1
    "nodeCacheCapable" true
    "httpTimeout" "5s"
    "ignorable" (include "affinity-extender.ignorable" . | eq "true") }}
{{- $judges := include "affinity-extender.judges" . }}
{{- if or (ne .Values.mode "assist") $judges }}
{{- $_ := set $extender "filterVerb" "filter" }}
{{- end }}
{{- if or (eq .Values.mode "replace") (and (eq .Values.mode "assist") $judges) }}
{{- $_ := set $extender "preemptVerb" "preempt" }}
{{- end }}
{{- if eq .Values.mode "replace" }}
{{- $_ := set $extender "bindVerb" "bind" }}
{{- end }}
{{- if eq .Values.form "service" }}
{{- $folder := "/etc/affinity-scheduler-tls" }}
{{- $service := include "affinity-extender.name" . }}
{{- $_ := set $extender "urlPrefix" (printf "https://%s:10280" $service) }}
{{- $_ := set $extender "enableHTTPS" true }}
{{- $_ := set $extender "tlsConfig" (dict
    "serverName" (printf "%s.%s.svc" $service .Release.Namespace)
    "caFile" (printf "%s/ca.crt" $folder)
    "certFile" (printf "%s/tls.crt" $folder)
    "keyFile" (printf "%s/tls.key" $folder)) }}
{{- end }}
{{- $calls := ternary (dict "qps" 50 "burst" 100) (dict "qps" 200 "burst" 400) (eq .Values.mode "shadow") }}
{{- $config := dict
    "apiVersion" "kubescheduler.config.k8s.io/v1"
    "kind" "KubeSchedulerConfiguration"
    "clientConnection" $calls
    "leaderElection" (dict
      "leaderElect" true
      "resourceName" $name
      "resourceNamespace" .Release.Namespace)
    "profiles" $profiles
    "extenders" (list $extender) }}
{{- mergeOverwrite $config (deepCopy .Values.scheduler.config) | toYaml }}
{{- end }}
