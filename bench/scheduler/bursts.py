"""Bursts of pods that get in each other's way: how long, and how many binds were refused."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from dataclasses import dataclass

from bench.scheduler.cluster import say
from bench.tables import table
from tests.e2e.bursts import Burst, apart_by_zone, arrived, exclusive, gathering, worked_off
from tests.e2e.extending import REPLACE
from tests.e2e.sandbox import Sandbox
from tests.e2e.scheduling import STOCK

Run = Callable[[Sandbox, Burst, str], AbstractAsyncContextManager[float]]

_LOOK_EVERY_S = 0.1

SCENARIOS: dict[str, tuple[Burst, Run]] = {
    "300 exclusive pods on 300 nodes, at once": (exclusive(300), arrived),
    "100 apps of 3, apart by zone, 30 nodes, a backlog": (apart_by_zone(100, 30), worked_off),
    "200 pods that share a zone, at once": (gathering(200), arrived),
}


@dataclass(frozen=True, slots=True)
class Outcome:
    """One burst, once; what is counted stays 0 where no extender binds."""

    scenario: str
    mode: str
    seconds: float
    broken: int
    """Placements against a required rule."""
    bound: int = 0
    refused: int = 0
    """Binds that we refused: a conflict."""
    held: int = 0
    """Filter calls that waited for pods in flight."""
    reserved: int = 0
    """Most reservations at a time, looked at every tenth of a second."""


async def measure(sandbox: Sandbox, repeats: int) -> list[Outcome]:
    """Run every scenario, stock and in replace in turn."""
    outcomes = []
    for repeat in range(repeats):
        for scenario in SCENARIOS:
            for mode in (STOCK, REPLACE):
                outcomes.append(await _run(sandbox, scenario, mode))
                say(f"{repeat + 1}/{repeats} {outcomes[-1]}")
                await sandbox.clear()
    return outcomes


async def _run(sandbox: Sandbox, scenario: str, mode: str) -> Outcome:
    burst, run = SCENARIOS[scenario]
    async with _reservations(sandbox) as reserved, run(sandbox, burst, mode) as seconds:
        broken = len((await sandbox.checker()).broken_rules())
        if sandbox.extender is None:
            return Outcome(scenario, mode, seconds, broken)
        results = {
            result: await sandbox.extender.counter("affinity_extender_bind_total", result=result)
            for result in ("bound", "refused")
        }
        held = await sandbox.extender.total("affinity_extender_filter_hold_seconds_count")
        return Outcome(
            scenario, mode, seconds, broken, **results, held=held, reserved=max(reserved)
        )


@asynccontextmanager
async def _reservations(sandbox: Sandbox) -> AsyncIterator[list[int]]:
    """Look at the reservations again and again, whenever there is an extender to ask."""
    seen = [0]

    async def look() -> None:
        while True:
            await asyncio.sleep(_LOOK_EVERY_S)
            if sandbox.extender is not None:
                seen.append(await sandbox.extender.total("affinity_extender_reservations"))

    looking = asyncio.create_task(look())
    try:
        yield seen
    finally:
        looking.cancel()
        with suppress(asyncio.CancelledError):
            await looking


def as_markdown(outcomes: Sequence[Outcome]) -> str:
    """Return all runs of a scenario in one line, seconds as best and worst."""
    head = ("burst", "stock, s", "replace, s", "broken rules", "binds", "refused")
    more = ("conflicts per 1,000 binds", "filters held", "most reserved at a time")
    return table((*head, *more), [_line(scenario, outcomes) for scenario in SCENARIOS])


def _line(scenario: str, outcomes: Sequence[Outcome]) -> tuple[str, ...]:
    of_stock, ours = (
        [each for each in outcomes if (each.scenario, each.mode) == (scenario, mode)]
        for mode in (STOCK, REPLACE)
    )
    bound, refused, held = (
        sum(getattr(each, name) for each in ours) for name in ("bound", "refused", "held")
    )
    return (
        f"{scenario}, {len(ours)} times",
        *(_range([each.seconds for each in them]) for them in (of_stock, ours)),
        str(sum(each.broken for each in ours)),
        str(bound),
        str(refused),
        f"{1000 * refused / (bound + refused):.1f}",
        str(held),
        str(max(each.reserved for each in ours)),
    )


def _range(seconds: Sequence[float]) -> str:
    return f"{min(seconds):.1f} to {max(seconds):.1f}"
