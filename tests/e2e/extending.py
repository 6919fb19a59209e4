"""The extender under test: a process, asked over HTTP as the scheduler asks it."""

from __future__ import annotations

import asyncio
import json
import re
from collections import Counter
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import aiohttp
import yaml

from tests.e2e.controlplane.cluster import ControlPlane
from tests.e2e.controlplane.credentials import User
from tests.e2e.controlplane.process import Probe, Process, free_port
from tests.e2e.objects import HOSTNAME, JSON
from tests.e2e.revisions import THIS, Revision
from tests.features.every import shipped_with

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

SHADOW, ASSIST, REPLACE = "shadow", "assist", "replace"

EXTENDER = User(
    "system:serviceaccount:kube-system:affinity-extender",
    ("system:serviceaccounts", "system:serviceaccounts:kube-system"),
)
"""Called like the service account of the manifests, so that exactly their binding applies."""

_ROOT = Path(__file__).resolve().parents[2]
_WITH_QUOTAS = _ROOT / "manifests" / "overlays" / "sidecar-quota" / "config.yaml"

GRACE_S = 15.0
"""The manifests' terminationGracePeriodSeconds."""
LAG_S = 10.0
_NOT_SEEN = "node(s) didn't match pod affinity rules"


class Extender:
    """One mode of the extender on ports of its own; it can be stopped and started again."""

    def __init__(
        self,
        control_plane: ControlPlane,
        mode: str,
        folder: Path,
        session: aiohttp.ClientSession,
        options: tuple[str, ...] = (),
        *,
        quotas: bool = False,
        fields: JSON | None = None,
        within: tuple[str, ...] = (),
        revision: Revision = THIS,
    ) -> None:
        """`within` is a command that runs the program, as `env` does."""
        port, ops_port = free_port(), free_port()
        settings = {"apiVersion": revision.api, **(fields or {})}
        self.config = _config(control_plane, folder, mode, settings, quotas=quotas)
        self.mode = mode
        self.url, self.ops_url = (f"http://127.0.0.1:{each}" for each in (port, ops_port))
        self._session = session
        self.process = Process(
            "extender",
            [
                *(*within, *revision.program, "serve"),
                *_flags(control_plane, mode, port, ops_port, self.config),
            ],
            folder / "extender.log",
            Probe(f"{self.ops_url}/readyz"),
        )
        self.process.options = options
        self.process.grace = GRACE_S
        self._asked_by_us = Counter[str]()

    @classmethod
    @asynccontextmanager
    async def running(
        cls,
        control_plane: ControlPlane,
        mode: str,
        folder: Path,
        *options: str,
        quotas: bool = False,
        fields: JSON | None = None,
        revision: Revision = THIS,
    ) -> AsyncIterator[Self]:
        """Run the extender; unless something else fails, it must end well and log no error.

        `fields` are of its configuration, in place of what is shipped.
        """
        async with aiohttp.ClientSession() as session:
            extender = cls(
                *(control_plane, mode, folder, session, options),
                quotas=quotas,
                fields=fields,
                revision=revision,
            )
            with extender.process:
                await asyncio.to_thread(extender.process.wait_ready)
                yield extender
                await extender.stop()
        extender.assert_no_errors()

    async def start_again(self) -> None:
        """Start the process after a stop, and return once it is ready."""
        self.process.start()
        await asyncio.to_thread(self.process.wait_ready)
        self._asked_by_us.clear()

    async def kill_and_start_again(self) -> None:
        """End the process without a warning, in the middle of whatever it does."""
        await asyncio.to_thread(self.process.kill)
        await self.start_again()

    async def stop(self) -> None:
        """End the process as Kubernetes ends one, which it must take well."""
        self.process.check_alive()
        code = await asyncio.to_thread(self.process.stop)
        assert code == 0, f"SIGTERM must end it with exit code 0, not {code}"

    def assert_no_errors(self) -> None:
        """Assert that every line of the log is JSON and none tells of an error."""
        assert self.logged("error") == []

    def logged(self, level: str) -> list[str]:
        """Return the messages of a level, from a log of which every line is JSON."""
        lines = [json.loads(line) for line in self.process.log.read_text().splitlines()]
        return [line["msg"] for line in lines if line["level"] == level]

    async def ask(self, verb: str, pod: JSON, nodes: list[str]) -> Any:
        """Make one call in the scheduler's place."""
        self._asked_by_us[verb] += 1
        body = {"Pod": pod, "Nodes": None, "NodeNames": nodes}
        async with self._session.post(f"{self.url}/{verb}", json=body) as answer:
            assert answer.status == 200, await answer.text()
            return await answer.json(content_type=None)

    async def bind(self, args: JSON) -> Any:
        """Ask for a bind in the scheduler's place."""
        self._asked_by_us["bind"] += 1
        async with self._session.post(f"{self.url}/bind", json=args) as answer:
            assert answer.status == 200, await answer.text()
            return await answer.json(content_type=None)

    async def calls(self, verb: str) -> int:
        """Return how many calls of this verb came from the scheduler, by the metrics."""
        name = "affinity_extender_request_duration_seconds_count"
        return await self.counter(name, verb=verb) - self._asked_by_us[verb]

    @property
    def pid(self) -> int:
        return self.process.pid

    def cpu_seconds(self) -> float:
        return self.process.cpu_seconds()

    async def page(self, path: str) -> Any:
        """Return a JSON page of the operations port."""
        async with self._session.get(f"{self.ops_url}{path}") as answer:
            assert answer.status == 200, await answer.text()
            return await answer.json()

    def warnings(self) -> list[str]:
        return self.logged("warning")

    async def counter(self, name: str, **labels: str) -> int:
        """Return the sum of a metric's series with some labels."""
        wanted = "".join(f'(?=[^}}]*{key}="{value}")' for key, value in labels.items())
        return await self._sum(rf"{name}\{{{wanted}[^}}]*\}}")

    async def total(self, name: str) -> int:
        return await self._sum(rf"{name}(?:\{{[^}}]*\}})?")

    async def _sum(self, series: str) -> int:
        async with self._session.get(f"{self.ops_url}/metrics") as answer:
            page = await answer.text()
        return int(sum(map(float, re.findall(rf"^{series} (\S+)$", page, re.MULTILINE))))

    async def await_seen(
        self, pod: JSON, nodes: list[str], *, counted: bool = True, within: float = LAG_S
    ) -> None:
        """Return once the extender's answers count this placed pod, or do so no more.

        The extender tells us by its own callbacks: a pod that wants to be near this one, asked
        for on our behalf, is let onto its node (replace) or scores it highest (assist). In shadow
        answers tell nothing, but there placements do not hang on what the extender counts, either.
        """
        if self.mode == SHADOW:
            return
        try:
            async with asyncio.timeout(within):
                while await self._sees(pod, nodes) is not counted:  # noqa: ASYNC110 (a process)
                    await asyncio.sleep(0.002)
        except TimeoutError:
            name = pod["metadata"]["name"]
            wrong = "does not count" if counted else "still counts"
            raise AssertionError(f"the extender {wrong} {name} after {within} s") from None

    async def _sees(self, pod: JSON, nodes: list[str]) -> bool:
        where = pod["spec"]["nodeName"]
        if self.mode == REPLACE:
            answer = await self.ask("filter", _near(pod), [where])
            refused = (answer["FailedNodes"] or {}) | (answer["FailedAndUnresolvableNodes"] or {})
            # Somebody else's anti-affinity may refuse our probe too, but affinity is named first.
            return not answer.get("Error") and refused.get(where) != _NOT_SEEN
        scores = {e["Host"]: e["Score"] for e in await self.ask("prioritize", _near(pod), nodes)}
        return bool(scores) and max(scores, key=lambda host: scores[host]) == where


def _near(pod: JSON) -> JSON:
    """Return a pod that nobody creates, which requires and prefers to be near this one."""
    metadata = pod["metadata"]
    wish = {
        "topologyKey": HOSTNAME,
        "namespaces": [metadata["namespace"]],
        "labelSelector": {"matchLabels": metadata["labels"]},
    }
    affinity = {
        "requiredDuringSchedulingIgnoredDuringExecution": [wish],
        "preferredDuringSchedulingIgnoredDuringExecution": [
            {"weight": 100, "podAffinityTerm": wish}
        ],
    }
    return {
        "metadata": {"name": "probe", "namespace": "e2e-probe", "uid": "e2e-probe"},
        "spec": {"containers": [{"name": "main"}], "affinity": {"podAffinity": affinity}},
        "status": {},
    }


def _config(
    control_plane: ControlPlane, folder: Path, mode: str, fields: JSON, *, quotas: bool
) -> Path:
    """Return a configuration file: what the mode is shipped with, or the one with quotas."""
    written = {"kind": "AffinityExtenderConfiguration", **shipped_with(mode)}
    if quotas:
        written = yaml.safe_load(_WITH_QUOTAS.read_text())
    minor = ".".join(control_plane.binaries.scheduler.split(".")[:2])
    path = folder / "extender.yaml"
    path.write_text(json.dumps(written | fields | {"schedulerVersion": minor}))
    return path


def _flags(
    control_plane: ControlPlane, mode: str, port: int, ops_port: int, config: Path
) -> list[str]:
    return [
        *("--config", str(config)),
        *("--kubeconfig", str(control_plane.kubeconfig(EXTENDER))),
        *("--mode", mode),
        *("--port", str(port)),
        *("--ops-port", str(ops_port)),
        *("--logging-format", "json"),
    ]
