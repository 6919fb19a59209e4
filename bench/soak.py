"""Hours of pods that come and go, with every feature on: `python -m bench.soak --seconds 28800`.

What is measured is written every minute, as the last piece of the report, so that it may be ended
at any time.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import sys
import time
from asyncio.subprocess import Process
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass
from itertools import count
from pathlib import Path
from statistics import linear_regression, median, quantiles
from typing import Any, Final

import aiohttp

from bench.machine import machine, revision
from bench.output import add_files
from bench.scheduler.cluster import control_plane_in, say
from bench.soaking import LIVES_S, Caller, space
from bench.tables import table
from extender.core.config.features import features
from tests.e2e.access import grant_shipped_role
from tests.e2e.api import Api
from tests.e2e.controlplane.cluster import ControlPlane
from tests.e2e.controlplane.credentials import ADMIN
from tests.e2e.extending import EXTENDER, REPLACE, Extender
from tests.features.every import routes, switched_on

EVERY_S: Final = 60
_PAGES_S: Final = 10
_MIB: Final = 1 << 20
_HOUR: Final = 3600
AS_IN_THE_IMAGE: Final = {"MALLOC_MMAP_THRESHOLD_": "131072"}
"""In the environment, for the C library to give back what was large."""


@dataclass(frozen=True, slots=True)
class Figures:
    """The extender at one moment, and what it did since the one before."""

    at: float
    """Seconds since the first pod."""
    mib: float
    files: int
    tasks: int
    events: int
    """Since it was started, as are the calls."""
    calls: int
    p99: float
    """Milliseconds of filter and prioritize."""


def everything_on() -> dict[str, Any]:
    """Return a configuration with all features on that mode `replace` can have."""
    fields: dict[str, Any] = {}
    for each in features():
        for name, value in switched_on(each.name).items():
            lists = isinstance(value, list) and name in fields
            fields[name] = [*dict.fromkeys([*fields[name], *value])] if lists else value
    return {**fields, "mode": REPLACE}


@asynccontextmanager
async def soaked(
    control_plane: ControlPlane, folder: Path
) -> AsyncIterator[tuple[Extender, Caller]]:
    """Run the extender, the users of the API server and a scheduler's calls."""
    ca = control_plane.credentials.ca
    async with (
        Api.connected(control_plane.server, ADMIN.token, ca) as api,
        api.mirror("/api/v1/nodes") as nodes,
    ):
        await grant_shipped_role(api, EXTENDER)
        async with Extender.running(
            control_plane, REPLACE, folder, fields=everything_on()
        ) as extender:
            caller = Caller(api, extender.url, lambda: [*nodes.objects])
            yield extender, caller


@asynccontextmanager
async def under_load(
    control_plane: ControlPlane, extender: Extender, caller: Caller
) -> AsyncIterator[asyncio.Task[None]]:
    """Have pods come and go, and questions asked, by a task that is done only if it fails."""
    whom = [control_plane.server, ADMIN.token, str(control_plane.credentials.ca)]
    users = await asyncio.create_subprocess_exec(sys.executable, "-m", "bench.soaking", *whom)
    load = asyncio.create_task(_load(users, extender, caller))
    try:
        yield load
    finally:
        load.cancel()
        if users.returncode is None:
            users.terminate()
        await asyncio.gather(load, users.wait(), return_exceptions=True)


async def _load(users: Process, extender: Extender, caller: Caller) -> None:
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(_outlive(users))
        tasks.create_task(caller.run())
        tasks.create_task(_ask_for_pages(extender))


async def _outlive(users: Process) -> None:
    raise RuntimeError(f"the API server's users ended with {await users.wait()}")


async def look(extender: Extender, caller: Caller, at: float) -> Figures:
    spent, caller.spent = caller.spent, []
    return Figures(
        round(at, 1),
        round(await extender.total("process_resident_memory_bytes") / _MIB, 2),
        await extender.total("process_open_fds"),
        await extender.total("affinity_extender_event_loop_tasks"),
        await extender.total("affinity_extender_watch_events_total"),
        caller.calls,
        round(quantiles(spent, n=100)[98] * 1000, 2) if len(spent) > 1 else 0.0,
    )


async def _ask_for_pages(extender: Extender) -> None:
    """Look at all pages there are, again and again."""
    paths = [path for each in features() for path in routes(each.name)]
    async with aiohttp.ClientSession() as session:
        while True:
            now = int(time.time()) - LIVES_S // 2
            pod = f"/explain?namespace={space(now)}&pod=refused-{now}-0"
            for path in (*paths, pod, "/configz", "/readyz?verbose"):
                async with session.get(f"{extender.ops_url}{path}") as answer:
                    await answer.read()
            await asyncio.sleep(_PAGES_S)


async def soak(
    control_plane: ControlPlane,
    folder: Path,
    seconds: float,
    every: float,
    put: Callable[[Sequence[Figures]], None],
) -> None:
    """Go on for that long, and hand over all figures so far after each look."""
    async with (
        soaked(control_plane, folder) as (extender, caller),
        under_load(control_plane, extender, caller) as load,
    ):
        began, found = time.monotonic(), list[Figures]()
        for number in count(1):
            due = began + min(number * every, seconds)
            done, _ = await asyncio.wait([load], timeout=max(0.0, due - time.monotonic()))
            for each in done:
                each.result()
            found.append(await look(extender, caller, time.monotonic() - began))
            put(found)
            if found[-1].at >= seconds:
                break


def slope(figures: Sequence[Figures]) -> float:
    """Return by how many MiB an hour the resident set grows over the last half."""
    half = figures[len(figures) // 2 :]
    if len(half) < 2:
        return 0.0
    return linear_regression([each.at / _HOUR for each in half], [each.mib for each in half])[0]


def _row(piece: Mapping[str, Any]) -> list[str]:
    figures = [Figures(**each) for each in piece["figures"]]
    first, last = figures[0], figures[-1]
    tenth = max(1, len(figures) // 10)
    spent = last.at - first.at or 1.0
    ends = figures[:tenth], figures[-tenth:]

    def both(what: Callable[[Figures], float], form: str = ".0f") -> str:
        return " → ".join(f"{median(map(what, each)):{form}}" for each in ends)

    return [
        piece["revision"],
        f"{last.at / 60:.0f}",
        f"{(last.events - first.events) / spent:.0f}",
        f"{(last.calls - first.calls) / spent:.0f}",
        f"{first.mib:.0f} → {last.mib:.0f}",
        f"{slope(figures):+.1f}",
        both(lambda each: each.files),
        both(lambda each: each.tasks),
        both(lambda each: each.p99, ".1f"),
    ]


def as_markdown(pieces: Sequence[Mapping[str, Any]]) -> str:
    head = ["revision", "minutes", "events/s", "calls/s", "resident, MiB", "slope, MiB/h"]
    head += ["open files", "tasks", "p99, ms"]
    lines = [
        f"Measured on {pieces[-1]['machine']}.",
        (
            "Every feature on in mode `replace`, over a real API server. Pods come with names and "
            "labels that none had before. The slope is that of the last half; files, tasks and the "
            "99th percentile of filter and prioritize: medians of the first tenth → of the last. "
            "That is the caller's time: beside other work, most of it is waiting for a core."
        ),
        table(head, [_row(each) for each in pieces]),
    ]
    for number, piece in enumerate(pieces, 1):
        figures = piece["figures"]
        step = max(1, len(figures) // 12)
        shown = [*figures[::step], *([] if (len(figures) - 1) % step == 0 else [figures[-1]])]
        rows = [
            [
                f"{each['at'] / 60:.0f}",
                f"{each['mib']:.1f}",
                str(each["files"]),
                str(each["tasks"]),
                f"{each['p99']:.1f}",
            ]
            for each in shown
        ]
        lines += [
            f"Piece {number}:",
            table(["minute", "resident, MiB", "open files", "tasks", "p99, ms"], rows),
        ]
    return "\n\n".join(lines)


def _pieces(file: Path | None) -> list[dict[str, Any]]:
    if file is None or not file.exists():
        return []
    found: list[dict[str, Any]] = json.loads(file.read_text())["pieces"]
    return found


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.soak", description=__doc__)
    parser.add_argument("--seconds", type=float, default=8 * _HOUR)
    parser.add_argument("--every", type=float, default=EVERY_S, help="seconds between figures")
    add_files(parser)
    args = parser.parse_args()
    os.environ |= AS_IN_THE_IMAGE
    earlier = _pieces(args.json)
    this = {"machine": machine(), "revision": revision()}

    def put(figures: Sequence[Figures]) -> None:
        pieces = [*earlier, {**this, "figures": [asdict(each) for each in figures]}]
        say(str(figures[-1]))
        if args.markdown is not None:
            args.markdown.write_text(as_markdown(pieces) + "\n")
        if args.json is not None:
            lines = json.dumps({"pieces": pieces}, indent=1)
            args.json.write_text(lines + "\n")

    with control_plane_in(say) as (running, folder):
        asyncio.run(soak(running, folder, args.seconds, args.every, put))


if __name__ == "__main__":
    main()
