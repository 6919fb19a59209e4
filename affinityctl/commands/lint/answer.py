"""What `-o json` and `-o yaml` print, from which docs/reference/schemas has the schema."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, TypedDict

from affinityctl.commands.lint.finding import Level


class ToldFound(TypedDict):
    rule: str
    level: Level
    file: str
    line: int | None
    object: str
    path: str
    message: str
    what: str
    why: str
    fix: str
    patch: Sequence[Mapping[str, Any]]
    """Operations of a JSON patch."""


class Summary(TypedDict):
    objects: int
    errors: int
    warnings: int
    notes: int
    ignored: int
    skipped: Mapping[str, int]
    notJudged: Sequence[str]
    unknown: Sequence[str]


class Linted(TypedDict):
    findings: Sequence[ToldFound]
    summary: Summary


ANSWERS: Final = (Linted,)
