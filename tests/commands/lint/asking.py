"""Lint objects as the command does, without files."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

import msgspec

from affinityctl.commands.lint.finding import Report
from affinityctl.commands.lint.linting import lint
from affinityctl.commands.lint.objects import Objects, read_configs
from affinityctl.reading.sources import Raw
from extender.core.config import Mode
from extender.core.config.features import leaving
from tests.builders import Json
from tests.deploy.places import SCHEDULER_CONFIG, read_yaml
from tests.features.every import shipped_with


def objects_of(things: Iterable[Json]) -> Objects:
    """Take objects as if they were one file."""
    found = Objects()
    raws = (
        Raw("planted.yaml", number, thing["kind"], msgspec.Raw(json.dumps(thing).encode()))
        for number, thing in enumerate(things)
    )
    found.take(raws, lenient=True)
    return found


def linted(
    *things: Json, whole: bool = True, mode: Mode | None = None, minor: int | None = 37
) -> Report:
    """Lint objects; `whole` when they are all that the cluster has."""
    objects = objects_of(things)
    around = objects.around(whole=whole, minor=minor)
    return lint(objects, read_configs(objects.configs), around, mode)


def found(report: Report) -> list[str]:
    """Return the ids of the rules that found something, each once."""
    return sorted({each.rule.id for each in report.findings})


def shipped(mode: str) -> dict[str, Any]:
    """Return a scheduler's file that works."""
    file = dict(read_yaml(SCHEDULER_CONFIG / f"{mode}.yaml"))
    if leaving() is None:
        del file["profiles"][1:]  # without the feature that they are for
    return file


def ours(mode: str, **fields: Any) -> dict[str, Any]:
    return {
        "apiVersion": "affinity-extender.io/v1",
        "kind": "AffinityExtenderConfiguration",
        "mode": mode,
        **shipped_with(mode),
        **fields,
    }


def at(thing: Any, path: str) -> Any:
    """Return what is at a path such as extenders[0].weight."""
    for part in path.replace("[", ".[").split("."):
        thing = thing[int(part[1:-1])] if part.startswith("[") else thing[part]
    return thing
