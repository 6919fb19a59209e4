"""What affinity costs a pod that is scheduled, by a model that is fitted to measurements."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import cache
from importlib.resources import files
from typing import Final

import msgspec

from affinityctl.commands.advise.census import Census

NO_RULES: Final = "no rules"
MINUTE: Final = 60
PAYS: Final = 1.5
"""The extender pays where the scheduler alone takes this many times as long."""
ENOUGH: Final = 2.0
"""The scheduler alone is enough if it can place this many times the pods of the busiest minute:
pods that have gone since are not known, and affinity is not all that it does for a pod."""
SAFER: Final = 1.3
"""`assist` may take this many times as long as `replace`: pods are placed without it."""


class Line(msgspec.Struct):
    """Microseconds over the number of pods that carry a rule."""

    fixed: float
    each: float
    error: float
    """The largest share by which a measurement differs."""

    def at(self, pods: int) -> float:
        return self.fixed + self.each * pods


class MeasuredCall(msgspec.Struct):
    """Both halves of scheduling a pod."""

    filter: Line
    prioritize: Line


class MeasuredKind(msgspec.Struct):
    """One kind of rules, judged by the scheduler's plugin and by the extender."""

    in_tree: MeasuredCall
    ours: MeasuredCall


class Share(msgspec.Struct):
    """A share of what the scheduler alone does, over the rounds of a measurement."""

    least: float
    median: float
    most: float


class Model(msgspec.Struct):
    """All kinds, as bench has measured them."""

    machine: str
    nodes: int
    asked: int
    kinds: Mapping[str, MeasuredKind]
    without_rules: Mapping[str, Share]
    """By mode, how many pods that carry no rule a whole scheduler places."""


@cache
def model() -> Model:
    raw = files("affinityctl.commands.advise").joinpath("costs.json").read_bytes()
    return msgspec.json.decode(raw, type=Model)


class Advice(Enum):
    """The mode to take; the value is what programs read."""

    NOTHING = "nothing"
    ASSIST = "assist"
    REPLACE = "replace"


@dataclass(frozen=True, slots=True)
class Costs:
    """Milliseconds for one pod, by who does the work, and how far they may be off."""

    in_tree: float
    assist: float
    replace: float
    error: float
    """A share of each; the largest error of the lines that count."""
    needed: float | None = None
    """Pods a second in the busiest minute, as far as known."""

    @property
    def enough(self) -> bool:
        """Return whether the scheduler alone is known to place pods as fast as they come."""
        return self.needed is not None and ENOUGH * self.needed <= a_second(self.in_tree)

    @property
    def by_whom(self) -> Mapping[str, float]:
        return {"inTree": self.in_tree, "assist": self.assist, "replace": self.replace}

    @property
    def advice(self) -> Advice:
        """Return the mode that pays, the safer of two that are nearly equal."""
        if self.enough or self.in_tree < PAYS * min(self.assist, self.replace):
            return Advice.NOTHING
        return Advice.ASSIST if self.assist <= SAFER * self.replace else Advice.REPLACE


def a_second(milliseconds: float) -> float:
    """Return how many pods are scheduled in a second, one after the other, by what each takes."""
    return 1000 / milliseconds


def busiest_minute(created: Iterable[float]) -> float | None:
    """Return the pods a second of the busiest minute, by when they were created; None without."""
    times = sorted(created)
    most = first = 0
    for last, at in enumerate(times):
        while at - times[first] >= MINUTE:
            first += 1
        most = max(most, last - first + 1)
    return most / MINUTE if times else None


def costs(found: Census, needed: float | None = None) -> Costs:
    """Estimate what affinity costs a pod of a cluster that is scheduled.

    In-tree, what each kind of rules adds for every pod that carries one is summed up, beside the
    largest of their fixed parts.
    """
    known = model().kinds
    carriers = {each.kind.value: each.carriers for each in found.rules} or {NO_RULES: 0}
    kinds = [known[name] for name in carriers]
    filters, scorings = zip(*((e.in_tree.filter, e.in_tree.prioritize) for e in kinds), strict=True)
    judged = _in_tree(filters, carriers.values())
    scored = _in_tree(scorings, carriers.values())
    asked = max(each.ours.filter.fixed for each in kinds)
    ranked = max(each.ours.prioritize.fixed for each in kinds)
    ours = [line for each in kinds for line in (each.ours.filter, each.ours.prioritize)]
    error = max(line.error for line in (*filters, *scorings, *ours))
    in_tree, assist, replace = judged + scored, judged + ranked, asked + ranked
    return Costs(in_tree / 1000, assist / 1000, replace / 1000, error, needed)


def _in_tree(lines: Sequence[Line], carriers: Iterable[int]) -> float:
    each = sum(line.each * pods for line, pods in zip(lines, carriers, strict=True))
    return max(line.fixed for line in lines) + each
