"""Run kube-scheduler: stock, or with a shipped configuration and the extender beside it."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Self

import aiohttp
import yaml

from tests.conformance.asking import Release
from tests.e2e.controlplane.cluster import ControlPlane
from tests.e2e.controlplane.credentials import SCHEDULER
from tests.e2e.controlplane.process import Probe, Process, free_port
from tests.e2e.extending import ASSIST, REPLACE, Extender
from tests.e2e.selecting import in_e2e_all

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from tests.e2e.objects import JSON

STOCK = "stock"
MODES = (in_e2e_all(STOCK), in_e2e_all(ASSIST), REPLACE)
"""Of a test that holds in each. In the first two the scheduler keeps the rules by itself, and that
changes with its release, not with ours; in `assist`, a mixed workload is run each time."""

ALL_CANDIDATES = {"name": "DefaultPreemption", "args": {"minCandidateNodesPercentage": 100}}
"""What docs/refused-pods.md says for a scheduler that preempts for our rules."""

_ROOT = Path(__file__).resolve().parents[2]
_CONFIGURATIONS = _ROOT / "scheduler-config"
_ASSIST_WITH_QUOTAS = _ROOT / "manifests" / "overlays" / "sidecar-quota" / "scheduler-config.yaml"
_SHIPPED_URL = "http://127.0.0.1:10280"


class Scheduler:
    """kube-scheduler with a configuration of its own, as a process."""

    def __init__(self, control_plane: ControlPlane, configuration: JSON, folder: Path) -> None:
        config = folder / "scheduler.yaml"
        config.write_text(yaml.safe_dump(configuration))
        port = free_port()
        self.url = f"https://127.0.0.1:{port}"
        self.process = Process(
            "kube-scheduler",
            [
                control_plane.binaries["kube-scheduler"],
                f"--config={config}",
                "--bind-address=127.0.0.1",
                f"--secure-port={port}",
                "--authentication-skip-lookup",
                "--authorization-always-allow-paths=/readyz,/metrics",
                "-v=2",
                *control_plane.features.of_scheduler(),
            ],
            folder / "kube-scheduler.log",
            Probe(f"{self.url}/readyz"),
        )

    @asynccontextmanager
    async def running(self) -> AsyncIterator[Self]:
        """Run it for a while."""
        with self.process:
            await asyncio.to_thread(self.process.wait_ready)
            yield self

    async def metrics(self) -> str:
        async with (
            aiohttp.ClientSession() as session,
            session.get(f"{self.url}/metrics", ssl=False) as answer,
        ):
            answer.raise_for_status()
            return await answer.text()


@dataclass(frozen=True, slots=True)
class Scheduling:
    """The programs that place pods."""

    scheduler: Scheduler
    extender: Extender | None


@asynccontextmanager
async def scheduling(
    control_plane: ControlPlane,
    mode: str,
    folder: Path,
    extender_mode: str = "",
    *,
    quotas: bool = False,
    qps: int = 0,
) -> AsyncIterator[Scheduling]:
    """Run the scheduler, and unless it is stock the extender beside it, for a while.

    Both in the same mode, unless another one is named for the extender. With `quotas`, the plugin
    for cross-namespace affinity is on; `qps` stands in for the scheduler's own limit.
    """
    if mode == STOCK:
        async with configured(control_plane, bare(), folder, qps=qps) as scheduler:
            yield Scheduling(scheduler, None)
        return
    async with Extender.running(
        control_plane, extender_mode or mode, folder, quotas=quotas
    ) as extender:
        config = shipped(mode, extender.url, quotas=quotas)
        if mode == REPLACE and Release.parse(control_plane.binaries.scheduler).minor >= 38:
            config["profiles"][0]["pluginConfig"] = [ALL_CANDIDATES]
        async with configured(control_plane, config, folder, qps=qps) as scheduler:
            yield Scheduling(scheduler, extender)


@asynccontextmanager
async def rival(
    control_plane: ControlPlane, extender: Extender, name: str, folder: Path
) -> AsyncIterator[None]:
    """Run one more scheduler, for pods that name it, beside the same extender."""
    config = shipped(extender.mode, extender.url)
    config["profiles"] = [config["profiles"][0] | {"schedulerName": name}]
    async with configured(control_plane, config, folder):
        yield


@asynccontextmanager
async def configured(
    control_plane: ControlPlane,
    config: JSON,
    folder: Path,
    *,
    qps: int = 0,
    elected: bool = False,
) -> AsyncIterator[Scheduler]:
    """Run a scheduler with a configuration, fitted to this control plane.

    `qps` stands in for the limit that it names. One that is not `elected` leads at once.
    """
    client = config.setdefault("clientConnection", {})
    client["kubeconfig"] = str(control_plane.kubeconfig(SCHEDULER))
    if qps:
        client |= {"qps": qps, "burst": 2 * qps}
    config["leaderElection"] = {"leaderElect": elected}
    async with Scheduler(control_plane, config, folder).running() as scheduler:
        yield scheduler


def shipped(mode: str, url: str, *, quotas: bool = False) -> JSON:
    """Return what is shipped for this mode; only the extender's address differs."""
    file = _CONFIGURATIONS / f"{mode}.yaml"
    if quotas and mode == ASSIST:
        file = _ASSIST_WITH_QUOTAS
    config: JSON = yaml.safe_load(file.read_text())
    assert [each["urlPrefix"] for each in config["extenders"]] == [_SHIPPED_URL]
    config["extenders"][0]["urlPrefix"] = url
    if file == _ASSIST_WITH_QUOTAS:
        # It is for a second scheduler; here it is the only one.
        config["profiles"][0]["schedulerName"] = "default-scheduler"
    return config


def bare() -> JSON:
    """Return a configuration that leaves everything to the scheduler."""
    return {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
    }
