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
    can bind them in mode replace: any address but loopback needs TLS and clientCAFile, or
    insecureServing."""

    insecure_serving: bool = False
    """True allows a bindAddress off loopback without client certificates: any client is trusted.
    Use it only if something else, such as a service mesh, authenticates clients."""

    port: Annotated[int, PORT_RANGE] = 10280
    """TCP port for callbacks; 0 takes a free port, which is logged."""

    ops_bind_address: str = "127.0.0.1"
    """IP address for /livez, /readyz, /metrics, /configz and the page: plain HTTP without
    authentication, which shows the cluster's topology. The kubelet probes the pod's own address, so
    a pod without hostNetwork needs 0.0.0.0 or `::`."""

    ops_port: Annotated[int, PORT_RANGE] = 10281
    """TCP port for operations; 0 takes a free port."""

    name_pods_of_all_namespaces: bool = False
    """True has /explain and its page name the pods in the way whatever their namespace, to anybody
    who reaches the operations port. By default those of other namespaces than the pod's own are
    only counted."""

    tls_cert_file: Path | None = None
    """PEM file with the certificate chain for callbacks; read again when it changes. With
    tlsPrivateKeyFile it turns callbacks to HTTPS."""

    tls_private_key_file: Path | None = None
    """PEM file with the private key of tlsCertFile."""

    client_ca_file: Path | None = field(default=None, name="clientCAFile")
    """PEM bundle of CAs: only callers with a certificate of one of them are accepted. Over a
    network this is the only way to authenticate a call, which has no token."""

    allowed_client_names: tuple[Annotated[str, Meta(min_length=1)], ...] = ()
    """Common names or DNS names; a client's certificate must have one of them. Empty accepts every
    certificate of clientCAFile. A cluster's CA also signs for each kubelet: name the scheduler."""

    allowed_hosts: tuple[Annotated[str, Meta(min_length=1)], ...] = ()
    """Names under which plain HTTP is asked, beside IP addresses, localhost, names without a dot
    and those of Services (`.svc`, `.svc.cluster.local`). Others are answered 403, since a page in
    an operator's browser could lead a name of its own to this port."""

    handshake_timeout_seconds: Annotated[float, Meta(gt=0, le=300)] = 10
    """Seconds that a client may take for the TLS handshake."""

    header_timeout_seconds: Annotated[float, Meta(gt=0, le=300)] = 10
    """Seconds from the first byte of a request to the end of its headers."""

    body_timeout_seconds: Annotated[float, Meta(gt=0, le=300)] = 15
    """Seconds that a request's body may take to arrive, and that the client may take to read the
    answer."""

    idle_timeout_seconds: Annotated[float, Meta(ge=100, le=86_400)] = 180
    """Seconds without a request after which a connection is closed. Go closes its side after
    90 s: with less here, a POST could be lost."""

    max_connections: Annotated[int, Meta(ge=1, le=100_000)] | None = None
    """Connections to the callbacks' port at a time; unset takes 1,000, or what the limit of open
    files leaves. If one more comes, the one that has been idle for longest is closed."""

    max_body_bytes: Annotated[int, Meta(ge=1 << 20, le=1 << 30)] = 64 << 20
    """Largest request body; more is answered with 413. For 5,000 nodes a call has about 170 KB with
    nodeCacheCapable, and up to 50 MB with full Node objects."""

    shutdown_delay_seconds: Annotated[float, Meta(ge=0, le=300)] = 0
    """Seconds between failing readiness on SIGTERM and closing the sockets. Behind a Service, use
    5, so that endpoints are updated first."""

    shutdown_timeout_seconds: Annotated[float, Meta(gt=0, le=300)] = 5
    """Seconds that calls in flight may still take after that. The scheduler gives up after its
    httpTimeout, 5 s by default."""


class ClientConnection(Block, frozen=True, kw_only=True):
    """How to reach the API server; unused with clusterFiles."""

    kubeconfig: Path | None = None
    """kubeconfig file; unset means the pod's service account."""

    context: str | None = None
    """Context in that file; unset means its current-context."""

    qps: Annotated[float, Meta(gt=0, le=10_000)] = 200
    """Requests per second on average: 70 % for binds alone, 10 % for reads, 10 % for hints, 5 % for
    evictions and 5 % for watches. What one kind does not use goes to the others. In mode replace
    each placement is a request, so this limits the pods per second, and a bind that could not be
    sent in time is refused."""

    burst: Annotated[int, Meta(ge=1, le=10_000)] = 400
    """Requests that may be sent at once before qps applies, shared out like qps."""

    stale_after_seconds: Annotated[float, Meta(ge=90, le=3600)] = 180
    """Seconds without any event, bookmark or list of a resource after which it is stale: the
    extender is not ready, and in mode replace pods with hard rules wait. A resource is listed after
    120 s of silence, or 15 s before it would be stale if that is earlier."""
