"""Important pods that come all at once, each of which needs a less important one to go."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace

from bench.scheduler.cluster import say
from bench.tables import table
from tests.e2e.bursts import create
from tests.e2e.extending import REPLACE, Extender
from tests.e2e.preempting import crowd, ensure_classes, fill
from tests.e2e.sandbox import Sandbox
from tests.e2e.scheduling import STOCK

PATIENCE_S = 180.0
DURATION = "affinity_extender_request_duration_seconds"
SLOW_S = "0.1024"
"""The bucket of that histogram that is nearest to 100 ms."""
VERBS = ("filter", "prioritize", "preempt", "bind")
QPS = 200
"""What replace.yaml allows; the scheduler alone has the same here."""


@dataclass(frozen=True, slots=True)
class Outcome:
    mode: str
    preemptors: int
    seconds: float
    """From the first that came until the last was bound."""
    broken: int
    """Placements against a required rule."""
    scheduler_cpu: float
    calls: int = 0
    """Filter calls."""
    slow: int = 0
    """Calls that took longer than SLOW_S, and that the scheduler waits for: all but binds."""
    slow_binds: int = 0
    """Binds that took longer, beside which it goes on."""
    extender_cpu: float = 0.0


async def measure(
    sandbox: Sandbox, preemptors: int, repeats: int, modes: Sequence[str] = (STOCK, REPLACE)
) -> list[Outcome]:
    """Let them come, stock and in replace in turn."""
    await ensure_classes(sandbox.api)
    outcomes = []
    for _ in range(repeats):
        for mode in modes:
            outcomes.append(await _run(sandbox, mode, preemptors))
            say(str(outcomes[-1]))
            await sandbox.clear()
    return outcomes


async def _run(sandbox: Sandbox, mode: str, count: int) -> Outcome:
    burst = crowd(count)
    await fill(sandbox, burst.nodes, burst.seeds)
    async with sandbox.scheduled_by(mode, qps=QPS) as scheduler:
        before = scheduler.process.cpu_seconds()
        start = time.monotonic()
        await create(sandbox, burst.pods)
        await sandbox.pods.until(
            lambda: len(sandbox.places()) == count and not sandbox.waiting(),
            PATIENCE_S,
            "all of them to be bound",
        )
        seconds = time.monotonic() - start
        spent = scheduler.process.cpu_seconds() - before
        broken = len((await sandbox.checker()).broken_rules())
        outcome = Outcome(mode, count, seconds, broken, spent)
        if sandbox.extender is None:
            return outcome
        slow = {verb: await _slow(sandbox.extender, verb) for verb in VERBS}
        return replace(
            outcome,
            calls=await sandbox.extender.calls("filter"),
            slow=sum(slow.values()) - slow["bind"],
            slow_binds=slow["bind"],
            extender_cpu=sandbox.extender.cpu_seconds(),
        )


async def _slow(extender: Extender, verb: str) -> int:
    """Return how many calls took longer than SLOW_S."""
    quick = await extender.counter(f"{DURATION}_bucket", verb=verb, le=SLOW_S)
    return await extender.counter(f"{DURATION}_count", verb=verb) - quick


def as_markdown(outcomes: Sequence[Outcome]) -> str:
    head = ("mode", "preemptors", "seconds", "broken rules", "filter calls")
    slow = ("calls over 100 ms", "binds over 100 ms")
    return table(
        (*head, *slow, "extender CPU, s", "scheduler CPU, s"),
        [
            (
                each.mode,
                str(each.preemptors),
                f"{each.seconds:.1f}",
                str(each.broken),
                f"{each.calls:,}",
                str(each.slow),
                str(each.slow_binds),
                f"{each.extender_cpu:.1f}",
                f"{each.scheduler_cpu:.1f}",
            )
            for each in outcomes
        ],
    )
