"""Asks every rule about everything that it is for, and once where objects repeat a template."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import PurePath
from typing import TypeAlias, TypeVar

import msgspec

from affinityctl.commands.lint.checking import Fault
from affinityctl.commands.lint.circles import Circles
from affinityctl.commands.lint.finding import Finding, Place, Report, Rule
from affinityctl.commands.lint.objects import Configured, LintedWorkload, Objects
from affinityctl.commands.lint.reading import Manifest, TemplateReader
from affinityctl.commands.lint.rights import Granted, Rights
from affinityctl.commands.lint.rulebook import (
    OF_BUDGET,
    OF_CONFIG,
    OF_RIGHTS,
    OF_ROLE,
    OF_SCHEDULER,
    OF_WORKLOAD,
    OF_WRITTEN,
)
from affinityctl.commands.lint.setup import setup_of
from affinityctl.commands.lint.template import Surroundings
from affinityctl.commands.lint.written import Written
from extender.core.config import Config, Mode
from extender.core.config.features import left_to_scheduler
from extender.core.model.labels import TEMPLATE_HASH
from extender.core.model.node_resources import KNOWN_SCHEDULERS
from extender.core.model.wording import plural
from extender.core.model.workload import Identity, controller_by_name

S = TypeVar("S")

_Found: TypeAlias = tuple[frozenset[str], Finding]
"""What a rule finds, and the rules that the object asks to be spared."""


def lint(
    objects: Objects,
    configs: Iterable[Configured],
    around: Surroundings,
    mode: Mode | None = None,
    ignore: Iterable[str] = (),
) -> Report:
    """Return what the rules find, in the order of the objects.

    A scheduler's file is held against the only configuration, or the only one in its folder; where
    neither is clear, against the defaults, in the mode that its verbs are for.
    """
    known = list(configs)
    if len(known) == 1 and (config := _in_mode(known[0].config, mode)).mode is Mode.REPLACE:
        around.left = left_to_scheduler(config)
    named = (each for _, file in objects.schedulers for _, each in file.every_profile())
    around.callers = KNOWN_SCHEDULERS.union(filter(None, (each.scheduler_name for each in named)))
    spared = frozenset(ignore)
    kept, silenced = [], 0
    for owner_ignores, found in _everything(objects, known, around, mode):
        if found.rule.id in owner_ignores or found.rule.id in spared:
            silenced += 1
        else:
            kept.append(found)
    unknown = (*_unknown(objects, around), *_patches(objects))
    return Report(
        tuple(kept), len(objects), silenced, objects.skipped, tuple(objects.not_judged), unknown
    )


def _patches(objects: Objects) -> Iterator[str]:
    if objects.patches:
        these = plural(objects.patches, "object")
        patches = "patches" if objects.patches > 1 else "a patch"
        yield f"{these} without selector or containers, taken for {patches}: fields alone"


def _unknown(objects: Objects, around: Surroundings) -> Iterator[str]:
    if not objects.workloads:
        return
    if around.nodes is None:
        yield "nodes (node selectors, topology keys, domains)"
    if around.namespaces is None:
        yield "namespaces"
    if around.pods is None:
        yield "other pods"
    elif all(each.owner.kind == "Pod" for each in objects.workloads):
        yield "workloads (replicas, rolling updates)"


def _everything(
    objects: Objects, configs: list[Configured], around: Surroundings, mode: Mode | None
) -> Iterator[_Found]:
    for place, scheduler in objects.schedulers:
        yield from _ask(OF_SCHEDULER, setup_of(scheduler, _belonging(place, configs), mode), place)
    for each in configs:
        yield from _ask(OF_CONFIG, _in_mode(each.config, mode), each.place)
    if len(configs) == 1:  # else it is not clear what is needed
        yield from _rights(objects, _in_mode(configs[0].config, mode))
    for place, budget in objects.known_budgets():
        yield from _ask(OF_BUDGET, budget, place, budget.written.ignored)
    for place, written in objects.written:
        yield from _ask(OF_WRITTEN, written, place, written.ignored)
    faulty = {place for place, written in objects.written if written.faults}
    reader = TemplateReader(around)
    made = Repeats(objects.workloads)
    templates = [
        (replace(place, owner=_named(made.owner(manifest))), reader.read(owner, template))
        for place, manifest, owner, template in objects.workloads
        if not manifest.ended and not made.repeats(owner.kind, manifest)
    ]
    around.circle_of = Circles(((place.object, each) for place, each in templates), around).of
    for place, read in templates:
        ignored = read.owner.ignored
        if read.fault is not None and replace(place, owner="") not in faulty:
            unreadable = Written((Fault(read.fault.path, read.fault.message),))
            yield from _ask(OF_WRITTEN, unreadable, place, ignored)
        yield from _ask(OF_WORKLOAD, read, place, ignored)


def _named(owner: Identity | None) -> str:
    return "" if owner is None else f"{owner.kind} {owner.namespace}/{owner.name}"


def _ask(
    rules: Iterable[Rule[S]], subject: S, place: Place, ignored: frozenset[str] = frozenset()
) -> Iterator[_Found]:
    for rule in rules:
        for spot in rule.check(subject):
            yield ignored, Finding(rule, place, *spot)


def _belonging(place: Place, configs: list[Configured]) -> Config | None:
    if len(configs) == 1:
        return configs[0].config
    folder = PurePath(place.file).parent
    near = [each for each in configs if PurePath(each.place.file).parent == folder]
    return near[0].config if len(near) == 1 else None


def _rights(objects: Objects, config: Config) -> Iterator[_Found]:
    bound = [each for each in objects.bindings if each[1].is_ours]
    names = dict.fromkeys(f"{one.role_ref.kind}/{one.role_ref.name}" for _, one in bound)
    roles = [objects.roles[name] for name in names if name in objects.roles]
    for place, role in roles:
        yield from _ask(OF_ROLE, Granted(tuple(role.rules or ()), config), place)
    if roles:
        rules = tuple(rule for _, role in roles for rule in role.rules or ())
        complete = len(roles) == len(names)
        yield from _ask(OF_RIGHTS, Rights(rules, complete, config), roles[0][0])


def _in_mode(config: Config, mode: Mode | None) -> Config:
    return config if mode is None else msgspec.structs.replace(config, mode=mode)


class Repeats:
    """Tells the objects that are worth a look from those that repeat a template."""

    def __init__(self, workloads: Iterable[LintedWorkload]) -> None:
        self._workloads = {
            Identity(each.owner.namespace, each.owner.kind, each.manifest.metadata.name)
            for each in workloads
            if each.owner.kind != "Pod"
        }
        self._seen: set[tuple[Identity, bytes]] = set()

    @staticmethod
    def owner(manifest: Manifest) -> Identity | None:
        """Return what made an object, as far up as names tell."""
        if manifest.metadata.controller is None:
            return None
        template_hash = (manifest.metadata.labels or {}).get(TEMPLATE_HASH, "")
        return (
            controller_by_name(manifest.metadata.controller, template_hash)
            or manifest.metadata.controller
        )

    def repeats(self, kind: str, manifest: Manifest) -> bool:
        """Return whether a controller's template says the same, or another pod of its did."""
        owner = self.owner(manifest)
        if owner is None:
            return False
        if manifest.metadata.controller in self._workloads or owner in self._workloads:
            return True
        if kind != "Pod":
            return False
        key = (owner, bytes(manifest.spec.affinity))
        if key in self._seen:
            return True
        self._seen.add(key)
        return False
