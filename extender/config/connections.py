"""The fields that say who may connect to this program, and how it connects to the API server."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from msgspec import Meta, Struct, field

PORT_RANGE = Meta(ge=0, le=65535)


class Block(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, rename="camel"):
    """What all blocks share: frozen, keyword-only, camelCase in the file, nothing unknown."""


class Serving(Block, frozen=True, kw_only=True):
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

    name_pods_of_all_namespaces: bool = False
    """True has /explain and its page name the pods in the way whatever their namespace. By default
    those of other namespaces than the pod's own are counted: nobody logs in to the operations port,
    and a tenant who can reach it would read there what his rights do not show him."""

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

    allowed_hosts: tuple[Annotated[str, Meta(min_length=1)], ...] = ()
    """Names under which plain HTTP is asked, beside IP addresses, localhost, names without a dot
    and those of Services (`.svc`, `.svc.cluster.local`). Others are answered 403: a page that an
    operator's browser shows could have a name of its own lead to this port, and read it."""

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


class ClientConnection(Block, frozen=True, kw_only=True):
    """How to reach the API server; unused with clusterFiles."""

    kubeconfig: Path | None = None
    """kubeconfig file; unset means the pod's service account."""

    context: str | None = None
    """Context in that file; unset means its current-context."""

    qps: Annotated[float, Meta(gt=0, le=10_000)] = 200
    """Requests per second on average, of all kinds. 70 % are for binds alone, 10 % for reads, 10 %
    for hints, 5 % for evictions and 5 % for watches, so that no kind blocks another. What one kind
    does not use goes to the others. In mode replace each placement is a request, so this limits the
    pods per second, and a bind that could not be sent in time is refused at once. kube-scheduler's
    default of 50 would be less than the scheduler can decide."""

    burst: Annotated[int, Meta(ge=1, le=10_000)] = 400
    """Requests that may be sent at once before qps applies, shared out like qps. The default is
    twice qps, as in kube-scheduler."""

    stale_after_seconds: Annotated[float, Meta(ge=90, le=3600)] = 180
    """Seconds without any event, bookmark or list of a resource after which it is stale: the
    extender is not ready, and in mode replace pods with hard rules wait. Bookmarks come each
    minute. A resource is listed after 120 s of silence, or 15 s before it would be stale if that is
    earlier; so a stale one is one that lists did not bring back. Less than 90 would cause lists
    where all is well."""
