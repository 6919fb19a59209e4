"""Profiles of the scheduler that are left to its own plugins, beside mode replace; pods in them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from affinityctl.commands.lint.finding import Level, Rule, Spot, only_if
from affinityctl.commands.lint.setup import INTER_POD, Setup
from affinityctl.commands.lint.template import Template
from extender.core.config.features import leaving
from extender.core.model.node_resources import DEFAULT_SCHEDULER
from extender.core.model.wording import some

_LEAVES: Final = leaving()
_ENTRY: Final = "" if _LEAVES is None else _LEAVES.entry
_LABEL: Final = "" if _LEAVES is None else _LEAVES.label


def _unnamed(setup: Setup) -> Iterator[Spot]:
    for path, profile in setup.scheduler.every_profile():
        if setup.takes_over(INTER_POD, profile) and setup.unnamed(profile):
            entry = _ENTRY.format(profile.scheduler_name)
            message = f"{INTER_POD} is on, and off in another profile: write {entry}"
            yield Spot(f"{path}.schedulerName", message)


def _missing(setup: Setup) -> Iterator[Spot]:
    there = {profile.scheduler_name for _, profile in setup.scheduler.every_profile()}
    for name in sorted(setup.left - there):
        yield Spot("profiles", f"none is called {name}, which the extender's configuration names")


def _other_profile(template: Template) -> Iterator[Spot]:
    around, owner = template.around, template.owner
    left, name = around.left, template.scheduler or DEFAULT_SCHEDULER
    if left is None or template.group is None or name in left or name not in around.callers:
        return
    known = around.namespaces is not None
    opted_in = _LABEL in around.namespace_labels(owner.namespace) or not known
    if around.chooses_profile and opted_in and not owner.stored:
        return
    which = f"take {some(sorted(left), len(left))}" if left else "no profile is for pod groups"
    yield Spot(
        f"{owner.path}.schedulerName", f"{name}, for pods of group {template.group}: {which}"
    )


OF_SCHEDULER: Final = only_if(
    _LEAVES,
    Rule(
        "profile-not-named",
        Level.ERROR,
        "One profile has all of InterPodAffinity on, another has it off, and the extender is to do "
        "the plugin's work for both.",
        "For the pods of the first, preferred rules count twice; pods of pod groups wait.",
        f"Write {_ENTRY.format('NAME')} into the extender's configuration, or disable "
        "InterPodAffinity under plugins.multiPoint in this profile as well.",
        _unnamed,
    ),
    Rule(
        "profile-missing",
        Level.WARNING,
        "The extender's configuration names a profile that the scheduler's file has not.",
        "Pods that choose it wait, unless it is that of another scheduler: no scheduler looks at "
        "them, and no event says so.",
        "Add the profile, with InterPodAffinity on, or take its name out of the extender's "
        "configuration.",
        _missing,
    ),
)
OF_WORKLOAD: Final = only_if(
    _LEAVES,
    Rule(
        "group-in-other-profile",
        Level.ERROR,
        "Pods of a pod group choose a profile in which the extender decides.",
        "They wait: no extender is told where the scheduler means to put the others of a group.",
        "Give all pods of the group the schedulerName of a profile that is left to the scheduler "
        "(docs/groups.md).",
        _other_profile,
    ),
)
