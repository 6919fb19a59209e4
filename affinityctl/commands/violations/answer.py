"""What `-o json` and `-o yaml` print, from which docs/reference/schemas has the schema."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, NotRequired, TypedDict

from extender.core.wire.broken_rules import BrokenRules


class ToldPlace(TypedDict):
    key: str
    value: str | None


class BrokenRule(TypedDict):
    kind: str
    source: str
    term: NotRequired[Mapping[str, Any]]
    """A v1.PodAffinityTerm."""
    domain: NotRequired[ToldPlace]


class Breaking(TypedDict):
    """A placed pod that breaks a required rule."""

    pod: str
    uid: str
    node: str
    since: str | None
    outcome: str
    why: str
    broken: str
    rules: Sequence[BrokenRule]
    inTheWay: Sequence[str]
    inTheWayCount: int


class ToldViolations(TypedDict):
    pods: Sequence[Breaking]
    count: int
    brokenAnnotations: Sequence[BrokenRules]


ANSWERS: Final = (ToldViolations,)
