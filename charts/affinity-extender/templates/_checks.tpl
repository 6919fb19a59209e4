{{/* Refuses values that contradict one another, by name: each would render, and then not work. */}}
{{- define "affinity-extender.checks" -}}
{{- $values := .Values }}
{{- $config := .Values.config }}
{{- $mode := .Values.mode }}
{{- $form := .Values.form }}
{{- $scheduler := include "affinity-extender.withScheduler" . }}

{{- if not (regexMatch "^[a-z][-a-z0-9]{0,36}$" .Release.Name) }}
{{- fail "the name of the release: names of Services begin with it, so a letter, and at most 36 letters, digits and hyphens" }}
{{- end }}
{{- if and .Values.annotationPolicy.enabled (not (include "affinity-extender.hasPolicies" .)) }}
{{- fail "annotationPolicy.enabled: needs Kubernetes 1.30; set it to false" }}
{{- end }}
{{- if and .Values.exclusive.enabled (semverCompare "<1.36.0-0" .Capabilities.KubeVersion.Version) }}
{{- fail "exclusive.enabled: needs Kubernetes 1.36" }}
{{- end }}
{{- if and .Values.groups.enabled (semverCompare "<1.36.0-0" .Capabilities.KubeVersion.Version) }}
{{- fail "groups.enabled: needs Kubernetes 1.36; without it, write schedulerName into the pods of groups" }}
{{- end }}
{{- if and .Values.groups.enabled (ne $mode "replace") }}
{{- fail "groups.enabled: only mode replace has a profile for pod groups" }}
{{- end }}
{{- if and .Values.scaleDown.enabled (not (include "affinity-extender.hasPolicies" .)) }}
{{- fail "scaleDown.enabled: needs Kubernetes 1.30, whose policy keeps the right to patch pods from being one to replace images" }}
{{- end }}
{{- if and .Values.namespaceOptIn.enabled (not $scheduler) }}
{{- fail "namespaceOptIn.enabled: pods would wait for a second scheduler, and this form has none" }}
{{- end }}
{{- if and (eq $form "kubeadm") $config }}
{{- fail "config: has no effect with form kubeadm; the file is on the hosts" }}
{{- end }}
{{- range list "extraArgs" "podAnnotations" "podLabels" "nodeSelector" "tolerations" "affinity" "topologySpreadConstraints" "priorityClassName" }}
{{- if and (eq $form "kubeadm") (index $values .) }}
{{- fail (printf "%s: has no effect with form kubeadm; the pods are files on the hosts" .) }}
{{- end }}
{{- end }}
{{- if and (eq $form "k3s") .Values.topologySpreadConstraints }}
{{- fail "topologySpreadConstraints: has no effect with form k3s, where each server has one pod" }}
{{- end }}
{{- if and (ne $form "service") (or .Values.service.annotations .Values.service.labels) }}
{{- fail (printf "service: form %s has no Service" $form) }}
{{- end }}
{{- if and .Values.scheduler.config (not $scheduler) }}
{{- fail (printf "scheduler.config: form %s has no second scheduler" $form) }}
{{- end }}

{{- /* What the chart itself decides, since rights, probes or the scheduler's file go by it. */}}
{{- $here := "is set by the chart, whose other objects go by it" }}
{{- $decided := dict
    "mode" "set mode instead, by which the scheduler's file goes as well"
    "annotations" "set annotations instead, by which rights and the scheduler's file go as well"
    "profiles" $here
    "crossNamespacePodAffinity.limitedByDefault" "set quota.limitedByDefault instead"
    "crossNamespacePodAffinity.admissionControlConfigFile" "there is no such file in the pod"
    "clientConnection.kubeconfig" "there is no such file in the pod, which has a service account"
    "clientConnection.context" "there is no kubeconfig in the pod, which has a service account"
    "clusterFiles" "there are no such files in the pod, and its cluster is the one it runs in"
    "requiredDuringExecution.leaseName" $here
    "requiredDuringExecution.leaseNamespace" $here
    "serving.port" $here
    "serving.opsPort" $here
    "serving.insecureServing" "the extender is called on loopback, or with certificates"
    "serving.tlsCertFile" $here
    "serving.tlsPrivateKeyFile" $here
    "serving.clientCAFile" $here
    "serving.allowedClientNames" $here }}
{{- if ne $form "service" }}
{{- $_ := set $decided "serving.bindAddress" "the scheduler calls it on loopback" }}
{{- end }}
{{- range $path, $why := $decided }}
{{- $at := splitList "." $path }}
{{- $block := ternary (dig (first $at) dict $config) $config (gt (len $at) 1) | default dict }}
{{- if hasKey $block (last $at) }}
{{- fail (printf "config.%s: %s" $path $why) }}
{{- end }}
{{- end }}
{{- if and (ne $form "k3s") (regexMatch "^(127[.]|::1$)" (dig "serving" "opsBindAddress" "" $config)) }}
{{- fail "config.serving.opsBindAddress: the kubelet's probes come to the pod's own address" }}
{{- end }}

{{- /* Features and their rights, their modes, and what the scheduler has to ask. */}}
{{- range $feature, $right := dict
    "requiredDuringExecution" "moving"
    "preferredDuringExecution" "moving"
    "scaleDown" "scaleDown" }}
{{- if and (dig $feature "enabled" false $config) (not (index $values $right).enabled) }}
{{- fail (printf "config.%s.enabled: needs the rights that %s.enabled grants" $feature $right) }}
{{- end }}
{{- end }}
{{- range list "preferredDuringExecution" "scaleDown" }}
{{- if and (eq $mode "shadow") (dig . "enabled" false $config) }}
{{- fail (printf "config.%s.enabled: mode shadow changes nothing; set mode" .) }}
{{- end }}
{{- end }}
{{- range list "preemption" "hints" }}
{{- if and (ne $mode "replace") (dig . "enabled" false $config) }}
{{- fail (printf "config.%s.enabled: only mode replace has it, and the rights for it" .) }}
{{- end }}
{{- end }}
{{- $quotas := "CrossNamespacePodAffinity" }}
{{- if and (has $quotas ($config.plugins | default list)) (not .Values.quota.enabled) }}
{{- fail (printf "config.plugins: %s needs quota.enabled, for its rights and the scheduler's file" $quotas) }}
{{- end }}
{{- if and .Values.quota.enabled $config.plugins (not (has $quotas ($config.plugins | default list))) }}
{{- fail (printf "config.plugins: quota.enabled is set, and %s is missing" $quotas) }}
{{- end }}
{{- if and .Values.quota.limitedByDefault (not .Values.quota.enabled) }}
{{- fail "quota.limitedByDefault: has no effect without quota.enabled" }}
{{- end }}

{{- /* The scheduler's file. */}}
{{- range $field, $why := dict
    "extenders" "the chart writes it: the verbs go by mode, quota and annotations"
    "leaderElection" "the chart writes it: the rights are for the Lease of its name" }}
{{- if hasKey $values.scheduler.config $field }}
{{- fail (printf "scheduler.config.%s: %s" $field $why) }}
{{- end }}
{{- end }}
{{- $name := include "affinity-extender.scheduler" . }}
{{- $profiles := .Values.scheduler.config.profiles }}
{{- if $profiles }}
{{- $names := list }}
{{- range $profiles }}{{ $names = append $names (.schedulerName | default "") }}{{ end }}
{{- if not (has $name $names) }}
{{- fail (printf "scheduler.config.profiles: none has schedulerName %s" $name) }}
{{- end }}
{{- $groups := include "affinity-extender.groups" . }}
{{- if and (eq $mode "replace") (not (has $groups $names)) }}
{{- fail (printf "scheduler.config.profiles: none has schedulerName %s, for pod groups" $groups) }}
{{- end }}
{{- if has "default-scheduler" $names }}
{{- fail "scheduler.config.profiles: default-scheduler is the cluster's own" }}
{{- end }}
{{- range $profile := $profiles }}
{{- range $point, $plugins := include "affinity-extender.off" $ | fromJson }}
{{- $at := index ($profile.plugins | default dict) $point | default dict }}
{{- $disabled := list }}
{{- range $at.disabled }}{{ $disabled = append $disabled .name }}{{ end }}
{{- range $plugin := $plugins }}
{{- if and (eq $profile.schedulerName $name) (not (has $plugin $disabled)) (not (has "*" $disabled)) }}
{{- fail (printf "scheduler.config.profiles: %s of %s has to disable %s, which counts in the extender" $point $name $plugin) }}
{{- end }}
{{- end }}
{{- end }}
{{- end }}
{{- end }}
{{- $tag := include "affinity-extender.schedulerTag" . }}
{{- $release := trimPrefix "v" $tag | regexFind "^[0-9]+[.][0-9]+" }}
{{- if and $scheduler $config.schedulerVersion $release (ne $config.schedulerVersion $release) }}
{{- fail (printf "config.schedulerVersion: %s, and the scheduler's image is %s (scheduler.image.tag)" $config.schedulerVersion $tag) }}
{{- end }}
{{- end }}
