"""Arguments of the scheduler's plugins that decide where pods may go, known here or not."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Final

from affinityctl.commands.lint.finding import Level, Rule, Spot, only_if
from affinityctl.commands.lint.setup import NODE, Setup
from affinityctl.scheduler.arguments import Taken, read_profile
from extender.core.config import Mode
from extender.core.config.features import Added, Help, Want, features, gives, switch_of, wants
from extender.core.errors import ObjectError

_ASSUMED: Final = ("NodeUnschedulable", "TaintToleration", "NodePorts", "NodeResourcesFit")
"""Plugins by whose rules hints and preemption choose nodes."""


def _other_nodes(added: Added, setup: Setup) -> Iterator[Spot]:
    keeps_to_it = setup.mode is Mode.REPLACE or any(
        wants(setup.config, each) for each in (Want.NODES, Want.HOLDS)
    )
    if not setup.configured or not keeps_to_it:
        return
    for path, profile in setup.scheduler.every_profile():
        index, args = profile.arguments(NODE)
        if added.differs(setup.config, args.get("addedAffinity")):
            where = f"{path}.pluginConfig[{index}].args.addedAffinity"
            yield Spot(where, f"not the same as {added.field} of the extender")


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


_PERCENTAGE: Final = "minCandidateNodesPercentage"
_TENTH, _ALL = 10, 100


def _sampled(setup: Setup) -> Iterator[Spot]:
    config = setup.config
    by_scheduler = config.scheduler_takes_empty_victims and config.resolves_refusals
    if setup.mode is not Mode.REPLACE or not by_scheduler or gives(config, Help.ROOM):
        return
    for path, profile in setup.scheduler.every_profile():
        index, args = profile.arguments("DefaultPreemption")
        found = args.get(_PERCENTAGE, _TENTH)
        if found != _ALL and not setup.leaves(profile):
            where = f"{path}.pluginConfig[{index}].args" if args else path
            yield Spot(where, f"{_PERCENTAGE}: {found}")


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
    *(
        Rule(
            "added-affinity-differs",
            Level.ERROR,
            "The scheduler adds another node affinity to every pod than the extender knows.",
            "Hints point to nodes that the scheduler refuses, and preemption evicts pods there.",
            f"Name the file in {added.file} (--scheduler-config), or copy addedAffinity to "
            f"{added.field}, what it prefers only with NodeAffinity in plugins.",
            partial(_other_nodes, added),
        )
        for added in (each.adds for each in features())
        if added is not None
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
    Rule(
        "candidates-sampled",
        Level.WARNING,
        "The scheduler preempts for rules of the extender, and looks for victims on a part of the "
        "nodes.",
        "It asks the extender about these alone: with more than 100 nodes an important pod may "
        "wait, though evicting pods of another node would help.",
        f"Set {_PERCENTAGE}: 100 in the arguments of DefaultPreemption.",
        _sampled,
    ),
)
