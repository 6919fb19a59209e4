"""Arguments of the scheduler's plugins that decide where pods may go, known here or not."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import msgspec

from affinityctl.commands.lint.finding import Level, Rule, Spot, only_if
from affinityctl.commands.lint.setup import NODE, Setup
from affinityctl.scheduler.arguments import Taken, read_profile
from extender.core.config import Mode
from extender.core.config.features import Help, Want, gives, switch_of, wants
from extender.core.config.rules import NodeAffinityTerms, V1NodeSelector
from extender.core.errors import ObjectError

_ASSUMED: Final = ("NodeUnschedulable", "TaintToleration", "NodePorts", "NodeResourcesFit")
"""Plugins by whose rules hints and preemption choose nodes."""


def _other_nodes(setup: Setup) -> Iterator[Spot]:
    handed_over = setup.takes_over(NODE)
    keeps_to_it = handed_over or setup.mode is Mode.REPLACE or wants(setup.config, Want.HOLDS)
    nodes = setup.config.node_affinity
    if not setup.configured or not keeps_to_it or nodes.scheduler_config_file is not None:
        return
    ours = nodes.added_affinity
    for path, profile in setup.scheduler.every_profile():
        index, args = profile.arguments(NODE)
        try:
            theirs = msgspec.convert(args.get("addedAffinity") or {}, NodeAffinityTerms)
        except msgspec.ValidationError:
            continue  # the scheduler does not start with it
        # What it prefers is the scheduler's business where the scheduler scores.
        same = theirs == ours if handed_over else _required(theirs) == _required(ours)
        if not same:
            where = f"{path}.pluginConfig[{index}].args.addedAffinity"
            yield Spot(where, "not the same as nodeAffinity.addedAffinity of the extender")


def _required(affinity: NodeAffinityTerms) -> V1NodeSelector | None:
    return affinity.required_during_scheduling_ignored_during_execution


_SWITCHES: Final = " and ".join(filter(None, map(switch_of, Help)))


def _unknown_to_us(setup: Setup) -> Iterator[Spot]:
    helps = any(gives(setup.config, each) for each in Help)
    if setup.mode is not Mode.REPLACE or not helps:
        return
    for path, profile in setup.scheduler.every_profile():
        for plugin in _ASSUMED:
            if not profile.runs(plugin, "filter"):
                yield Spot(f"{path}.plugins.filter", f"{plugin} is off")
        index, args = profile.arguments("NodeResourcesFit")
        for name in ("ignoredResources", "ignoredResourceGroups"):
            if args.get(name):
                yield Spot(f"{path}.pluginConfig[{index}].args.{name}", "not empty")
        index, args = profile.arguments("PodTopologySpread")
        for number, each in enumerate(_list(args.get("defaultConstraints"))):
            if isinstance(each, dict) and each.get("whenUnsatisfiable") == "DoNotSchedule":
                where = f"{path}.pluginConfig[{index}].args.defaultConstraints[{number}]"
                yield Spot(where, "DoNotSchedule")


def _broken(setup: Setup) -> Iterator[Spot]:
    for path, profile in setup.scheduler.every_profile():
        try:
            read_profile(path, profile, Taken())
        except ObjectError as error:
            yield Spot(error.path, error.message)


def _list(value: object) -> list[object]:
    return value if isinstance(value, list) else []


RULES: Final = (
    Rule(
        "plugin-arguments-broken",
        Level.ERROR,
        "An argument of a plugin is not valid.",
        "kube-scheduler does not start.",
        "Correct the field.",
        _broken,
    ),
    Rule(
        "added-affinity-differs",
        Level.ERROR,
        "The scheduler adds another node affinity to every pod than the extender knows.",
        "Hints point to nodes that the scheduler refuses, and preemption evicts pods there.",
        "Name the file in nodeAffinity.schedulerConfigFile (--scheduler-config), or copy "
        "addedAffinity to nodeAffinity.addedAffinity, what it prefers only with NodeAffinity in "
        "plugins.",
        _other_nodes,
    ),
    *only_if(
        _SWITCHES,
        Rule(
            "scheduler-arguments-unknown",
            Level.ERROR,
            "A setting of the scheduler decides where pods may go, and the extender cannot know "
            "it.",
            "Hints and preemption go by the defaults: they pass over nodes that would do, or evict "
            "pods where the scheduler then refuses the node.",
            f"Leave it at its default, or set {_SWITCHES} to false.",
            _unknown_to_us,
        ),
    ),
)
