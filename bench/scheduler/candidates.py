"""Preemption for lack of room where few nodes obey the rule: how many candidates it takes."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from statistics import median

from bench.scheduler.cluster import say
from bench.tables import table
from tests.e2e.bursts import create
from tests.e2e.extending import REPLACE, Extender
from tests.e2e.objects import ZONE, node
from tests.e2e.preempting import HIGH, db, ensure_classes, fill, plain, wants
from tests.e2e.sandbox import Sandbox
from tests.e2e.scheduling import STOCK, Scheduler, configured, shipped

DEFAULT, ALL = 10, 100
"""minCandidateNodesPercentage."""
SETTINGS = ((STOCK, DEFAULT), (REPLACE, DEFAULT), (REPLACE, ALL))
CAUGHT_UP_S = 10.0
"""Until the programs have read what is there."""
POST_FILTER = re.compile(
    r"^scheduler_framework_extension_point_duration_seconds_(sum|count)"
    r'\{[^}]*extension_point="PostFilter"[^}]*\} (\S+)$',
    re.MULTILINE,
)


@dataclass(frozen=True, slots=True)
class Outcome:
    mode: str
    percentage: int
    nodes: int
    bound: list[float]
    """Seconds until each was bound."""
    looking: float
    """Seconds that the scheduler looked for victims, in all (PostFilter, with our answers)."""
    looks: float


async def measure(sandbox: Sandbox, nodes: int, preemptors: int) -> list[Outcome]:
    """Let preemptors come with each setting; there are as many nodes that obey their rule."""
    await ensure_classes(sandbox.api)
    names = [f"n{number:05}" for number in range(nodes)]
    needed = preemptors * len(SETTINGS)
    free = {*names[:: nodes // needed][:needed]}
    await fill(
        sandbox,
        [
            *(node(name, "free" if name in free else "taken", pods=1) for name in names),
            node("rocky", "taken", pods=1),
        ],
        [*(plain(f"on-{name}", name) for name in names), db("rock", "rocky", HIGH)],
    )
    outcomes = []
    for mode, percentage in SETTINGS:
        async with _scheduled(sandbox, mode, percentage) as scheduler:
            await asyncio.sleep(CAUGHT_UP_S)
            bound = [
                await _come(sandbox, f"{mode}-{percentage}-{number}")
                for number in range(preemptors)
            ]
            found = dict(POST_FILTER.findall(await scheduler.metrics()))
        looking, looks = float(found["sum"]), float(found["count"])
        outcomes.append(Outcome(mode, percentage, nodes, bound, looking, looks))
        say(str(outcomes[-1]))
    return outcomes


async def _come(sandbox: Sandbox, name: str) -> float:
    wanted = wants(name, ZONE)
    began = time.monotonic()
    await create(sandbox, [wanted])
    key = f"default/{name}"
    await sandbox.pods.until(lambda: key in sandbox.places(), CAUGHT_UP_S * 6, "the place")
    return time.monotonic() - began


@asynccontextmanager
async def _scheduled(sandbox: Sandbox, mode: str, percentage: int) -> AsyncIterator[Scheduler]:
    if percentage == DEFAULT:
        async with sandbox.scheduled_by(mode) as scheduler:
            yield scheduler
        return
    folder, control_plane = sandbox.folder(f"{mode}-{percentage}"), sandbox.control_plane
    async with Extender.running(control_plane, mode, folder) as extender:
        config = shipped(mode, extender.url)
        args = {"minCandidateNodesPercentage": percentage}
        config["profiles"][0]["pluginConfig"] = [{"name": "DefaultPreemption", "args": args}]
        async with configured(control_plane, config, folder) as scheduler:
            yield scheduler


def as_markdown(outcomes: Sequence[Outcome]) -> str:
    head = ("mode", "minCandidateNodesPercentage", "nodes", "bound after, s (median, worst)")
    return table(
        (*head, "looking for victims, ms each time"),
        [
            (
                each.mode,
                str(each.percentage),
                f"{each.nodes:,}",
                f"{median(each.bound):.2f}, {max(each.bound):.2f}",
                f"{1000 * each.looking / each.looks:.0f}",
            )
            for each in outcomes
        ],
    )
