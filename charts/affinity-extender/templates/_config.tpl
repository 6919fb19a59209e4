{{/* The extender's configuration. */}}
{{- define "affinity-extender.config" -}}
{{- if hasKey .Values.config "mode" }}
{{- fail "config.mode: set mode instead, by which the scheduler's file goes as well" }}
{{- end }}
{{- $config := dict
    "apiVersion" "affinity-extender.io/v1alpha1"
    "kind" "AffinityExtenderConfiguration"
    "mode" .Values.mode
    "interPodAffinity" (dict "hardPodAffinityWeight" 1)
    "logging" (dict "format" "json") }}
{{- if .Values.quota.enabled }}
{{- $_ := set $config "plugins" (list "InterPodAffinity" "CrossNamespacePodAffinity") }}
{{- $limited := dict "limitedByDefault" .Values.quota.limitedByDefault }}
{{- $_ := set $config "crossNamespacePodAffinity" $limited }}
{{- end }}
{{- if kindIs "map" .Values.annotations.namespaceSelector }}
{{- $_ := set $config "annotations" .Values.annotations }}
{{- end }}
{{- if eq .Values.form "service" }}
{{- $folder := "/etc/affinity-extender-tls" }}
{{- $_ := set $config "serving" (dict
    "bindAddress" "0.0.0.0"
    "tlsCertFile" (printf "%s/tls.crt" $folder)
    "tlsPrivateKeyFile" (printf "%s/tls.key" $folder)
    "clientCAFile" (printf "%s/ca.crt" $folder)
    "allowedClientNames" (list "affinity-scheduler")) }}
{{- end }}
{{- mergeOverwrite $config (deepCopy .Values.config) | toYaml }}
{{- end }}

{{/* The second scheduler's configuration: scheduler-config/ has the reasons. */}}
{{- define "affinity-extender.schedulerConfig" -}}
{{- $off := dict "disabled" (list (dict "name" "InterPodAffinity")) }}
{{- $profile := dict "schedulerName" "affinity-scheduler" }}
{{- $extender := dict
    "urlPrefix" "http://127.0.0.1:10280"
    "enableHTTPS" false
    "prioritizeVerb" "prioritize"
    "weight" 1
    "nodeCacheCapable" true
    "httpTimeout" "5s"
    "ignorable" (ne .Values.mode "replace") }}
{{- $judges := or .Values.quota.enabled (kindIs "map" .Values.annotations.namespaceSelector) }}
{{- if or (ne .Values.mode "assist") $judges }}
{{- $_ := set $extender "filterVerb" "filter" }}
{{- end }}
{{- if or (eq .Values.mode "replace") (and (eq .Values.mode "assist") $judges) }}
{{- $_ := set $extender "preemptVerb" "preempt" }}
{{- end }}
{{- if eq .Values.mode "assist" }}
{{- $_ := set $profile "plugins" (dict "preScore" $off "score" $off) }}
{{- else if eq .Values.mode "replace" }}
{{- $_ := set $profile "plugins" (dict "multiPoint" $off) }}
{{- $_ := set $extender "bindVerb" "bind" }}
{{- end }}
{{- if eq .Values.form "service" }}
{{- $folder := "/etc/affinity-scheduler-tls" }}
{{- $url := printf "https://affinity-extender.%s.svc:10280" .Release.Namespace }}
{{- $_ := set $extender "urlPrefix" $url }}
{{- $_ := set $extender "enableHTTPS" true }}
{{- $_ := set $extender "tlsConfig" (dict
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
      "resourceName" "affinity-scheduler"
      "resourceNamespace" .Release.Namespace)
    "profiles" (list $profile)
    "extenders" (list $extender) }}
{{- mergeOverwrite $config (deepCopy .Values.scheduler.config) | toYaml }}
{{- end }}
