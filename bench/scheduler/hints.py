"""Pods that few nodes take, perhaps none of the scheduler's sample: how long they wait."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import AsyncIterator, Collection, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from itertools import count
from random import Random
from statistics import median

from bench.scheduler.cluster import say
from bench.tables import table
from extender.core.config.features import Help, switch_of
from tests.e2e.api import for_each
from tests.e2e.bursts import create
from tests.e2e.extending import REPLACE, Extender
from tests.e2e.objects import JSON, node, pod, term
from tests.e2e.sandbox import Sandbox, pod_path, pods_path
from tests.e2e.scheduling import STOCK, Scheduler, configured, shipped

ON, OFF = f"{REPLACE}, hints on", f"{REPLACE}, hints off"
ALL = f"{OFF}, all nodes asked about"
"""With `percentageOfNodesToScore: 100` in the scheduler's file."""
SIDES = (STOCK, ON, OFF, ALL)
CAUGHT_UP_S = 10.0
"""Until the programs have read what is there."""
SETTLED_S = 2.0
"""Until they have heard of nodes."""
PATIENCE_S = 40.0
"""For one pod; one that waits for longer is deleted."""
MOST_S = 80.0
"""For one case; then no more pods come, once FEWEST did."""
FEWEST = 3
LIFE_S = 1.0
"""Between two times at which one to three pods without rules come: a scheduler tries a pod that an
extender refused again when anything happens, and each pod moves on where the next sample begins."""
UNSCHEDULABLE = re.compile(
    r'^scheduler_schedule_attempts_total\{[^}]*result="unschedulable"[^}]*\} (\S+)$', re.MULTILINE
)


@dataclass(frozen=True, slots=True)
class Case:
    name: str
    share: float
    """Of the nodes that fit; one node at least."""
    late: bool = False
    """Whether the nodes that fit come last, as those that an autoscaler adds: they follow each
    other in the scheduler's cache, where those that it has listed are in no order."""
    alive: bool = True
    """Whether pods without rules come meanwhile."""

    @property
    def label(self) -> str:
        return self.name.replace(" ", "-").replace("%", "percent").replace(",", "")

    def fitting(self, nodes: int) -> int:
        return max(round(self.share * nodes), 1)

    def homes(self, names: Sequence[str]) -> frozenset[str]:
        """Return the nodes that fit."""
        return frozenset(Random(self.name).sample(names, self.fitting(len(names))))


CASES = (
    Case("50 %", 0.5),
    Case("10 %", 0.1),
    Case("1 %", 0.01),
    Case("1 %, added last", 0.01, late=True),
    Case("0.1 %", 0.001),
    Case("one node", 0.0),
    Case("one node, nothing else happens", 0.0, alive=False),
)


@dataclass(frozen=True, slots=True)
class Outcome:
    nodes: int
    case: str
    fitting: int
    side: str
    bound: list[float] = field(default_factory=list)
    """Seconds until each was bound; PATIENCE_S where it was not."""
    tries: list[int] = field(default_factory=list)


async def measure(
    sandbox: Sandbox, sizes: Sequence[int], pods: int, sides: Sequence[str]
) -> list[Outcome]:
    """Let pods come one after the other, by each side in turn on the same nodes."""
    outcomes = []
    for nodes in sizes:
        names = [f"n{number:05}" for number in range(nodes)]
        cases = [each for each in CASES if not each.share or each.fitting(nodes) > 1]
        await _fill(sandbox, names, cases)
        for side in sides:
            async with _scheduled(sandbox, side) as scheduler:
                await asyncio.sleep(CAUGHT_UP_S)
                for case in cases:
                    outcome = Outcome(nodes, case.name, case.fitting(nodes), side)
                    async with _life(sandbox, case, side):
                        if case.late:
                            await _add_last(sandbox, case.homes(names))
                        await _come(sandbox, scheduler, case, outcome, pods)
                    say(str(outcome))
                    outcomes.append(outcome)
        await sandbox.clear()
    return outcomes


async def _fill(sandbox: Sandbox, names: Sequence[str], cases: Sequence[Case]) -> None:
    """Add nodes with a rack label for each case; a pod holds the rack of all that do not fit."""
    homes = {case.label: case.homes(names) for case in cases}

    def made(name: str) -> JSON:
        racks = {key: "free" if name in there else "taken" for key, there in homes.items()}
        bare = node(name)
        bare["metadata"]["labels"] |= racks
        return bare

    await for_each(map(made, names), sandbox.add)
    for case in cases:
        taken = next(each for each in names if each not in homes[case.label])
        await create(sandbox, [pod(f"on-{case.label}", labels={"app": case.label}, on=taken)])


async def _add_last(sandbox: Sandbox, names: Collection[str]) -> None:
    """Delete some nodes, and add them again once the scheduler has placed pods without them."""
    made = [await sandbox.api.get(f"/api/v1/nodes/{name}") for name in names]
    for each in made:
        await sandbox.api.delete(f"/api/v1/nodes/{each['metadata']['name']}")
        each["metadata"] = {key: each["metadata"][key] for key in ("name", "labels")}
    await asyncio.sleep(SETTLED_S)
    await for_each(made, sandbox.add)
    await asyncio.sleep(SETTLED_S)


async def _come(
    sandbox: Sandbox, scheduler: Scheduler, case: Case, outcome: Outcome, pods: int
) -> None:
    began, rule = time.monotonic(), [term(case.label, {"app": case.label})]
    for number in range(pods):
        if number >= FEWEST and time.monotonic() - began > MOST_S:
            return
        # Not in step with the others.
        await asyncio.sleep(LIFE_S * number / pods)
        wanted = pod(f"{_slug(outcome.side)}-{case.label}-{number}", apart=rule)
        refused = await _refused(scheduler)
        outcome.bound.append(await _bound(sandbox, wanted))
        outcome.tries.append(await _refused(scheduler) - refused + 1)
        if outcome.bound[-1] == PATIENCE_S:
            await sandbox.api.delete(pod_path(wanted))


async def _bound(sandbox: Sandbox, wanted: JSON) -> float:
    key = f"default/{wanted['metadata']['name']}"
    start = time.monotonic()
    await sandbox.api.create(pods_path(wanted), wanted)
    try:
        await sandbox.pods.until(lambda: key in sandbox.places(), PATIENCE_S, "its place")
    except AssertionError:
        return PATIENCE_S
    return time.monotonic() - start


@asynccontextmanager
async def _life(sandbox: Sandbox, case: Case, side: str) -> AsyncIterator[None]:
    async def come() -> None:
        dice = Random(case.name)
        for number in count():
            names = (f"{_slug(side)}-{case.label}-{number}-{k}" for k in range(dice.randint(1, 3)))
            await create(sandbox, [pod(f"plain-{name}") for name in names])
            await asyncio.sleep(LIFE_S)

    coming = asyncio.create_task(come()) if case.alive else None
    try:
        yield
    finally:
        if coming is not None:
            coming.cancel()


async def _refused(scheduler: Scheduler) -> int:
    """Return how many tries found no node."""
    return sum(int(float(each)) for each in UNSCHEDULABLE.findall(await scheduler.metrics()))


@asynccontextmanager
async def _scheduled(sandbox: Sandbox, side: str) -> AsyncIterator[Scheduler]:
    if side == STOCK:
        async with sandbox.scheduled_by(STOCK) as scheduler:
            yield scheduler
        return
    block, _, switch = (switch_of(Help.NODE) or "").partition(".")
    fields = {block: {switch: side == ON}}
    folder, control_plane = sandbox.folder(_slug(side)), sandbox.control_plane
    async with Extender.running(control_plane, REPLACE, folder, fields=fields) as extender:
        config = shipped(REPLACE, extender.url)
        if side == ALL:
            config["percentageOfNodesToScore"] = 100
        async with configured(control_plane, config, folder) as scheduler:
            yield scheduler


def _slug(side: str) -> str:
    return f"s{SIDES.index(side)}"


def as_markdown(outcomes: Sequence[Outcome]) -> str:
    head = ("nodes", "of which fit", "pods", *(f"{side}: s (tries)" for side in SIDES))
    rows = {(each.nodes, each.case, each.fitting): each for each in outcomes}
    by_side = {(each.nodes, each.case, each.side): each for each in outcomes}
    return table(
        head,
        [
            (
                f"{nodes:,}",
                f"{case} ({fitting:,})",
                "/".join(str(len(each.bound)) for each in found if each is not None),
                *("" if each is None else _told(each) for each in found),
            )
            for nodes, case, fitting in rows
            for found in [[by_side.get((nodes, case, side)) for side in SIDES]]
        ],
    )


def _told(outcome: Outcome) -> str:
    """Return median and range of the seconds, and of the tries."""
    seconds, tries = sorted(outcome.bound), outcome.tries
    shown = [_seconds(each) for each in (median(seconds), seconds[0], seconds[-1])]
    return f"{shown[0]}, {shown[1]} to {shown[2]} ({median(tries):.0f}, at most {max(tries)})"


def _seconds(seconds: float) -> str:
    return f"over {PATIENCE_S:.0f}" if seconds == PATIENCE_S else f"{seconds:.2f}"
