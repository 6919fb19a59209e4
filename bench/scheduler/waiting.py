"""Pods that wait, and what they cost those that come."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from dataclasses import dataclass

from bench.scheduler.cluster import say
from bench.tables import table
from tests.e2e.bursts import create
from tests.e2e.extending import REPLACE
from tests.e2e.objects import HOSTNAME, JSON, node, pod, term
from tests.e2e.sandbox import Sandbox, pods_path, refusal
from tests.e2e.scheduling import STOCK, Scheduler

NODES, COMING = 100, 1000
_SETTLED_S = 180.0
_QUIET_S = 3.0


@dataclass(frozen=True, slots=True)
class Outcome:
    mode: str
    waiting: int
    a_second: int
    """How many came a second; 0 when all came at once."""
    seconds: float
    """From the first that came until the last was bound."""
    calls: int
    """Filter calls meanwhile."""
    extender_cpu: float
    scheduler_cpu: float


async def measure(sandbox: Sandbox, waiting: int) -> list[Outcome]:
    """Let plain pods come at once and one by one, with and without others that wait."""
    outcomes = []
    for rate in (0, 50):
        for mode in (STOCK, REPLACE):
            for count in (0, waiting):
                outcomes.append(await _run(sandbox, mode, count, rate))
                say(str(outcomes[-1]))
                await sandbox.clear()
    return outcomes


async def _run(sandbox: Sandbox, mode: str, waiting: int, rate: int) -> Outcome:
    taken = {"app": "taken"}
    await sandbox.add(*(node(f"n{n:03}") for n in range(NODES)))
    await create(sandbox, [pod(f"taken-{n}", labels=taken, on=f"n{n:03}") for n in range(NODES)])
    rule = [term(HOSTNAME, taken)]
    await create(sandbox, [pod(f"waits-{n}", apart=rule) for n in range(waiting)])
    async with sandbox.scheduled_by(mode) as scheduler:
        await sandbox.pods.until(
            lambda: (
                sum(refusal(each) is not None for each in sandbox.pods.objects.values()) >= waiting
            ),
            _SETTLED_S,
            "all of them to be refused",
        )
        await asyncio.sleep(_QUIET_S)
        before = await _counts(sandbox, scheduler)
        start = time.monotonic()
        await _come([pod(f"plain-{n}") for n in range(COMING)], sandbox, rate)
        await sandbox.pods.until(
            lambda: len(sandbox.places()) >= NODES + COMING,
            _SETTLED_S,
            "the plain pods to be bound",
        )
        seconds = time.monotonic() - start
        spent = [
            after - early
            for after, early in zip(await _counts(sandbox, scheduler), before, strict=True)
        ]
    return Outcome(mode, waiting, rate, seconds, int(spent[0]), spent[1], spent[2])


async def _come(pods: list[JSON], sandbox: Sandbox, rate: int) -> None:
    if not rate:
        await create(sandbox, pods)
        return
    start = time.monotonic()
    for number, each in enumerate(pods):
        await asyncio.sleep(start + number / rate - time.monotonic())
        await sandbox.api.create(pods_path(each), each)


async def _counts(sandbox: Sandbox, scheduler: Scheduler) -> tuple[float, float, float]:
    if sandbox.extender is None:
        return 0, 0.0, scheduler.process.cpu_seconds()
    calls = await sandbox.extender.calls("filter")
    return calls, sandbox.extender.cpu_seconds(), scheduler.process.cpu_seconds()


def as_markdown(outcomes: Sequence[Outcome]) -> str:
    head = ("mode", "waiting", "plain pods come", "bound a second", "filter calls a plain pod")
    return table(
        (*head, "extender CPU, s", "scheduler CPU, s"),
        [
            (
                each.mode,
                f"{each.waiting:,}",
                f"{each.a_second} a second" if each.a_second else "at once",
                f"{COMING / each.seconds:.0f}",
                f"{each.calls / COMING:.1f}",
                f"{each.extender_cpu:.1f}",
                f"{each.scheduler_cpu:.1f}",
            )
            for each in outcomes
        ],
    )
