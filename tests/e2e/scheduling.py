"""Run kube-scheduler: stock, or with a shipped configuration and the extender beside it."""

from __future__ import annotations

import asyncio
import json
import re
import sys
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import aiohttp
import yaml

from tests.e2e.controlplane.cluster import ControlPlane, free_port
from tests.e2e.controlplane.credentials import SCHEDULER, User
from tests.e2e.controlplane.process import Probe, Process
from tests.e2e.objects import HOSTNAME, JSON

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

ROOT = Path(__file__).resolve().parents[2]
STOCK, ASSIST, REPLACE = "stock", "assist", "replace"

EXTENDER = User(
    "system:serviceaccount:kube-system:affinity-extender",
    ("system:serviceaccounts", "system:serviceaccounts:kube-system"),
)
"""Called like the service account of the manifests, so that exactly their binding applies."""

_LAG_S = 10.0
_SHIPPED_URL = "http://127.0.0.1:10280"
_NOT_SEEN = "node(s) didn't match pod affinity rules"


@dataclass(frozen=True, slots=True)
class Extender:
    """The extender under test, reached as the scheduler reaches it."""

    mode: str
    url: str
    ops_url: str
    session: aiohttp.ClientSession

    async def ask(self, verb: str, pod: JSON, nodes: list[str]) -> Any:
        """Make one extender call."""
        body = {"Pod": pod, "Nodes": None, "NodeNames": nodes}
        async with self.session.post(f"{self.url}/{verb}", json=body) as answer:
            assert answer.status == 200, await answer.text()
            return await answer.json(content_type=None)

    async def calls(self, verb: str) -> float:
        """Return how many calls of this verb the extender says it has answered."""
        async with self.session.get(f"{self.ops_url}/metrics") as answer:
            page = await answer.text()
        name = "affinity_extender_request_duration_seconds_count"
        samples = re.findall(rf'^{name}\{{[^}}]*verb="{verb}"[^}}]*\}} (\S+)$', page, re.MULTILINE)
        return sum(map(float, samples))

    async def await_seen(self, pod: JSON, nodes: list[str], *, counted: bool = True) -> None:
        """Return once the extender's answers count this placed pod, or do so no more.

        The extender tells us by its own callbacks: a pod that wants to be near this one, asked
        for on our behalf, is let onto its node (replace) or scores it highest (assist).
        """
        try:
            async with asyncio.timeout(_LAG_S):
                while await self._sees(pod, nodes) is not counted:  # noqa: ASYNC110 (a process)
                    await asyncio.sleep(0.002)
        except TimeoutError:
            name = pod["metadata"]["name"]
            wrong = "does not count" if counted else "still counts"
            raise AssertionError(f"the extender {wrong} {name} after {_LAG_S} s") from None

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


@asynccontextmanager
async def scheduling(
    control_plane: ControlPlane, mode: str, folder: Path
) -> AsyncIterator[Extender | None]:
    """Run the scheduler, and in assist and replace the extender beside it, for a while."""
    if mode == STOCK:
        with _scheduler(control_plane, mode, "", folder) as scheduler:
            await asyncio.to_thread(scheduler.wait_ready)
            yield None
        return
    async with _extending(control_plane, mode, folder) as extender:
        with _scheduler(control_plane, mode, extender.url, folder) as scheduler:
            await asyncio.to_thread(scheduler.wait_ready)
            yield extender


@asynccontextmanager
async def _extending(
    control_plane: ControlPlane, mode: str, folder: Path
) -> AsyncIterator[Extender]:
    """Run the extender; without a failure elsewhere it must end well and have had no error."""
    port, ops_port = free_port(), free_port()
    url, ops_url = (f"http://127.0.0.1:{each}" for each in (port, ops_port))
    command = _extender_command(control_plane, mode, port, ops_port, folder)
    probe = Probe(f"{ops_url}/readyz")
    with Process("extender", command, folder / "extender.log", probe) as process:
        await asyncio.to_thread(process.wait_ready)
        async with aiohttp.ClientSession() as session:
            yield Extender(mode, url, ops_url, session)
        process.check_alive()
        assert await asyncio.to_thread(process.stop) == 0, "SIGTERM ends it with exit code 0"
    logged = [json.loads(line) for line in process.log.read_text().splitlines()]
    assert [line for line in logged if line["level"] == "error"] == []


def _extender_command(
    control_plane: ControlPlane, mode: str, port: int, ops_port: int, folder: Path
) -> list[str]:
    config = folder / "extender.yaml"
    kind = "AffinityExtenderConfiguration"
    config.write_text(f"apiVersion: affinity-extender.io/v1alpha1\nkind: {kind}\nmode: {mode}\n")
    return [
        *(sys.executable, "-m", "extender", "serve"),
        *("--config", str(config)),
        *("--kubeconfig", str(control_plane.kubeconfig(EXTENDER))),
        *("--mode", mode),
        *("--port", str(port)),
        *("--ops-port", str(ops_port)),
        *("--logging-format", "json"),
    ]


def _scheduler(control_plane: ControlPlane, mode: str, url: str, folder: Path) -> Process:
    config = folder / "scheduler.yaml"
    config.write_text(yaml.safe_dump(_scheduler_config(control_plane, mode, url)))
    port = free_port()
    command = [
        control_plane.binaries["kube-scheduler"],
        f"--config={config}",
        "--bind-address=127.0.0.1",
        f"--secure-port={port}",
        "--authentication-skip-lookup",
        "--authorization-always-allow-paths=/readyz",
        "-v=2",
    ]
    probe = Probe(f"https://127.0.0.1:{port}/readyz")
    return Process("kube-scheduler", command, folder / "kube-scheduler.log", probe)


def _scheduler_config(control_plane: ControlPlane, mode: str, url: str) -> JSON:
    """Return the shipped file of this mode; only addresses differ, and there is no rival here."""
    config: JSON = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
    }
    if mode != STOCK:
        config = yaml.safe_load((ROOT / "scheduler-config" / f"{mode}.yaml").read_text())
        assert [each["urlPrefix"] for each in config["extenders"]] == [_SHIPPED_URL]
        config["extenders"][0]["urlPrefix"] = url
    client = config.setdefault("clientConnection", {})
    client["kubeconfig"] = str(control_plane.kubeconfig(SCHEDULER))
    config["leaderElection"] = {"leaderElect": False}
    return config
