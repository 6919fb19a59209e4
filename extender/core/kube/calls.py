"""One request to the API server, and what is left of its caller's time."""

from __future__ import annotations

import socket
from collections.abc import Awaitable, Callable, Container, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from http import HTTPStatus
from typing import Final
from urllib.parse import quote

import aiohttp
import msgspec

from extender.core.errors import ApiError, ObjectError
from extender.core.kube.flowcontrol import Flow
from extender.core.kube.limits import WITHIN
from extender.core.model.keys import name_of, namespace_of

JSON: Final = "application/json"
JSON_PATCH: Final = "application/json-patch+json"
STRATEGIC_MERGE: Final = "application/strategic-merge-patch+json"


@dataclass(frozen=True, slots=True)
class Body:
    body: bytes
    kind: str = JSON


@dataclass(slots=True)
class ApiCall:
    """A request with its deadline, if it has one; times are on the clock of the client."""

    method: str
    path: str
    flow: Flow
    query: Mapping[str, str] = field(default_factory=dict)
    content: Body | None = None
    deadline: float | None = None
    may_go: Callable[[], bool] | None = None
    """Asked right before it is sent, each time: what it was for may be over by then."""
    sent: bool = False
    """Whether the API server may be working on it."""
    turned_away: bool = False
    """Whether it was sent and turned away before."""

    def patience(self, now: float) -> float | None:
        """Return how many seconds it may wait before it is sent; None for as long as it takes."""
        return None if self.deadline is None else self.deadline - now - WITHIN.answer

    def can_wait(self, seconds: float | None, now: float) -> bool:
        """Return whether there is time to try again after `seconds`."""
        patience = self.patience(now)
        return seconds is not None and patience is not None and seconds <= patience

    def params(self, now: float) -> Mapping[str, str]:
        """Return the query, with the time that the API server may take."""
        if self.deadline is None:
            return self.query
        # The API server lets a request wait in its own queue for a quarter of its timeout. So it
        # may wait there as long as we do, and works on nothing that was given up long ago.
        seconds = 4 * max(self.deadline - now, WITHIN.answer)
        return {**self.query, "timeout": f"{seconds:.1f}s"}


_NOT_SEGMENTS = frozenset(("", ".", ".."))


def pod_path(key: str) -> str:
    """Return where the API server has a pod, by namespace/name.

    ObjectError for names that would lead elsewhere: a scheduler may choose them.
    """
    return f"{namespace_path(namespace_of(key))}/pods/{_segment(name_of(key))}"


def node_path(name: str) -> str:
    return f"/api/v1/nodes/{_segment(name)}"


def namespace_path(name: str, api: str = "/api/v1") -> str:
    """Return where the API server has a namespace, and what is in it of an API group."""
    return f"{api}/namespaces/{_segment(name)}"


def lease_path(namespace: str, name: str = "") -> str:
    """Return where the API server has a Lease or, without a name, takes a new one."""
    return object_path("/apis/coordination.k8s.io/v1", namespace, "leases", name)


def object_path(api: str, namespace: str, resource: str, name: str = "") -> str:
    """Return where the API server has an object; ObjectError as of `pod_path`."""
    path = f"{namespace_path(namespace, api)}/{resource}"
    return f"{path}/{_segment(name)}" if name else path


def _segment(name: str) -> str:
    # As the API machinery has it in IsValidPathSegmentName.
    if name in _NOT_SEGMENTS or "/" in name or "%" in name:
        raise ObjectError("metadata.name", f"no name of an object: {name[:80]!a}")
    return quote(name, safe="")


def kept_alive_socket(address: aiohttp.AddrInfoType) -> socket.socket:
    """Make a socket that notices in about a minute when its peer went away without a word."""
    family, kind, protocol, *_ = address
    connection = socket.socket(family=family, type=kind, proto=protocol)
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for option, value in (
        ("TCP_KEEPIDLE", 30),
        ("TCP_KEEPINTVL", 10),
        ("TCP_KEEPCNT", 3),
        ("TCP_USER_TIMEOUT", 1000 * WITHIN.undelivered),
    ):
        if hasattr(socket, option):
            connection.setsockopt(socket.IPPROTO_TCP, getattr(socket, option), value)
    return connection


def second_now() -> str:
    """Return the time as the API has it in metav1.Time, which knows no fractions of a second."""
    return f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}"


async def took_effect(request: Awaitable[bytes], unless: Container[int]) -> bool:
    """Send a request; False for an answer that says that nothing is as it was taken for."""
    try:
        await request
    except ApiError as error:
        if error.status in unless and (error.is_missing or error.status != HTTPStatus.NOT_FOUND):
            return False
        raise
    return True


def condition_patch(uid: str, condition: Mapping[str, str], version: str = "") -> bytes:
    """Write a STRATEGIC_MERGE of a condition into the status of this pod, and no other.

    With a resourceVersion, only if nothing was written to the pod since.
    """
    metadata = {"uid": uid} | ({"resourceVersion": version} if version else {})
    return msgspec.json.encode({"metadata": metadata, "status": {"conditions": [condition]}})
