"""The scheduler's own plugins: on where only they have the rule, off where the extender has it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from affinityctl.commands.lint.finding import Level, Rule, Spot, only_if
from affinityctl.commands.lint.setup import INTER_POD, NODE, Setup
from affinityctl.scheduler.file import SchedulerProfile
from extender.core.config import Mode
from extender.core.config.features import features

_PLUGINS: Final = (INTER_POD, NODE)


def _profiles(setup: Setup) -> Iterator[tuple[str, SchedulerProfile, str, bool]]:
    for path, profile in setup.scheduler.every_profile():
        for plugin in _PLUGINS:
            yield f"{path}.plugins", profile, plugin, setup.takes_over(plugin, profile)


def _nobody_filters(setup: Setup) -> Iterator[Spot]:
    for path, profile, plugin, ours in _profiles(setup):
        if not (ours and setup.mode is Mode.REPLACE) and not profile.runs(plugin, "filter"):
            who = f"in mode {setup.mode} the extender" if ours else "the extender"
            yield Spot(f"{path}.filter", f"{plugin} is off, and {who} does not enforce its rules")


def _nobody_prepares(setup: Setup) -> Iterator[Spot]:
    for path, profile, plugin, ours in _profiles(setup):
        hard = not (ours and setup.mode is Mode.REPLACE)
        if hard and profile.runs(plugin, "filter") and not profile.runs(plugin, "preFilter"):
            yield Spot(f"{path}.preFilter", f"{plugin} is off here and on at filter")


def _nobody_scores(setup: Setup) -> Iterator[Spot]:
    for path, profile, plugin, ours in _profiles(setup):
        if not (ours and setup.mode is not Mode.SHADOW) and not profile.runs(plugin, "score"):
            yield Spot(f"{path}.score", f"{plugin} is off, and the extender does not score instead")


def _unnamed(setup: Setup, profile: SchedulerProfile, plugin: str) -> bool:
    return plugin == INTER_POD and setup.unnamed(profile)  # its own rule says so


def _both_filter(setup: Setup) -> Iterator[Spot]:
    if setup.mode is not Mode.REPLACE:
        return
    for path, profile, plugin, ours in _profiles(setup):
        if ours and profile.runs(plugin, "filter") and not _unnamed(setup, profile, plugin):
            yield Spot(f"{path}.filter", f"{plugin} is on, and the extender filters as well")


def _both_score(setup: Setup) -> Iterator[Spot]:
    if setup.mode is Mode.SHADOW or not setup.called_with("prioritizeVerb"):
        return
    for path, profile, plugin, ours in _profiles(setup):
        if ours and profile.runs(plugin, "score") and not _unnamed(setup, profile, plugin):
            yield Spot(f"{path}.score", f"{plugin} is on, and the extender scores as well")


def _idle(setup: Setup) -> Iterator[Spot]:
    if setup.mode is Mode.SHADOW:
        return
    for path, profile, plugin, ours in _profiles(setup):
        if ours and profile.runs(plugin, "preScore") and not profile.runs(plugin, "score"):
            yield Spot(f"{path}.preScore", f"{plugin} prepares scores that nobody asks for")


def _idle_filter(setup: Setup) -> Iterator[Spot]:
    if setup.mode is not Mode.REPLACE or not setup.takes_over(INTER_POD):
        return
    for path, profile in setup.scheduler.every_profile():
        if profile.runs(INTER_POD, "preFilter") and not profile.runs(INTER_POD, "filter"):
            where = f"{path}.plugins.preFilter"
            yield Spot(where, f"{INTER_POD} prepares a filter that is off")


def _every_node_tried(setup: Setup) -> Iterator[Spot]:
    for path, profile, plugin, ours in _profiles(setup):
        handed_over = plugin == NODE and ours and setup.mode is Mode.REPLACE
        if handed_over and not profile.runs(plugin, "preFilter"):
            yield Spot(f"{path}.preFilter", f"{plugin} is off")


RULES: Final = (
    Rule(
        "hard-rules-off",
        Level.ERROR,
        "Nobody enforces required rules: not the plugin, which is off, nor the extender.",
        "Pods are placed against their required rules, silently.",
        "Switch the plugin on at preFilter and filter, or use mode replace (docs/modes.md).",
        _nobody_filters,
    ),
    Rule(
        "plugin-half-off",
        Level.ERROR,
        "A plugin filters without its preFilter.",
        "Every pod fails with an error.",
        "Switch both extension points on, or both off.",
        _nobody_prepares,
    ),
    Rule(
        "soft-rules-off",
        Level.ERROR,
        "Nobody scores by preferred rules: not the plugin, which is off, nor the extender.",
        "Preferred affinity and anti-affinity do not count.",
        "Switch the plugin on at preScore and score, or use assist or replace.",
        _nobody_scores,
    ),
    Rule(
        "hard-rules-twice",
        Level.WARNING,
        "The plugin and the extender both enforce required rules.",
        "Each pod pays for both.",
        "Disable InterPodAffinity under plugins.multiPoint in every profile; NodeAffinity at "
        "filter, preScore and score.",
        _both_filter,
    ),
    Rule(
        "soft-rules-twice",
        Level.ERROR,
        "The plugin and the extender both score by preferred rules.",
        "They count twice, against all other plugins.",
        "Disable the plugin at preScore and score in every profile.",
        _both_score,
    ),
    Rule(
        "idle-pre-score",
        Level.WARNING,
        "The plugin prepares scores and gives none.",
        "It still walks over the existing pods for each pod.",
        "Disable the plugin at preScore as well.",
        _idle,
    ),
    Rule(
        "idle-pre-filter",
        Level.WARNING,
        "InterPodAffinity is on at preFilter and off at filter.",
        "It still walks over the existing pods for each pod.",
        "Disable InterPodAffinity under plugins.multiPoint in every profile.",
        _idle_filter,
    ),
    *only_if(
        any(each.plugin == NODE for each in features()),
        Rule(
            "node-affinity-pre-filter-off",
            Level.WARNING,
            "NodeAffinity is off at preFilter.",
            "For a pod that names its node, as those of DaemonSets do, the scheduler then tries a "
            "sample of all nodes.",
            "Disable NodeAffinity at filter, preScore and score only.",
            _every_node_tried,
        ),
    ),
)
