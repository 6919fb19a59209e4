"""How much the extender's scores weigh, and whether somebody counts them twice."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from affinityctl.lint.finding import Level, Rule, Spot
from affinityctl.lint.setup import INTER_POD, Setup
from extender.config import Mode

_SCALE: Final = 10
"""The scheduler multiplies an extender's scores by this and by its weight."""
_IN_TREE: Final = 200
"""The range of the plugin: 0..100 with its default weight 2."""


def _no_weight(setup: Setup) -> Iterator[Spot]:
    for index, entry in enumerate(setup.scheduler.extenders or ()):
        if entry.prioritize_verb and entry.weight <= 0:
            yield Spot(f"extenders[{index}].weight", f"{entry.weight} beside prioritizeVerb")


def _other_range(setup: Setup) -> Iterator[Spot]:
    if setup.mode is Mode.SHADOW:
        return  # it scores no node
    for ours in setup.ours():
        reach = ours.entry.weight * setup.config.prioritize.max_score * _SCALE
        if ours.entry.prioritize_verb and ours.entry.weight > 0 and reach != _IN_TREE:
            maximum = setup.config.prioritize.max_score
            message = (
                f"weight {ours.entry.weight} with prioritize.maxScore {maximum} spans 0..{reach}"
            )
            yield Spot(ours.at("weight"), f"{message}, and the plugin spans 0..{_IN_TREE}")


def _listed_twice(setup: Setup) -> Iterator[Spot]:
    for ours in list(setup.ours())[1:]:
        yield Spot(ours.at("urlPrefix"), f"{ours.entry.url_prefix} is listed before")


def _other_arguments(setup: Setup) -> Iterator[Spot]:
    if not setup.configured or not setup.takes_over(INTER_POD):
        return
    rules = setup.config.inter_pod_affinity
    expected = {
        "hardPodAffinityWeight": rules.hard_pod_affinity_weight,
        "ignorePreferredTermsOfExistingPods": rules.ignore_preferred_terms_of_existing_pods,
    }
    for path, profile in setup.scheduler.every_profile():
        index, args = profile.arguments(INTER_POD)
        for name, ours in expected.items():
            # Only what somebody wrote there: the plugin's own scoring may be off, arguments unused.
            if name in args and args[name] != ours:
                where = f"{path}.pluginConfig[{index}].args.{name}"
                yield Spot(where, f"{args[name]} here, {ours} in the extender's configuration")


RULES: Final = (
    Rule(
        "weight-missing",
        Level.ERROR,
        "An extender has a prioritizeVerb and no positive weight.",
        "kube-scheduler refuses such a file and does not start.",
        "Set weight: 1.",
        _no_weight,
    ),
    Rule(
        "score-range",
        Level.WARNING,
        "The extender's scores span another range than the plugin that they replace.",
        "The scheduler adds score x weight x 10 to a node's total. With another range, preferred "
        "affinity weighs more, or less, against all other plugins than before.",
        "Set weight to 1 in the scheduler's file, and prioritize.maxScore to 20 in the extender's.",
        _other_range,
    ),
    Rule(
        "extender-listed-twice",
        Level.ERROR,
        "The extender is listed twice.",
        "Each pod costs twice the calls, and its scores count twice.",
        "Remove one of the entries.",
        _listed_twice,
    ),
    Rule(
        "arguments-differ",
        Level.WARNING,
        "InterPodAffinityArgs in the scheduler's file differ from interPodAffinity in the "
        "extender's.",
        "The extender scores by its own values. Pods are then ranked in another way than the "
        "scheduler's file says.",
        "Use the same values in both files.",
        _other_arguments,
    ),
)
