"""Random preemptions in `replace` beside those of the scheduler alone: who is placed, who goes."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass
from statistics import median

from bench.scheduler.cluster import say
from bench.scheduler.scenarios import NEVER, OTHERS, PRIORITIES, Budget, Scenario, drawn
from bench.tables import table
from tests.e2e.api import for_each
from tests.e2e.bursts import create
from tests.e2e.classes import ensure_priority_class
from tests.e2e.extending import REPLACE
from tests.e2e.objects import JSON
from tests.e2e.preempting import adopt
from tests.e2e.sandbox import Sandbox, pod_path, pods_path
from tests.e2e.scheduling import STOCK

MODES = (STOCK, REPLACE)
VERDICTS = ("the same", "better", "worse by chance", "worse")
QUIET_S = 2.5
"""After so long without a change, nothing more comes."""
PATIENCE_S = 30.0
"""Who has not come to rest by then is taken as it is."""
REPEATS = 2
"""How often a scenario is tried again that came out worse: chance decides much."""
CAUGHT_UP_S = 0.5
"""Until the programs have read what is there."""
LOOK_S = 0.1
BUDGETS = "/apis/policy/v1/namespaces/{}/poddisruptionbudgets"
KUBELET_S = 1.0
"""How long a pod takes to end that has any grace."""


@dataclass(frozen=True, slots=True)
class Outcome:
    seed: int
    mode: str
    placed: dict[str, str]
    """The nodes of those who came."""
    victims: list[str]
    harm: tuple[int, ...]
    """The lower the better: who waits, by priority; budgets overdrawn; victims by priority."""
    overdrawn: int
    by_priority: dict[int, int]
    """How many victims of each priority."""
    seconds: float
    broken: int
    """How many of those who came broke a rule."""


@dataclass(frozen=True, slots=True)
class Compared:
    """A scenario, side by side: the scheduler alone, and `replace`, once or several times."""

    seed: int
    nodes: int
    pairs: list[tuple[Outcome, Outcome]]

    @property
    def verdict(self) -> str:
        """Say how `replace` did: it is worse only if it is so each time."""
        worse = [ours.harm > stock.harm for stock, ours in self.pairs]
        if all(worse):
            return "worse"
        stock, ours = self.pairs[0]
        if worse[0]:
            return "worse by chance"
        return "better" if ours.harm < stock.harm else "the same"


async def measure(sandbox: Sandbox, scenarios: int, first: int) -> list[Compared]:
    """Try each scenario with either; those that came out worse several times."""
    for name, value in PRIORITIES:
        await ensure_priority_class(sandbox.api, name, value)
    await ensure_priority_class(sandbox.api, *NEVER, preemptionPolicy="Never")
    await sandbox.add(OTHERS)
    every = [drawn(seed) for seed in range(first, first + scenarios)]
    found = {mode: await _tried(sandbox, mode, every) for mode in MODES}
    compared = [
        Compared(each.seed, len(each.nodes), [(stock, ours)])
        for each, stock, ours in zip(every, found[STOCK], found[REPLACE], strict=True)
    ]
    worse = [drawn(each.seed) for each in compared if each.verdict == "worse"]
    for _ in range(REPEATS if worse else 0):
        again = {mode: await _tried(sandbox, mode, worse) for mode in MODES}
        pairs = {a.seed: (a, b) for a, b in zip(again[STOCK], again[REPLACE], strict=True)}
        for each in compared:
            if each.seed in pairs:
                each.pairs.append(pairs[each.seed])
    return compared


async def _tried(sandbox: Sandbox, mode: str, scenarios: Sequence[Scenario]) -> list[Outcome]:
    async with sandbox.scheduled_by(mode):
        outcomes = []
        for each in scenarios:
            outcomes.append(await _run(sandbox, mode, each))
            say(f"{mode} {outcomes[-1].seed}: {outcomes[-1]}")
        return outcomes


async def _run(sandbox: Sandbox, mode: str, scenario: Scenario) -> Outcome:
    for budget in scenario.budgets:
        await _budget(sandbox, budget)
    await sandbox.add(*scenario.nodes)
    await create(sandbox, scenario.pods)
    await for_each(scenario.pods, lambda each: _started(sandbox, each))
    await adopt(sandbox, scenario.pods)
    await asyncio.sleep(CAUGHT_UP_S)
    began = time.monotonic()
    for each in scenario.coming:
        await sandbox.api.create(pods_path(each), each)
    rested = await _rest(sandbox)
    outcome = await _outcome(sandbox, mode, scenario, rested - began)
    for namespace in ("default", "others"):
        await sandbox.api.delete(BUDGETS.format(namespace))
    await sandbox.clear()
    return outcome


async def _started(sandbox: Sandbox, pod: JSON) -> None:
    """Say since when a pod runs, which is none of what can be said when it is created."""
    await sandbox.api.patch(f"{pod_path(pod)}/status", {"status": pod["status"]})


async def _budget(sandbox: Sandbox, budget: Budget) -> None:
    """Have a budget in both namespaces; the controller that would keep it does not run."""
    kind = {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget"}
    spec = {"maxUnavailable": 1, "selector": {"matchLabels": {"app": budget.app}}}
    for namespace in ("default", "others"):
        path = BUDGETS.format(namespace)
        made = await sandbox.api.create(
            path, kind | {"metadata": {"name": budget.app}, "spec": spec}
        )
        counts = {"currentHealthy": 9, "desiredHealthy": 9 - budget.allowed, "expectedPods": 9}
        status = {"disruptionsAllowed": budget.allowed, "observedGeneration": 1, **counts}
        await sandbox.api.request("PUT", f"{path}/{budget.app}/status", made | {"status": status})


async def _rest(sandbox: Sandbox) -> float:
    """End pods that have a grace period, as kubelets would; return when the last thing happened."""
    pods = sandbox.pods
    seen, since, ending = (-1, -1), 0.0, dict[str, float]()
    began = time.monotonic()
    while (now := time.monotonic()) - began < PATIENCE_S:
        for each in [*pods.objects.values()]:
            if not each["metadata"].get("deletionTimestamp"):
                continue
            if now - ending.setdefault(each["metadata"]["uid"], now) >= KUBELET_S:
                await sandbox.api.delete(pod_path(each))
        if (told := (len(pods.history), len(pods.objects))) != seen:
            seen, since = told, now
        if now - since >= QUIET_S:
            return since
        await asyncio.sleep(LOOK_S)
    return now


async def _outcome(sandbox: Sandbox, mode: str, scenario: Scenario, seconds: float) -> Outcome:
    gone = _gone(sandbox, {_key(each) for each in scenario.coming})
    values = dict((*PRIORITIES, NEVER))
    by_priority = Counter(values[each["spec"]["priorityClassName"]] for each in gone)
    places = sandbox.places()
    placed = {_key(each): places[_key(each)] for each in scenario.coming if _key(each) in places}
    overdrawn = _overdrawn(scenario, gone)
    levels = sorted({value for _, value in PRIORITIES}, reverse=True)
    waiting = Counter(
        values[each["spec"]["priorityClassName"]]
        for each in scenario.coming
        if _key(each) not in placed
    )
    harm = (
        *(waiting[level] for level in levels),
        overdrawn,
        *(by_priority[level] for level in levels),
    )
    return Outcome(
        scenario.seed,
        mode,
        placed,
        sorted(map(_key, gone)),
        harm,
        overdrawn,
        dict(sorted(by_priority.items())),
        seconds,
        await _broken(sandbox, placed),
    )


def _gone(sandbox: Sandbox, coming: Container[str]) -> list[JSON]:
    """Return the pods that had a place and lost it, successors of others among them."""
    left = {each["metadata"]["uid"] for each in sandbox.pods.objects.values()}
    placed = {
        each["metadata"]["uid"]: each
        for each in sandbox.pods.history
        if each["spec"].get("nodeName") and _key(each) not in coming
    }
    return [each for uid, each in placed.items() if uid not in left]


async def _broken(sandbox: Sandbox, placed: Iterable[str]) -> int:
    """Return how many of those who came are where a rule forbids them to be."""
    lines = (await sandbox.checker()).broken_rules()
    return sum(any(each in line for line in lines) for each in placed)


def _overdrawn(scenario: Scenario, gone: Sequence[JSON]) -> int:
    """Return by how many victims budgets were exceeded."""
    taken = Counter(
        (each["metadata"]["namespace"], each["metadata"]["labels"]["app"]) for each in gone
    )
    allowed = {each.app: each.allowed for each in scenario.budgets}
    return sum(max(0, count - allowed[app]) for (_, app), count in taken.items() if app in allowed)


def _key(each: JSON) -> str:
    return f"{each['metadata']['namespace']}/{each['metadata']['name']}"


def as_markdown(compared: Sequence[Compared]) -> str:
    """Return the sums, and a line for each scenario that came out differently."""
    verdicts = Counter(each.verdict for each in compared)
    told = ", ".join(f"{verdicts[each]} {each}" for each in VERDICTS if verdicts[each])
    sums = [_sums(mode, [each.pairs[0][n] for each in compared]) for n, mode in enumerate(MODES)]
    levels = [f"victims of {value}" for _, value in PRIORITIES]
    head = ("mode", "placed", "victims", *levels, "budgets overdrawn", "seconds to rest (median)")
    differing = [each for each in compared if each.verdict != "the same"]
    return "\n\n".join(
        (
            f"{len(compared)} scenarios: {told}.",
            table((*head, "broken rules"), sums),
            table(
                ("scenario", "nodes", "verdict", "stock: waiting, overdrawn, victims", "replace"),
                [
                    (
                        str(each.seed),
                        str(each.nodes),
                        each.verdict,
                        *("; ".join(_short(pair[n]) for pair in each.pairs) for n in (0, 1)),
                    )
                    for each in differing
                ],
            ),
        )
    )


def _sums(mode: str, outcomes: Sequence[Outcome]) -> tuple[str, ...]:
    levels = [sum(each.by_priority.get(value, 0) for each in outcomes) for _, value in PRIORITIES]
    return (
        mode,
        str(sum(len(each.placed) for each in outcomes)),
        str(sum(levels)),
        *map(str, levels),
        str(sum(each.overdrawn for each in outcomes)),
        f"{median(each.seconds for each in outcomes):.2f}",
        str(sum(each.broken for each in outcomes)),
    )


def _short(outcome: Outcome) -> str:
    waiting, victims = outcome.harm[: len(PRIORITIES)], outcome.harm[-len(PRIORITIES) :]
    return f"{'/'.join(map(str, waiting))}, {outcome.overdrawn}, {'/'.join(map(str, victims))}"
