"""Runs faults against a whole control plane for a while, and says what came of it."""

from __future__ import annotations

import asyncio
import ssl
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from random import Random
from time import monotonic
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import aiohttp

from tests.e2e.access import grant_shipped_role
from tests.e2e.api import Api
from tests.e2e.controlplane.cluster import ControlPlane, control_plane
from tests.e2e.controlplane.credentials import ADMIN, SCHEDULER
from tests.e2e.extending import EXTENDER, REPLACE, Extender
from tests.e2e.faults import injector
from tests.e2e.faults.acting import Stage
from tests.e2e.faults.injector import HOPS, faults
from tests.e2e.faults.judge import STUCK_S, Judge
from tests.e2e.faults.load import GRACE_S, Users
from tests.e2e.faults.proxy import Hop, hop
from tests.e2e.faults.store import Store
from tests.e2e.kubelet import working
from tests.e2e.moving import EVERYWHERE
from tests.e2e.preempting import ensure_classes
from tests.e2e.scheduling import configured, shipped
from tests.features.every import shipped_with

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from tests.e2e.controlplane.binaries import Binaries

_LIBRARIES = ("/usr/lib/*/faketime/libfaketimeMT.so.1", "/usr/lib64/faketime/libfaketimeMT.so.1")
_TOLD_S = 20.0
"""Between two lines about progress."""
_KEPT_S = 300.0
"""For which the judge remembers a pod that is gone."""
_LOOK_S = 1.0
_CALM_LOOKS = 5
"""In a row, that find no pod pending beside a place."""
_WARM_UP_S = 3.0


@dataclass
class Result:
    """What one run has come to."""

    seed: int
    seconds: float
    counts: dict[str, int] = field(default_factory=dict)
    injected: dict[str, int] = field(default_factory=dict)
    hit: dict[str, int] = field(default_factory=dict)
    """Connections, requests and answers that failing hops have touched."""
    wrong: list[tuple[str, str]] = field(default_factory=list)
    waited: float = 0.0
    errors: list[str] = field(default_factory=list)
    """What the extender logged as an error."""

    @property
    def stuck(self) -> int:
        return sum(rule == "pod stuck" for rule, _ in self.wrong)


async def run(
    binaries: Binaries,
    folder: Path,
    seed: int,
    seconds: float,
    say: Callable[[str], None],
    *,
    brief: bool = False,
    only: str = "",
) -> Result:
    """Inject faults for some seconds, then wait until no pod is pending beside a place."""
    random = Random(f"users {seed}")
    plan = faults(Random(f"faults {seed}"), brief=brief, clock=_faketime() is not None, only=only)
    if _faketime() is None:
        say("libfaketime is not installed (Debian: libfaketime), so no clock jumps")
    judge = Judge(GRACE_S)
    async with _staged(binaries, folder, random) as (plane, stage, hops, extender):
        async with Api.connected(plane.server, ADMIN.token, plane.credentials.ca) as api:
            store = Store(api, judge)
            stage.store, stage.judge = store, judge
            users = Users(api, store, judge, random)
            async with store.following():
                await users.set_up()
                async with working(users.work()):
                    await asyncio.sleep(_WARM_UP_S)
                    began = monotonic()
                    while monotonic() < began + seconds:
                        fault = next(plan)
                        say(f"{monotonic() - began:4.0f} s: {_worded(fault)}; {_told(judge)}")
                        await stage.inject(fault)
                        judge.forget(monotonic() - _KEPT_S)
                        await asyncio.sleep(fault.pause)
                    lasted = monotonic() - began
                    users.wanted = False
                    await _drained(judge, store, say)
        errors = extender.logged("error")
    return Result(
        seed,
        lasted,
        dict(judge.counts),
        dict(stage.injected),
        {f"{mode}: {name}": count for name, of in hops.items() for mode, count in of.hit.items()},
        judge.wrong,
        judge.waited,
        errors,
    )


async def _drained(judge: Judge, store: Store, say: Callable[[str], None]) -> None:
    """Look until no pod is pending beside a place, or has been for too long."""
    judge.faults_begin()
    calm = monotonic()
    quiet = 0
    while monotonic() < calm + STUCK_S + 2 * _LOOK_S and quiet < _CALM_LOOKS:
        judge.look(monotonic())
        quiet = 0 if judge.waiting else quiet + 1
        await store.change(_LOOK_S)
        await asyncio.sleep(_LOOK_S)
    say(f"calm for {monotonic() - calm:.0f} s: {len(judge.waiting)} pods pending beside a place")
    say(f"{judge.waiter} waited longest: {judge.waited:.0f} s")


@asynccontextmanager
async def _staged(
    binaries: Binaries, folder: Path, random: Random
) -> AsyncIterator[tuple[ControlPlane, Stage, dict[str, Hop], Extender]]:
    """Run a control plane, the extender and a scheduler, with hops that may fail between them."""
    clock = folder / "clock"
    clock.write_text("+0\n")
    async with AsyncExitStack() as stack:
        plane = stack.enter_context(control_plane(binaries, folder, [SCHEDULER, EXTENDER]))
        ca = plane.credentials.ca
        api = await stack.enter_async_context(Api.connected(plane.server, ADMIN.token, ca))
        await grant_shipped_role(api, EXTENDER)
        await ensure_classes(api)
        as_server = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        as_server.load_cert_chain(
            plane.credentials.server_certificate, plane.credentials.server_key
        )
        trusted = ssl.create_default_context(cafile=str(ca))
        to_api, api_port = await stack.enter_async_context(
            hop(lambda: _port(plane.server), random, as_server=as_server, to_server=trusted)
        )
        behind = replace(plane, server=f"https://127.0.0.1:{api_port}")
        extender = await stack.enter_async_context(
            _extending(behind, _folder(folder, "extender"), clock)
        )
        to_extender, port = await stack.enter_async_context(
            hop(lambda: _port(extender.url), random)
        )
        scheduler = await stack.enter_async_context(
            configured(plane, _scheduler(port), _folder(folder, "scheduler"))
        )
        assert plane.controller_manager is not None
        processes = {
            injector.EXTENDER: extender.process,
            injector.SCHEDULER: scheduler.process,
            injector.API_SERVER: plane.apiserver,
            injector.CONTROLLERS: plane.controller_manager,
            injector.ETCD: plane.etcd,
        }
        hops = dict(zip(HOPS, (to_api, to_extender), strict=True))
        yield plane, Stage(plane, processes, hops, clock), hops, extender


@asynccontextmanager
async def _extending(plane: ControlPlane, folder: Path, clock: Path) -> AsyncIterator[Extender]:
    """Run the extender, whose clock a file may set off."""
    library = _faketime()
    jumping = {
        "LD_PRELOAD": str(library),
        "FAKETIME_TIMESTAMP_FILE": str(clock),
        "FAKETIME_CACHE_DURATION": "1",
        # Like a clock that is set: what elapses goes on.
        "FAKETIME_DONT_FAKE_MONOTONIC": "1",
    }
    fields = {
        **shipped_with(REPLACE),
        "plugins": ["InterPodAffinity", "NodeAffinity"],
        "requiredDuringExecution": {
            "enabled": True,
            "dryRun": False,
            "gracePeriodSeconds": GRACE_S,
            "evictionsPerMinute": 600,
            "maxAffected": "100%",
            "plainRules": EVERYWHERE,
        },
    }
    within = ("env", *(f"{name}={value}" for name, value in jumping.items())) if library else ()
    async with aiohttp.ClientSession() as session:
        extender = Extender(plane, REPLACE, folder, session, fields=fields, within=within)
        with extender.process:
            await asyncio.to_thread(extender.process.wait_ready)
            yield extender
            await extender.stop()


def _scheduler(port: int) -> dict[str, Any]:
    """Return the shipped configuration, with node affinity left to the extender as well.

    A pod that was refused is tried again sooner, so that more happens in the same time.
    """
    config = shipped(REPLACE, f"http://127.0.0.1:{port}")
    config["podMaxBackoffSeconds"] = 2
    plugins = config["profiles"][0]["plugins"]
    for point in ("filter", "preScore", "score"):
        plugins.setdefault(point, {}).setdefault("disabled", []).append({"name": "NodeAffinity"})
    return config


def _faketime() -> Path | None:
    root = Path("/")
    return next((each for name in _LIBRARIES for each in root.glob(name[1:])), None)


def _port(url: str) -> int:
    port = urlsplit(url).port
    assert port
    return port


def _folder(parent: Path, name: str) -> Path:
    made = parent / name
    made.mkdir()
    return made


def _worded(fault: injector.Fault) -> str:
    beside = f", beside {fault.beside.name}" if fault.beside else ""
    return f"{fault.name}, {fault.seconds:.1f} s{beside}"


def _told(judge: Judge) -> str:
    counts = judge.counts
    told = ", ".join(
        f"{counts[each]:,} {each}" for each in ("contested binds", "preemptions", "evictions")
    )
    return f"{told}, {len(judge.wrong)} wrong"
