"""The fields of an AffinityExtenderConfiguration; each says its unit, reason and consequence.

In the file every name is camelCase (`hardPodAffinityWeight`); a name that is left out, or is null,
keeps the default written here.
"""

from __future__ import annotations

import enum
from pathlib import Path
from typing import Annotated, Final, Literal

from msgspec import Meta, Struct, field

from extender.config.node_affinity import NodeAffinityTerms

API_VERSION: Final = "affinity-extender.io/v1alpha1"
KIND: Final = "AffinityExtenderConfiguration"

FIRST_WITH_EMPTY_VICTIMS = 38
"""The minor version from which the scheduler takes candidates for preemption without victims."""

PORT_RANGE = Meta(ge=0, le=65535)


class Mode(enum.StrEnum):
    """Who decides about inter-pod affinity: kube-scheduler, both, or this program."""

    SHADOW = "shadow"
    ASSIST = "assist"
    REPLACE = "replace"


class Plugin(enum.StrEnum):
    """The rules that can be enforced here."""

    INTER_POD_AFFINITY = "InterPodAffinity"
    CROSS_NAMESPACE_POD_AFFINITY = "CrossNamespacePodAffinity"
    NODE_AFFINITY = "NodeAffinity"


class LogFormat(enum.StrEnum):
    """The shape of a log line."""

    TEXT = "text"
    JSON = "json"


class _Block(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, rename="camel"):
    """What all blocks share: frozen, keyword-only, camelCase in the file, nothing unknown."""


class InterPodAffinity(_Block, frozen=True, kw_only=True):
    """As in the scheduler's InterPodAffinityArgs. Use the same values in both."""

    hard_pod_affinity_weight: Annotated[int, Meta(ge=0, le=100)] = 1
    """Score that a placed pod's *required* affinity adds to the domains it is in; 0 turns that off.
    1 is the scheduler's own default, so replacing its scoring does not change the ranking."""

    ignore_preferred_terms_of_existing_pods: bool = False
    """True scores by the incoming pod's terms only: cheaper, but the preferred terms of placed pods
    no longer count."""

    weight: Annotated[int, Meta(ge=1, le=100)] = 2
    """Share of this plugin in the mean of all plugins; 2 is its weight in the scheduler's default
    profile. Without a second plugin that scores, it has no effect."""


class NodeAffinity(_Block, frozen=True, kw_only=True):
    """As in the scheduler's NodeAffinityArgs; used only with the plugin NodeAffinity enabled."""

    added_affinity: NodeAffinityTerms = NodeAffinityTerms()
    """A v1 NodeAffinity that every pod has to meet besides its own; `{}` adds nothing."""

    weight: Annotated[int, Meta(ge=1, le=100)] = 2
    """Share of this plugin in the mean of all plugins, as above."""


class CrossNamespacePodAffinity(_Block, frozen=True, kw_only=True):
    """The quota scope CrossNamespacePodAffinity, which the scheduler itself does not check."""

    limited_by_default: bool = False
    """True refuses a pod with cross-namespace terms unless a matching quota allows it. False
    allows it unless a quota refuses it. Used only with CrossNamespacePodAffinity in plugins."""

    admission_control_config_file: Path | None = None
    """The AdmissionConfiguration file that kube-apiserver has as --admission-control-config-file.
    If its ResourceQuota part limits the scope, limitedByDefault is true. Read once, at the
    start."""


class Filter(_Block, frozen=True, kw_only=True):
    """How refusals are reported to the scheduler."""

    resolvable: bool = False
    """True puts anti-affinity refusals into FailedNodes, for which the scheduler may preempt. False
    puts every refusal into FailedAndUnresolvableNodes: released schedulers (up to 1.37) can retry
    in a tight loop when an extender answers with FailedNodes."""


class Prioritize(_Block, frozen=True, kw_only=True):
    """How much the extender's scores count beside those of the scheduler's own plugins."""

    max_score: Annotated[int, Meta(ge=1, le=100)] = 20
    """Score of the best node. The scheduler multiplies an extender's scores by ten and by the
    weight in its file. With weight 1, 20 gives the range 0..200 that the plugin has in-tree. Other
    extenders use 10, which halves the influence of affinity."""


class Hints(_Block, frozen=True, kw_only=True):
    """Nominating nodes for pods that were refused on all nodes asked about; mode replace."""

    enabled: bool = True
    """False sets no hints: only the scheduler decides when to try other nodes. Hints need the right
    to patch pods/status."""

    per_second: Annotated[float, Meta(gt=0, le=1000)] = 20
    """Hints per second on average, and the largest burst. Each hint is a request to the API server
    and one more scheduling attempt."""

    max_outstanding: Annotated[int, Meta(ge=1, le=10_000)] = 100
    """Hints that may be open at a time, which means neither taken nor withdrawn. A nominated pod
    holds room on its node against pods of the same and of lower priority."""

    patience_seconds: Annotated[float, Meta(ge=0.5, le=300)] = 5
    """Seconds after which a hint is withdrawn if the scheduler did not take it."""


class RequiredDuringExecution(_Block, frozen=True, kw_only=True):
    """Evicting pods whose rules stopped holding after they were placed."""

    enabled: bool = False
    """True evicts; the default leaves running pods alone, as Kubernetes does."""

    dry_run: bool = True
    """True only counts and logs what would be evicted, so that a first try evicts no pod."""

    evictions_per_minute: Annotated[int, Meta(ge=1, le=6000)] = 10
    """Evictions per minute in the whole cluster; limits the damage of a wrong label."""


class FeatureGates(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, rename="pascal"):
    """Behaviour that Kubernetes has, or had, behind gates of these names. Set them as there.

    In current releases both are on and cannot be switched off.
    """

    match_label_keys_in_pod_affinity: bool = True
    """Merge matchLabelKeys and mismatchLabelKeys of a term in manifests, as the API server does
    when it creates a pod. False ignores them; what an API server has merged stays in any case."""

    pod_affinity_namespace_selector: bool = True
    """Read namespaceSelector of a term. False is as before 1.21, when there was no such field: a
    term without `namespaces` applies to its owner's namespace."""


class Serving(_Block, frozen=True, kw_only=True):
    """The two listening sockets: callbacks for the scheduler, operations for people and probes."""

    bind_address: str = "127.0.0.1"
    """IP address for callbacks. Any client that can reach it learns about the cluster's pods, and
    can bind them in mode replace. So the default is loopback, where the extender runs beside the
    scheduler. Any other address needs TLS and clientCAFile, or insecureServing."""

    insecure_serving: bool = False
    """True allows a bindAddress off loopback without client certificates: any client that reaches
    it is trusted. Use it only if something else, such as a service mesh, authenticates clients."""

    port: Annotated[int, PORT_RANGE] = 10280
    """TCP port for callbacks; 0 takes a free port, which is logged at the start."""

    ops_bind_address: str = "127.0.0.1"
    """IP address for /livez, /readyz, /metrics, /configz and the page. It does not follow
    bindAddress: the operations port is plain HTTP without authentication, and shows the cluster's
    topology. The kubelet probes the pod's own address, so a pod without hostNetwork needs 0.0.0.0
    or `::`."""

    ops_port: Annotated[int, PORT_RANGE] = 10281
    """TCP port for operations; 0 takes a free port."""

    tls_cert_file: Path | None = None
    """PEM file with the certificate chain for callbacks; read again when it changes. Together
    with tlsPrivateKeyFile it turns callbacks to HTTPS; unset serves plain HTTP."""

    tls_private_key_file: Path | None = None
    """PEM file with the private key of tlsCertFile."""

    client_ca_file: Path | None = field(default=None, name="clientCAFile")
    """PEM bundle of CAs; if it is set, only callers with a certificate of one of them are accepted.
    An extender call has no token, so over a network this is the only way to authenticate it."""

    allowed_client_names: tuple[Annotated[str, Meta(min_length=1)], ...] = ()
    """Common names or DNS names; a client's certificate must have one of them. Empty accepts every
    certificate of clientCAFile. A cluster's CA also signs for each kubelet: name the scheduler."""

    handshake_timeout_seconds: Annotated[float, Meta(gt=0, le=300)] = 10
    """Seconds that a client may take for the TLS handshake."""

    header_timeout_seconds: Annotated[float, Meta(gt=0, le=300)] = 10
    """Seconds from the first byte of a request to the end of its headers. The scheduler sends them
    at once; a client that sends them byte by byte only blocks a connection."""

    body_timeout_seconds: Annotated[float, Meta(gt=0, le=300)] = 15
    """Seconds that a request's body may take to arrive, and that the client may take to read the
    answer. The scheduler gives up long before, after its httpTimeout of 5 s."""

    idle_timeout_seconds: Annotated[float, Meta(ge=100, le=86_400)] = 180
    """Seconds without a request after which a connection is closed. It is more than the 90 s after
    which Go closes its side. Otherwise the scheduler could send a POST just as the connection
    closes, and it does not send a POST twice."""

    max_connections: Annotated[int, Meta(ge=1, le=100_000)] | None = None
    """Connections to the callbacks' port at a time; unset takes 1,000, or what the limit of open
    files leaves after a reserve for the API server and the operations port. If one more comes, the
    connection that has been idle for longest is closed."""

    max_body_bytes: Annotated[int, Meta(ge=1 << 20, le=1 << 30)] = 64 << 20
    """Largest request body in bytes; more is answered with 413. With nodeCacheCapable a call holds
    a pod and node names: about 170 KB for 5,000 nodes. With full Node objects (5-10 KB each, more
    with many images) the same cluster sends up to 50 MB, so the default is 64 MiB. Lower
    it if the scheduler always sets nodeCacheCapable."""

    shutdown_delay_seconds: Annotated[float, Meta(ge=0, le=300)] = 0
    """Seconds between failing readiness on SIGTERM and closing the sockets. Behind a Service,
    use 5, so that endpoints are updated first. Beside the scheduler nothing routes by readiness,
    so the default is 0."""

    shutdown_timeout_seconds: Annotated[float, Meta(gt=0, le=300)] = 5
    """Seconds that calls in flight may still take after that. The scheduler gives up on a call
    after its httpTimeout, 5 s by default, so there is no use in waiting longer."""


class ClientConnection(_Block, frozen=True, kw_only=True):
    """How to reach the API server; unused with clusterFiles."""

    kubeconfig: Path | None = None
    """kubeconfig file; unset means the pod's service account."""

    context: str | None = None
    """Context in that file; unset means its current-context."""

    qps: Annotated[float, Meta(gt=0, le=10_000)] = 200
    """Requests per second on average, of all kinds. 70 % are for binds alone, 15 % for reads, 10 %
    for hints and 5 % for watches, so that no kind blocks another. What one kind does not use goes
    to the others. In mode replace each placement is a request, so this limits the pods per second,
    and a bind that could not be sent in time is refused at once. kube-scheduler's default of 50
    would be less than the scheduler can decide."""

    burst: Annotated[int, Meta(ge=1, le=10_000)] = 400
    """Requests that may be sent at once before qps applies, shared out like qps. The default is
    twice qps, as in kube-scheduler."""

    stale_after_seconds: Annotated[float, Meta(ge=90, le=3600)] = 180
    """Seconds without any event, bookmark or list of a resource after which it is stale: the
    extender is not ready, and in mode replace pods with hard rules wait. Bookmarks come each
    minute, so 180 means that two were missed and a new watch brought nothing. Less than 90 would
    cause false alarms."""


class Logging(_Block, frozen=True, kw_only=True):
    """Log lines, on standard error."""

    format: LogFormat = LogFormat.TEXT
    """text for people, json for log collectors (with the keys of Kubernetes components)."""

    verbosity: Annotated[int, Meta(ge=0, le=10)] = 2
    """0 faults and milestones, 2 what is useful in production, 3 each change that is watched, 4
    debugging, 5 each decision and each request as well, which is too much for production."""


class Config(_Block, frozen=True, kw_only=True):
    """One whole configuration, as the program runs with it."""

    api_version: Literal["affinity-extender.io/v1alpha1"]
    """Version of this format; required, as in every Kubernetes object."""

    kind: Literal["AffinityExtenderConfiguration"]
    """Name of this format; required, so that another kind of file is an error."""

    mode: Mode = Mode.ASSIST
    """assist: the extender scores nodes and the scheduler checks hard rules, so that pods are
    placed by these rules while the extender is down. replace: the extender checks hard rules and
    binds as well, and pods wait while it is down. shadow: the extender only compares. The
    scheduler's file must be the one for the same mode."""

    plugins: tuple[Plugin, ...] = (Plugin.INTER_POD_AFFINITY,)
    """Plugins that are enabled, in the order in which their refusals are reported."""

    scheduler_version: str = "1.37"
    """Minor version of the kube-scheduler that calls, in quotes. Up to 1.37 the scheduler fails a
    whole preemption if one node has no victims; from 1.38 on it accepts such nodes."""

    inter_pod_affinity: InterPodAffinity = InterPodAffinity()
    node_affinity: NodeAffinity = NodeAffinity()
    cross_namespace_pod_affinity: CrossNamespacePodAffinity = CrossNamespacePodAffinity()
    filter: Filter = Filter()
    prioritize: Prioritize = Prioritize()
    hints: Hints = Hints()
    required_during_execution: RequiredDuringExecution = RequiredDuringExecution()
    feature_gates: FeatureGates = FeatureGates()
    serving: Serving = Serving()
    client_connection: ClientConnection = ClientConnection()
    logging: Logging = Logging()

    cluster_files: tuple[Path, ...] = ()
    """Files with Kubernetes objects to serve instead of a live cluster. With any of them, no API
    server is contacted. Relative names start at the working directory."""

    @property
    def looks_at_quotas(self) -> bool:
        """Whether quotas and what pods use of them are wanted at all."""
        return Plugin.CROSS_NAMESPACE_POD_AFFINITY in self.plugins

    @property
    def scheduler_takes_empty_victims(self) -> bool:
        """Whether preempt may answer a node from which nobody has to be evicted."""
        return int(self.scheduler_version.removeprefix("1.")) >= FIRST_WITH_EMPTY_VICTIMS
