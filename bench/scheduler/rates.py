"""Whole schedulers side by side: pods placed a second, and how good the places are."""

from __future__ import annotations

import asyncio
import re
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from statistics import median

from bench.scheduler.cluster import say
from bench.scheduler.floor import scheduled_by_echo
from bench.scheduler.workloads import Workload
from bench.tables import table
from tests.conformance.programs import FAST_PATH
from tests.e2e.api import for_each, key_of
from tests.e2e.bursts import create
from tests.e2e.extending import ASSIST, REPLACE, SHADOW
from tests.e2e.objects import JSON, ZONE
from tests.e2e.sandbox import Sandbox, pod_path
from tests.e2e.scheduling import STOCK, Scheduler

ECHOES = {f"{mode}, echo": mode for mode in (ASSIST, REPLACE)}
"""What the scheduler is told, with a server behind it that does not think: as fast as it gets."""
FAST = "stock, fast path"
"""Stock with the feature gate for rules by hostname switched on."""
UNBATCHED = "stock, no batching"
"""Stock as it is beside any extender: no equal pods are placed together (OpportunisticBatching)."""
MODES = (STOCK, FAST, ASSIST, REPLACE, *ECHOES)
FURTHER = (UNBATCHED, SHADOW)
_GATES = {FAST: FAST_PATH, UNBATCHED: "OpportunisticBatching=false"}
QPS = 1000
"""For every scheduler: with the default of 50, that is what would be measured."""
_PATIENCE_S = 600.0
_SLOWEST = 10
"""Pods a second."""
_ALGORITHM = "scheduler_scheduling_algorithm_duration_seconds"
_STEADY = (0.1, 0.9)
"""The part of the pods that the rate is taken of: neither the start nor the end."""


@dataclass(frozen=True, slots=True)
class Outcome:
    workload: str
    mode: str
    rate: float
    """Pods bound a second."""
    algorithm: float
    """Mean of scheduler_scheduling_algorithm_duration_seconds, in milliseconds."""
    extender_cpu: float
    """Milliseconds of the extender's processor time for a pod."""
    sharing: int | None
    """Measured pods that share a host with another of their kind; None when places are random."""
    spread: str
    """Measured pods in each zone, fewest and most."""


@dataclass(frozen=True, slots=True)
class Placed:
    """How fast some pods were placed."""

    rate: float
    """Pods bound a second."""
    algorithm: float
    """Mean of scheduler_scheduling_algorithm_duration_seconds, in milliseconds."""
    extender_cpu: float
    """Milliseconds of the extender's processor time for a pod."""


async def measure(
    sandbox: Sandbox, workload: Workload, rounds: int, modes: Sequence[str] = MODES
) -> list[Outcome]:
    """Build the cluster once, and let each scheduler place the same pods on it in turn."""
    say(f"{workload.name}: {workload.nodes:,} nodes, {workload.existing:,} pods")
    await build(sandbox, workload.namespaces, workload.all_nodes(), workload.all_existing())
    outcomes = []
    for _ in range(rounds):
        for mode in modes:
            outcomes.append(await _run(sandbox, workload, mode))
            say(str(outcomes[-1]))
    await sandbox.clear()
    return outcomes


async def build(
    sandbox: Sandbox, namespaces: Iterable[JSON], nodes: Iterable[JSON], pods: Iterable[JSON] = ()
) -> None:
    """Create what is there before anything is measured."""
    await sandbox.add(*namespaces)
    await for_each(nodes, sandbox.add)
    await create(sandbox, pods)


async def _run(sandbox: Sandbox, workload: Workload, mode: str) -> Outcome:
    pods = workload.all_measured()
    keys = {key_of(each) for each in pods}
    placed = await place(sandbox, pods, _scheduled_by(sandbox, mode, workload))
    outcome = Outcome(
        workload.name,
        mode,
        placed.rate,
        placed.algorithm,
        placed.extender_cpu,
        None if mode in ECHOES else _sharing(sandbox, keys),
        "" if mode in ECHOES else _spread(sandbox, keys, workload),
    )
    await remove(sandbox, pods)
    return outcome


async def place(
    sandbox: Sandbox, pods: Sequence[JSON], scheduling: AbstractAsyncContextManager[Scheduler]
) -> Placed:
    """Have pods placed that wait when the scheduler starts; they stay in their places."""
    sandbox.pods.history.clear()
    await create(sandbox, pods)
    keys = {key_of(each) for each in pods}
    binds = asyncio.create_task(_bind_times(sandbox, keys))
    async with scheduling as scheduler:
        cpu = sandbox.extender.cpu_seconds() if sandbox.extender else 0.0
        times = await binds
        cpu = (sandbox.extender.cpu_seconds() if sandbox.extender else 0.0) - cpu
        algorithm = await _mean_algorithm_seconds(scheduler)
    return Placed(_rate(times), 1000 * algorithm, 1000 * cpu / len(pods))


def _scheduled_by(
    sandbox: Sandbox, mode: str, workload: Workload
) -> AbstractAsyncContextManager[Scheduler]:
    if mode in ECHOES:
        return scheduled_by_echo(sandbox, ECHOES[mode], scored=workload.scored, qps=QPS)
    if mode in _GATES:
        return sandbox.scheduled_by(STOCK, qps=QPS, gates=(_GATES[mode],))
    return sandbox.scheduled_by(mode, qps=QPS)


async def _bind_times(sandbox: Sandbox, keys: set[str]) -> list[float]:
    """Return when each of the pods was seen with a node."""
    seen: dict[str, float] = {}
    async with asyncio.timeout(max(_PATIENCE_S, len(keys) / _SLOWEST)):
        async for state in sandbox.pods.changes():
            key = key_of(state)
            if key in keys and state["spec"].get("nodeName"):
                seen.setdefault(key, time.monotonic())
                if len(seen) == len(keys):
                    break
    return list(seen.values())


def _rate(times: Sequence[float]) -> float:
    first, last = (int(part * (len(times) - 1)) for part in _STEADY)
    return (last - first) / (times[last] - times[first])


async def _mean_algorithm_seconds(scheduler: Scheduler) -> float:
    page = await scheduler.metrics()
    total, count = (
        sum(map(float, re.findall(rf"^{_ALGORITHM}_{part} (\S+)$", page, re.MULTILINE)))
        for part in ("sum", "count")
    )
    return total / count


def _kind(pod: JSON) -> str:
    labels = pod["metadata"]["labels"]
    return str(labels.get("app") or labels["color"])


def _sharing(sandbox: Sandbox, keys: set[str]) -> int:
    """Count the measured pods with one of their kind on the same node, whoever was there first."""
    pods = sandbox.pods.objects
    there = Counter((each["spec"]["nodeName"], _kind(each)) for each in pods.values())
    return sum(there[pods[key]["spec"]["nodeName"], _kind(pods[key])] > 1 for key in keys)


def _spread(sandbox: Sandbox, keys: set[str], workload: Workload) -> str:
    """Return how many measured pods the emptiest and the fullest zone got."""
    zone_of = {
        each["metadata"]["name"]: each["metadata"]["labels"].get(ZONE)
        for each in workload.all_nodes()
    }
    zones = Counter(zone_of[sandbox.pods.objects[key]["spec"]["nodeName"]] for key in keys)
    return f"{min(zones.values())} to {max(zones.values())}" if len(zones) > 1 else ""


async def remove(sandbox: Sandbox, pods: Sequence[JSON]) -> None:
    """Delete pods, and return once they are gone."""
    await for_each(pods, lambda pod: sandbox.api.delete(pod_path(pod)))
    gone = {key_of(each) for each in pods}
    await sandbox.pods.until(lambda: not gone & sandbox.pods.objects.keys(), 60, "pods to be gone")


def as_markdown(outcomes: Sequence[Outcome]) -> str:
    """Return one line for each workload and scheduler, with medians over its rounds.

    So are ratios: from one round to the next the machine may be twice as fast. How many pods the
    zones got is of the last round.
    """
    head = ("workload", "scheduler", "pods/s", "from, to", "÷ stock", "÷ its echo", "algorithm, ms")
    more = ("extender CPU, ms a pod", "share a host", "pods a zone")
    lines = []
    for workload in dict.fromkeys(each.workload for each in outcomes):
        modes = dict.fromkeys(each.mode for each in outcomes)
        rounds = {mode: _rounds(outcomes, workload, mode) for mode in modes}
        for number, (mode, found) in enumerate(rounds.items()):
            rates = [each.rate for each in found]
            cpu = median(each.extender_cpu for each in found)
            sharing = [each.sharing for each in found if each.sharing is not None]
            lines.append(
                (
                    "" if number else workload,
                    mode,
                    f"{median(rates):.0f}",
                    f"{min(rates):.0f}, {max(rates):.0f}",
                    _beside(found, rounds.get(STOCK, ())),
                    _beside(found, rounds.get(f"{mode}, echo", ())),
                    f"{median(each.algorithm for each in found):.1f}",
                    f"{cpu:.1f}" if cpu else "",
                    f"{median(sharing):.0f}" if sharing else "",
                    found[-1].spread,
                )
            )
    return table((*head, *more), lines)


def _rounds(outcomes: Sequence[Outcome], workload: str, mode: str) -> Sequence[Outcome]:
    return [each for each in outcomes if (each.workload, each.mode) == (workload, mode)]


def _beside(found: Sequence[Outcome], others: Sequence[Outcome]) -> str:
    ratios = [one.rate / other.rate for one, other in zip(found, others, strict=False)]
    return f"{median(ratios):.2f}" if ratios else ""
