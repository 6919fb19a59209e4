"""Asks every rule about everything that it is for."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import PurePath
from typing import TypeVar

import msgspec

from extender.config import Config, Mode
from extender.lint.finding import Finding, Place, Report, Rule
from extender.lint.made import Made
from extender.lint.objects import Objects, Workload
from extender.lint.reading import TemplateReader
from extender.lint.rights import Granted, Rights
from extender.lint.rulebook import OF_CONFIG, OF_RIGHTS, OF_ROLE, OF_SCHEDULER, OF_WORKLOAD
from extender.lint.setup import setup_of
from extender.lint.surroundings import Surroundings

S = TypeVar("S")


@dataclass(frozen=True, slots=True)
class Configured:
    """An extender's configuration, and where it is."""

    place: Place
    config: Config


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
    spared = frozenset(ignore)
    findings = [
        *_schedulers(objects, known, mode),
        *_configs(known, mode),
        *_rights(objects, known, mode),
    ]
    kept = [each for each in findings if each.rule.id not in spared]
    silenced = len(findings) - len(kept)
    for owner_ignores, found in _workloads(objects.workloads, around):
        if found.rule.id in owner_ignores or found.rule.id in spared:
            silenced += 1
        else:
            kept.append(found)
    return Report(tuple(kept), len(objects), silenced)


def _ask(rules: Iterable[Rule[S]], subject: S, place: Place) -> Iterator[Finding]:
    for rule in rules:
        for path, message in rule.check(subject):
            yield Finding(rule, place, path, message)


def _schedulers(
    objects: Objects, configs: list[Configured], mode: Mode | None
) -> Iterator[Finding]:
    for place, scheduler in objects.schedulers:
        config = _belonging(place, configs)
        yield from _ask(OF_SCHEDULER, setup_of(scheduler, config, mode), place)


def _belonging(place: Place, configs: list[Configured]) -> Config | None:
    if len(configs) == 1:
        return configs[0].config
    folder = PurePath(place.file).parent
    near = [each for each in configs if PurePath(each.place.file).parent == folder]
    return near[0].config if len(near) == 1 else None


def _configs(configs: list[Configured], mode: Mode | None) -> Iterator[Finding]:
    for each in configs:
        yield from _ask(OF_CONFIG, _in_mode(each.config, mode), each.place)


def _rights(objects: Objects, configs: list[Configured], mode: Mode | None) -> Iterator[Finding]:
    if len(configs) != 1:
        return  # what is needed is not clear
    config = _in_mode(configs[0].config, mode)
    bound = [each for each in objects.bindings if each[1].is_ours]
    names = dict.fromkeys(f"{one.role_ref.kind}/{one.role_ref.name}" for _, one in bound)
    roles = [objects.roles[name] for name in names if name in objects.roles]
    for place, role in roles:
        yield from _ask(OF_ROLE, Granted(tuple(role.rules or ()), config), place)
    if roles:
        rules = tuple(rule for _, role in roles for rule in role.rules or ())
        complete = len(roles) == len(names)
        yield from _ask(OF_RIGHTS, Rights(rules, complete, config), roles[0][0])


def _workloads(
    workloads: list[Workload], around: Surroundings
) -> Iterator[tuple[frozenset[str], Finding]]:
    reader = TemplateReader(around)
    made = Made(workloads)
    for place, manifest, owner, template in workloads:
        if manifest.ended or made.repeats(owner.kind, manifest):
            continue
        for found in _ask(OF_WORKLOAD, reader.read(owner, template), place):
            yield owner.ignored, found


def _in_mode(config: Config, mode: Mode | None) -> Config:
    """Return the configuration with a mode that a flag sets."""
    return config if mode is None else msgspec.structs.replace(config, mode=mode)
