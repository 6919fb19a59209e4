"""How many nodes the scheduler looks at for a pod."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from affinityctl.lint.finding import Level, Rule, Spot
from affinityctl.lint.setup import Setup
from extender.config import Mode

_FIELD: Final = "percentageOfNodesToScore"
_EVERY: Final = 100


def _every_node(setup: Setup) -> Iterator[Spot]:
    for path, percentage in _percentages(setup):
        if percentage is not None and percentage >= _EVERY:
            yield Spot(path, f"{percentage} makes the other plugins look at every node")


def _no_hints(setup: Setup) -> Iterator[Spot]:
    sampled = any((percentage or 0) < _EVERY for _, percentage in _percentages(setup))
    if setup.mode is Mode.REPLACE and sampled and not setup.config.hints.enabled:
        yield Spot(_FIELD, "the scheduler takes a sample of the nodes, and hints.enabled is false")


def _percentages(setup: Setup) -> Iterator[tuple[str, int | None]]:
    yield _FIELD, setup.scheduler.percentage_of_nodes_to_score
    for path, profile in setup.scheduler.every_profile():
        if profile.percentage_of_nodes_to_score is not None:
            yield f"{path}.{_FIELD}", profile.percentage_of_nodes_to_score


RULES: Final = (
    Rule(
        "every-node-scored",
        Level.WARNING,
        "The scheduler looks at every node for each pod.",
        "All other plugins then filter and score every node: 14 to 32 ms more for each pod at "
        "5,000 nodes, far more than the extender saves.",
        "Leave percentageOfNodesToScore out. In mode replace, hints lead a pod to nodes outside "
        "the sample.",
        _every_node,
    ),
    Rule(
        "sample-without-hints",
        Level.WARNING,
        "In mode replace the scheduler samples nodes, and hints are off.",
        "When every node of the sample breaks a rule, the pod waits until some other event wakes "
        "it, although a node outside the sample would do.",
        "Set hints.enabled to true in the extender's configuration.",
        _no_hints,
    ),
)
