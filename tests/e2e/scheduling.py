"""Run kube-scheduler: stock, or with a shipped configuration and the extender beside it."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import yaml

from tests.e2e.controlplane.cluster import ControlPlane, free_port
from tests.e2e.controlplane.credentials import SCHEDULER
from tests.e2e.controlplane.process import Probe, Process
from tests.e2e.extending import ASSIST, REPLACE, Extender

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from tests.e2e.objects import JSON

STOCK = "stock"
MODES = (STOCK, ASSIST, REPLACE)

_ROOT = Path(__file__).resolve().parents[2]
_CONFIGURATIONS = _ROOT / "scheduler-config"
_ASSIST_WITH_QUOTAS = _ROOT / "manifests" / "overlays" / "sidecar-quota" / "scheduler-config.yaml"
_SHIPPED_URL = "http://127.0.0.1:10280"


@dataclass(frozen=True, slots=True)
class Scheduling:
    """The programs that place pods."""

    scheduler: Process
    extender: Extender | None


@asynccontextmanager
async def scheduling(
    control_plane: ControlPlane,
    mode: str,
    folder: Path,
    extender_mode: str = "",
    *,
    quotas: bool = False,
) -> AsyncIterator[Scheduling]:
    """Run the scheduler, and unless it is stock the extender beside it, for a while.

    Both in the same mode, unless another one is named for the extender. With `quotas`, the plugin
    for cross-namespace affinity is on.
    """
    if mode == STOCK:
        with _scheduler(control_plane, mode, "", folder) as scheduler:
            await asyncio.to_thread(scheduler.wait_ready)
            yield Scheduling(scheduler, None)
        return
    async with Extender.running(
        control_plane, extender_mode or mode, folder, quotas=quotas
    ) as extender:
        with _scheduler(control_plane, mode, extender.url, folder, quotas=quotas) as scheduler:
            await asyncio.to_thread(scheduler.wait_ready)
            yield Scheduling(scheduler, extender)


@asynccontextmanager
async def rival(
    control_plane: ControlPlane, extender: Extender, name: str, folder: Path
) -> AsyncIterator[None]:
    """Run one more scheduler, for pods that name it, beside the same extender."""
    with _scheduler(control_plane, extender.mode, extender.url, folder, name) as scheduler:
        await asyncio.to_thread(scheduler.wait_ready)
        yield


def _scheduler(
    control_plane: ControlPlane,
    mode: str,
    url: str,
    folder: Path,
    name: str = "",
    *,
    quotas: bool = False,
) -> Process:
    file = _CONFIGURATIONS / f"{mode}.yaml"
    if quotas and mode == ASSIST:
        file, name = _ASSIST_WITH_QUOTAS, name or "default-scheduler"
    configuration = _scheduler_config(control_plane, mode, file, url)
    if name:
        configuration["profiles"][0]["schedulerName"] = name
    config = folder / "scheduler.yaml"
    config.write_text(yaml.safe_dump(configuration))
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


def _scheduler_config(control_plane: ControlPlane, mode: str, file: Path, url: str) -> JSON:
    """Return what is shipped for this mode; only addresses differ, and there is no rival here."""
    config: JSON = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
    }
    if mode != STOCK:
        config = yaml.safe_load(file.read_text())
        assert [each["urlPrefix"] for each in config["extenders"]] == [_SHIPPED_URL]
        config["extenders"][0]["urlPrefix"] = url
    client = config.setdefault("clientConnection", {})
    client["kubeconfig"] = str(control_plane.kubeconfig(SCHEDULER))
    config["leaderElection"] = {"leaderElect": False}
    return config
