{{- define "affinity-extender.image" -}}
{{- $tag := print ":" (.Values.image.tag | default .Chart.AppVersion) -}}
image: {{ .Values.image.repository }}{{ with .Values.image.digest }}@{{ . }}{{ else }}{{ $tag }}{{ end }}
{{- with .Values.image.pullPolicy }}
imagePullPolicy: {{ . }}
{{- end }}
{{- end }}

{{/* A token of the pod's account, for an hour: that of automountServiceAccountToken may be for a year. */}}
{{- define "affinity-extender.ownToken" -}}
projected:
  sources:
    - serviceAccountToken:
        path: token
        expirationSeconds: 3600
    - configMap:
        name: kube-root-ca.crt
        items:
          - key: ca.crt
            path: ca.crt
    - downwardAPI:
        items:
          - path: namespace
            fieldRef:
              fieldPath: metadata.namespace
{{- end }}

{{/* Beside the sidecar: asks for the tokens of the extender's account. */}}
{{- define "affinity-extender.tokenContainer" -}}
{{- $folder := "/var/run/affinity-extender-token" }}
name: affinity-extender-token
{{ include "affinity-extender.image" . }}
restartPolicy: Always
args:
  - token
  - --account={{ include "affinity-extender.name" . }}
  - --bound-to={{ include "affinity-extender.name" . }}-tokens
  - --folder={{ $folder }}
startupProbe:
  exec:
    command: [test, -s, {{ $folder }}/token]
  periodSeconds: 1
  timeoutSeconds: 5
  failureThreshold: 300
resources:
  requests:
    cpu: 5m
    memory: 64Mi
  limits:
    memory: 128Mi
securityContext:
  {{- include "affinity-extender.containerSecurity" . | nindent 2 }}
volumeMounts:
  - name: scheduler-token
    mountPath: /var/run/secrets/kubernetes.io/serviceaccount
    readOnly: true
  - name: extender-token
    mountPath: {{ $folder }}
{{- end }}

{{/* The extender's container: a sidecar, or in a pod of its own. */}}
{{- define "affinity-extender.container" -}}
{{- $onHost := eq .Values.form "k3s" -}}
name: affinity-extender
{{ include "affinity-extender.image" . }}
{{- if eq .Values.form "sidecar" }}
restartPolicy: Always
{{- end }}
args:
  - serve
  - --config=/etc/affinity-extender/config.yaml
  {{- if not $onHost }}
  # For the kubelet's probes, which come to the pod's address; the NetworkPolicy keeps others away.
  - {{ dig "serving" "opsBindAddress" "0.0.0.0" .Values.config | print "--ops-bind-address=" | quote }}
  {{- end }}
  {{- with .Values.extraArgs }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
ports:
  {{- if ne .Values.form "sidecar" }}
  - name: callbacks
    containerPort: 10280
  {{- end }}
  - name: ops
    containerPort: 10281
{{- if not $onHost }}
{{- /* Beside the scheduler, which places pods without it as well unless it binds them. */}}
{{- $waits := or (ne .Values.form "sidecar") (eq .Values.mode "replace") }}
startupProbe:
  httpGet:
    path: {{ ternary "/readyz" "/livez" $waits }}
    port: ops
  periodSeconds: 2
  timeoutSeconds: 2
  failureThreshold: 150
{{- end }}
livenessProbe:
  httpGet:
    {{- if $onHost }}
    host: 127.0.0.1
    {{- end }}
    path: /livez
    port: ops
  periodSeconds: 10
  timeoutSeconds: 5
  failureThreshold: 6
readinessProbe:
  httpGet:
    {{- if $onHost }}
    host: 127.0.0.1
    {{- end }}
    path: /readyz
    port: ops
  periodSeconds: 5
  timeoutSeconds: 5
  failureThreshold: 3
resources:
  {{- toYaml .Values.resources | nindent 2 }}
securityContext:
  {{- include "affinity-extender.containerSecurity" . | nindent 2 }}
volumeMounts:
  - name: extender-config
    mountPath: /etc/affinity-extender
    readOnly: true
  - name: extender-token
    mountPath: /var/run/secrets/kubernetes.io/serviceaccount
    readOnly: true
  {{- if eq .Values.form "service" }}
  - name: tls
    mountPath: /etc/affinity-extender-tls
    readOnly: true
  {{- end }}
{{- end }}
