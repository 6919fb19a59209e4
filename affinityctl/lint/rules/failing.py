"""What becomes of pods while the extender cannot be reached."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from affinityctl.lint.finding import Level, Rule, Spot
from affinityctl.lint.setup import Setup
from extender.config import Mode


def _ignorable_binder(setup: Setup) -> Iterator[Spot]:
    for index, entry in enumerate(setup.scheduler.extenders or ()):
        if entry.bind_verb and entry.ignorable:
            yield Spot(f"extenders[{index}].ignorable", "true beside bindVerb")


def _ignorable_rules(setup: Setup) -> Iterator[Spot]:
    if setup.mode is Mode.REPLACE:
        for ours in setup.ours():
            if ours.entry.ignorable and ours.entry.filter_verb and not ours.entry.bind_verb:
                yield Spot(ours.at("ignorable"), "true, and only the extender knows the hard rules")


def _pods_wait(setup: Setup) -> Iterator[Spot]:
    if setup.mode is Mode.SHADOW:
        for ours in setup.ours():
            if ours.entry.filter_verb and not ours.entry.ignorable:
                yield Spot(ours.at("ignorable"), f"false in mode {setup.mode}")


RULES: Final = (
    Rule(
        "ignorable-binder",
        Level.ERROR,
        "An extender that binds is ignorable.",
        "While it cannot be reached, pods are placed without its rules. And when only the answer "
        "to a bind is lost, the scheduler binds once more itself.",
        "Set ignorable: false.",
        _ignorable_binder,
    ),
    Rule(
        "ignorable-rules",
        Level.ERROR,
        "Hard rules are the extender's alone, and it is ignorable.",
        "While it cannot be reached, pods are placed against required affinity and anti-affinity, "
        "without a trace.",
        "Set ignorable: false in mode replace.",
        _ignorable_rules,
    ),
    Rule(
        "pods-wait-for-nothing",
        Level.WARNING,
        "In mode shadow the extender is not ignorable, although it decides nothing.",
        "While the extender cannot be reached, all pods wait, for rules that are checked anyway.",
        "Set ignorable: true in mode shadow.",
        _pods_wait,
    ),
)
