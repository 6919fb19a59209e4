"""Whether what was said of a cluster came true, and what explains where it did not."""

from __future__ import annotations

import json
import pickle
from collections import Counter
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import TYPE_CHECKING

from tests.e2e.api import key_of
from tests.e2e.worlds.asking import (
    Outcome,
    Owners,
    Steering,
    blocked,
    explained,
    outcome_of,
    owner_of,
    simulated,
    steered,
    words_of,
)
from tests.e2e.worlds.living import PREEMPTED, Evictions, Living, disrupted_by, is_going, said
from tests.events import messages

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from affinityctl.commands.simulate.whatif.outcome import Simulation
    from tests.e2e.objects import JSON
    from tests.e2e.worlds.drawing import World

SEEDS = 8
"""Draws of the simulation that are tried."""
SEVERAL = "NodeResourcesFit"
"""The plugin that may name several reasons for one node."""


class Class(Enum):
    """What explains that a cluster came to something else; the value says it."""

    SAME = "the same: who is evicted, blocked, preempted and waits, and each pod's node"
    TIE = "the same with another `--seed`: nodes or victims were equally good"
    CHOICE = (
        "the same once the simulation takes, of the nodes that it finds possible, those that the "
        "scheduler took: its scores know more (docs/simulate.md)"
    )
    SLIPPED = (
        "the same but for pods that came to a node while another one waited there for its victims "
        "to go, and were evicted for it in turn: here it has the node at once (docs/simulate.md)"
    )


@dataclass(slots=True)
class Found:
    """What was compared in one world."""

    world: World
    explained: int = 0
    """Pods that waited and were asked about."""
    reasons: Counter[str] = field(default_factory=Counter)
    differences: list[str] = field(default_factory=list)
    """Without a class."""
    by: Class | None = None
    outcome: Outcome | None = None


@dataclass(frozen=True, slots=True)
class Real:
    """What really came of a change."""

    outcome: Outcome
    words: dict[str, list[str]]
    """By owner, what the scheduler says of its pods that wait."""
    bound: list[JSON]
    """The pods that got a node, in order."""
    gone: list[JSON]
    """The pods that were deleted, in order."""
    slipped: Counter[str] = field(default_factory=Counter)
    """By owner, the victims that had come to their node after the change."""

    def differences(
        self, told: JSON, simulation: Simulation, dump: JSON, owners: Owners
    ) -> list[str]:
        """Return in what a simulation differs, in words."""
        simulated = outcome_of(told, dump, owners)
        found = [
            f"{name}: really {getattr(self.outcome, name)}, simulated {getattr(simulated, name)}"
            for name in simulated.differences(self.outcome)
        ]
        return found or list(self._words(simulation))

    def _words(self, simulation: Simulation) -> Iterator[str]:
        expected: dict[str, list[tuple[str, ...]]] = {}
        for owner, beginnings in words_of(simulation):
            expected.setdefault(owner, []).append(beginnings)
        for owner, every in self.words.items():
            of = expected.get(owner, [])
            for each in every:
                if not any(each.startswith(beginnings) for beginnings in of):
                    yield f"why {owner} waits: really {each!r}, simulated {of}"
        for owner, of in expected.items():
            for beginnings in of:
                if not any(each.startswith(beginnings) for each in self.words.get(owner, ())):
                    yield f"why {owner} waits: simulated {beginnings}, not really"


async def compare(living: Living, world: World, folder: Path) -> Found:
    """Ask about a world, change it, and compare."""
    found = Found(world)
    async with living.world(world):
        before = folder / "before.json"
        await living.dump(before)
        _explain(found, living, before, "before")
        ran = {each["metadata"]["uid"]: each for each in living.pods.objects.values()}
        mark = len(living.pods.history)
        evictions = await living.change(world.change)
        real = _really(living, world, ran, mark, evictions)
        after = folder / "after.json"
        await living.dump(after)
        _explain(found, living, after, "after")
    found.outcome = real.outcome
    with (folder / "real.pickle").open("wb") as file:
        pickle.dump((found, real), file)
    found.by = classify(found, real, folder)
    return found


def classify(found: Found, real: Real, folder: Path) -> Class | None:
    """Return what explains the differences of a simulation; without anything, note them."""
    before, change = folder / "before.json", found.world.change
    dump = json.loads(before.read_text())
    owners = Owners(dump, change.get("objects", ()))
    if real.slipped:
        usual = replace(real.outcome, preempted=real.outcome.preempted - real.slipped)
        if classify(found, replace(real, outcome=usual, slipped=Counter()), folder) is not None:
            return Class.SLIPPED
        found.differences.clear()
    for seed in range(SEEDS):
        if not real.differences(*simulated(before, change, folder, seed), dump, owners):
            return Class.TIE if seed else Class.SAME
    differences: list[str] = []
    for seed in range(SEEDS):
        with steered(Steering(real.bound, real.gone)):
            again = simulated(before, change, folder, seed)
        differs = real.differences(*again, dump, owners)
        if not differs:
            return Class.CHOICE
        if not differences or len(differs) < len(differences):
            differences = differs
    found.differences += differences
    return None


def _really(
    living: Living, world: World, ran: dict[str, JSON], mark: int, evictions: Evictions
) -> Real:
    found, words = Outcome(), dict[str, list[str]]()
    for pod in living.pods.objects.values():
        if is_going(pod):
            continue
        if node := pod["spec"].get("nodeName"):
            found.place(owner_of(pod), node)
        else:
            found.waiting[owner_of(pod)] += 1
            words.setdefault(owner_of(pod), []).append(str(said(pod)))
    found.evicted.update(map(key_of, evictions.gone))
    found.blocked.update(blocked(key, budgets) for key, budgets in evictions.kept.items())
    history = living.pods.history[mark:]
    victims = {
        each["metadata"]["uid"]: each
        for each in history
        if disrupted_by(each) == PREEMPTED and not _was_victim(ran, each)
    }
    found.preempted.update(map(owner_of, victims.values()))
    if world.change["kind"] in {"restart", "roll"}:
        found.stuck = not _is_done(living, world.change["of"])
    gone: dict[str, JSON] = {}
    for each in history:
        if is_going(each):
            gone.setdefault(each["metadata"]["uid"], each)
    bound = _bound(history, ran)
    late = {each["metadata"]["uid"] for each in bound}
    slipped = Counter(owner_of(each) for uid, each in victims.items() if uid in late)
    return Real(found, words, bound, list(gone.values()), slipped)


def _was_victim(ran: dict[str, JSON], pod: JSON) -> bool:
    before = ran.get(pod["metadata"]["uid"])
    return before is not None and disrupted_by(before) == PREEMPTED


def _is_done(living: Living, of: JSON) -> bool:
    """Return whether an update has come to its end, by the status of what was updated."""
    now = living.mirrors[of["kind"]].objects[key_of(of)]
    spec, status = now["spec"], now["status"]
    wanted = spec["replicas"]
    rolling = spec.get("updateStrategy", {}).get("rollingUpdate", {})
    updated = max(0, wanted - rolling.get("partition", 0))
    fields = ("replicas", "availableReplicas")
    complete = all(status.get(each, 0) == wanted for each in fields)
    return complete and bool(status.get("updatedReplicas", 0) >= updated)


def _bound(history: Iterable[JSON], ran: dict[str, JSON]) -> list[JSON]:
    """Return the pods that got a node since, in order."""
    placed: dict[str, JSON] = {}
    for each in history:
        uid = each["metadata"]["uid"]
        had = uid in ran and ran[uid]["spec"].get("nodeName")
        if each["spec"].get("nodeName") and not had:
            placed.setdefault(uid, each)
    return list(placed.values())


def _explain(found: Found, living: Living, dump: Path, when: str) -> None:
    """Compare why pods wait with the scheduler's words about them."""
    waiting = sorted(living.waiting())
    answers = explained(dump, waiting)
    for key in waiting:
        pod, answer = living.pods.objects[key], answers[key]
        found.explained += 1
        found.differences += (f"{when}, {key}: {each}" for each in _differences(found, pod, answer))


def _differences(found: Found, pod: JSON, answer: JSON) -> Iterator[str]:
    message = str(said(pod))
    reasons = [
        each["reason"].split(", ") if each["plugin"] == SEVERAL else [each["reason"]]
        for each in answer["nodes"]
        if not each["fits"]
    ]
    found.reasons.update(reason for each in reasons for reason in each)
    if len(reasons) < len(answer["nodes"]) or not message.startswith(messages(reasons)):
        told = Counter(map(str, reasons))
        yield f"the scheduler: {message!r}; explain: {answer['summary']!r} {told}"
    preempts = answer.get("preemption")
    # All of these are being deleted already, or it would not wait.
    if preempts and f"placement for pod on node {preempts['node']}, preempt" not in message:
        yield f"explain has victims {preempts}, the scheduler: {message!r}"
