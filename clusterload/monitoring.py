"""Figures that other programs keep: kube-scheduler's metrics, and what Prometheus answers."""

from __future__ import annotations

import math
import ssl
from dataclasses import dataclass
from ipaddress import ip_address
from typing import TYPE_CHECKING, Any

import aiohttp
import msgspec
from yarl import URL

from clusterload.workloads import BROKEN
from extender.core.errors import ExtenderError
from extender.core.kube.frames import read_answer

if TYPE_CHECKING:
    from collections.abc import Mapping

    from extender.core.kube.client import ApiClient
    from extender.core.kube.credentials import Credentials

TIMEOUT_S = 60.0

CONTROL_PLANE = "node-role.kubernetes.io/control-plane"
SCHEDULER_PORT = 10259


class _Metadata(msgspec.Struct):
    name: str
    labels: dict[str, str] = {}


class _Node(msgspec.Struct):
    metadata: _Metadata


class _Nodes(msgspec.Struct):
    items: list[_Node]


class Sample(msgspec.Struct):
    """One series of an instant query."""

    metric: dict[str, str]
    value: tuple[float, str]

    @property
    def number(self) -> float:
        """The value, which Prometheus sends as a text."""
        return float(self.value[1])


class _Vector(msgspec.Struct, rename="camel"):
    result_type: str
    result: list[Any]


class _Answer(msgspec.Struct):
    status: str
    data: _Vector | None = None
    error: str = ""


@dataclass(frozen=True, slots=True)
class Monitoring:
    """Reads the metrics of kube-scheduler and asks Prometheus, each at its address."""

    client: ApiClient
    scheduler_url: str = ""
    prometheus_url: str = ""
    credentials: Credentials | None = None
    """For the scheduler at its own address, which does not show its metrics to everybody."""

    async def scheduler_metrics(self) -> list[str]:
        """Return the metrics of each kube-scheduler; nothing when there is no way to reach one.

        Without an address it is the pod kube-scheduler-<node> of each control-plane node, through
        the API server's proxy, as in clusterloader2.
        """
        if self.scheduler_url:
            authorization = await self.credentials.authorization() if self.credentials else None
            return [_text(await _get(self.scheduler_url, {}, authorization))]
        body = await self.client.get("/api/v1/nodes", {"labelSelector": CONTROL_PLANE})
        nodes = read_answer(body, _Nodes)
        names = [
            f"https:kube-scheduler-{each.metadata.name}:{SCHEDULER_PORT}" for each in nodes.items
        ]
        base = "/api/v1/namespaces/kube-system/pods"
        return [_text(await self.client.get_text(f"{base}/{name}/proxy/metrics")) for name in names]

    async def query(self, query: str, at: float) -> list[Sample]:
        """Ask Prometheus for the value at a moment, in seconds since the epoch."""
        url = f"{self.prometheus_url.rstrip('/')}/api/v1/query"
        body = await _get(url, {"query": query, "time": f"{at:.3f}"})
        try:
            return read_samples(body, query)
        except BROKEN as error:
            raise ExtenderError(f"{url}: not an answer of Prometheus: {error}") from error


def read_samples(body: bytes, query: str) -> list[Sample]:
    """Read the answer to a query, without what is no number; raises BROKEN."""
    answer = msgspec.json.decode(body, type=_Answer)
    if answer.status != "success" or answer.data is None:
        raise ExtenderError(f"Prometheus refuses {query!r}: {answer.error}")
    if answer.data.result_type != "vector":
        raise ExtenderError(f"{query!r} gives a {answer.data.result_type}, not a vector")
    samples = msgspec.convert(answer.data.result, list[Sample])
    return [each for each in samples if not math.isnan(each.number)]


def _text(body: bytes) -> str:
    return body.decode(errors="replace")


async def _get(url: str, params: Mapping[str, str], authorization: str | None = None) -> bytes:
    headers = {}
    if authorization is not None and url.startswith("https:"):
        headers["Authorization"] = authorization
    timeout = aiohttp.ClientTimeout(total=TIMEOUT_S)
    try:
        async with (
            aiohttp.ClientSession(headers=headers, timeout=timeout) as session,
            session.get(url, params=params, ssl=_tls(url), allow_redirects=False) as answer,
        ):
            body = await answer.read()
            if not answer.ok:
                raise ExtenderError(f"{url}: {answer.status} {body[:400].decode(errors='replace')}")
            return body
    except (aiohttp.ClientError, TimeoutError, OSError, ValueError) as failure:
        raise ExtenderError(f"{url}: {type(failure).__name__}: {failure}") from failure


def _tls(url: str) -> ssl.SSLContext | bool:
    """Check certificates, save on loopback: kube-scheduler shows one that it signed itself."""
    host = URL(url).host or ""
    try:
        loopback = ip_address(host).is_loopback
    except ValueError:
        loopback = host == "localhost"
    if not loopback:
        return True
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context
