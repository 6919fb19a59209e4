"""Which callbacks the scheduler uses, and which the mode needs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from affinityctl.commands.lint.finding import Level, Rule, Spot
from affinityctl.commands.lint.setup import Setup
from extender.core.config import Mode
from extender.core.config.features import refuses_in_assist

_NEEDED: Final = {
    Mode.SHADOW: ("filterVerb",),
    Mode.ASSIST: ("prioritizeVerb",),
    Mode.REPLACE: ("filterVerb", "prioritizeVerb", "bindVerb", "preemptVerb"),
}
_PATHS: Final = {
    "filterVerb": "filter",
    "prioritizeVerb": "prioritize",
    "preemptVerb": "preempt",
    "bindVerb": "bind",
}


def _no_extender(setup: Setup) -> Iterator[Spot]:
    if not list(setup.ours()):
        others = len(setup.scheduler.extenders or ())
        port = setup.config.serving.port
        message = f"none of {others} calls port {port}" if others else "the file has no extender"
        yield Spot("extenders", message)


def _binders(setup: Setup) -> Iterator[Spot]:
    binders = [i for i, each in enumerate(setup.scheduler.extenders or ()) if each.bind_verb]
    for index in binders[1:]:
        yield Spot(f"extenders[{index}].bindVerb", f"extenders[{binders[0]}] binds as well")


def _needed(setup: Setup) -> tuple[str, ...]:
    refuses = setup.mode is Mode.ASSIST and refuses_in_assist(setup.config)
    return _NEEDED[setup.mode] + (("filterVerb", "preemptVerb") if refuses else ())


def _missing(field: str) -> Callable[[Setup], Iterator[Spot]]:
    def check(setup: Setup) -> Iterator[Spot]:
        for ours in setup.ours():
            if field in _needed(setup) and field not in dict(ours.entry.verbs()):
                yield Spot(ours.at(field), f"missing; mode {setup.mode} needs {field}")

    return check


def _preempt_missing(setup: Setup) -> Iterator[Spot]:
    if not setup.refuses():
        return
    for ours in setup.ours():
        if ours.entry.filter_verb and not ours.entry.preempt_verb:
            yield Spot(ours.at("preemptVerb"), "missing beside filterVerb")


def _not_served(setup: Setup) -> Iterator[Spot]:
    for ours in setup.ours():
        for field, verb in ours.entry.verbs():
            # The scheduler joins them with a slash of its own: /filter is asked for as //filter.
            if verb != _PATHS[field]:
                yield Spot(ours.at(field), f"{verb!r} instead of {_PATHS[field]!r}")


def _useless(setup: Setup) -> Iterator[Spot]:
    used = {*_needed(setup), "prioritizeVerb"}
    if setup.refuses():
        used |= {"filterVerb", "preemptVerb"}
    for ours in setup.ours():
        for field, _ in ours.entry.verbs():
            if field not in used:
                yield Spot(ours.at(field), f"mode {setup.mode} has no use for it")


def _whole_nodes(setup: Setup) -> Iterator[Spot]:
    for ours in setup.ours():
        if not ours.entry.node_cache_capable:
            yield Spot(ours.at("nodeCacheCapable"), "false, which is also the default")


def _some_pods(setup: Setup) -> Iterator[Spot]:
    for ours in setup.ours():
        if resources := ours.entry.managed_resources:
            names = ", ".join(each.name for each in resources)
            yield Spot(ours.at("managedResources"), f"only pods that ask for {names}")


def _absent(id_: str, level: Level, field: str, why: str) -> Rule[Setup]:
    return Rule(
        id_,
        level,
        f"The mode needs {field}, which is missing.",
        why,
        f"Add {field}: {_PATHS[field]}.",
        _preempt_missing if field == "preemptVerb" else _missing(field),
    )


RULES: Final = (
    Rule(
        "extender-missing",
        Level.ERROR,
        "The scheduler's file does not call the extender.",
        "No rule of the extender counts, and none at all if InterPodAffinity is off.",
        "Take the entry under extenders from your mode's file in scheduler-config/.",
        _no_extender,
    ),
    Rule(
        "two-binders",
        Level.ERROR,
        "More than one extender has a bindVerb.",
        "kube-scheduler does not start.",
        "Leave bindVerb to this extender in mode replace, to the other one in assist or shadow.",
        _binders,
    ),
    _absent(
        "filter-verb-missing",
        Level.ERROR,
        "filterVerb",
        "The extender is not asked which nodes a pod may use: in mode replace rules are first "
        "checked at the bind, in assist the rules that no scheduler has do not count.",
    ),
    _absent(
        "prioritize-verb-missing",
        Level.ERROR,
        "prioritizeVerb",
        "Preferred rules do not count: the plugin's scoring is off.",
    ),
    _absent(
        "bind-verb-missing",
        Level.ERROR,
        "bindVerb",
        "The scheduler decides about the next pod before this one is bound: two pods that exclude "
        "each other can meet.",
    ),
    _absent(
        "preempt-verb-missing",
        Level.ERROR,
        "preemptVerb",
        "The scheduler can evict pods on node after node for a pod that the extender lets onto "
        "none of them.",
    ),
    Rule(
        "verb-misspelt",
        Level.ERROR,
        "A verb is not the path that the extender serves.",
        "Each such call fails with 404.",
        "Use filterVerb: filter, prioritizeVerb: prioritize, preemptVerb: preempt, bindVerb: bind.",
        _not_served,
    ),
    Rule(
        "verb-without-use",
        Level.WARNING,
        "The scheduler calls for something that the mode does not do.",
        "The extender answers 404, and pods wait, or the call is wasted.",
        "Remove the verb, or set the mode that the scheduler's file is for.",
        _useless,
    ),
    Rule(
        "whole-nodes-sent",
        Level.WARNING,
        "The scheduler sends whole nodes instead of their names.",
        "At 5,000 nodes a call has up to 50 MB instead of 170 KB.",
        "Set nodeCacheCapable: true.",
        _whole_nodes,
    ),
    Rule(
        "managed-resources",
        Level.ERROR,
        "The extender is called for some pods only.",
        "The rules of pods that ask for none of the managedResources do not count.",
        "Remove managedResources.",
        _some_pods,
    ),
)
