"""What a rule is, and what it finds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Generic, NamedTuple, TypeAlias, TypeVar

S = TypeVar("S")


class Level(StrEnum):
    """How bad a finding is; the words are those of SARIF."""

    ERROR = "error"
    """Something does not work, or not as it is written."""
    WARNING = "warning"
    """It works, and costs more or does less than was probably meant."""
    NOTE = "note"
    """It may well be meant so; it makes no run fail."""


class Spot(NamedTuple):
    """Where in an object something was found, and what."""

    path: str
    """Of the field, as kubectl explain writes it, with indexes: extenders[0].weight."""
    message: str
    patch: tuple[dict[str, Any], ...] = ()
    """Operations of a JSON patch that put it right; none where that takes a person."""


@dataclass(frozen=True, slots=True)
class Rule(Generic[S]):
    """One kind of mistake; the texts are for operators and end up in the reference."""

    id: str
    """Stable: names the rule in reports, in annotations and on the command line."""
    level: Level
    what: str
    why: str
    fix: str
    check: Callable[[S], Iterable[Spot]]


AnyRule: TypeAlias = Rule[Any]


def only_if(given: object, *rules: Rule[S]) -> tuple[Rule[S], ...]:
    """Return rules about what a feature gives, where there is one."""
    return rules if given else ()


@dataclass(frozen=True, slots=True)
class Place:
    """One object, and the file that it is in."""

    file: str
    """As it was named; "" for an object of a live cluster."""
    object: str
    """Kind and name: Deployment shop/web. Those without a name have their kind alone."""
    number: int = 0
    """Which object of its file it is, from 0."""
    owner: str = ""
    """What made it, likewise; "" for what is its own."""


@dataclass(frozen=True, slots=True)
class Finding:
    rule: AnyRule
    place: Place
    path: str
    message: str
    patch: tuple[dict[str, Any], ...] = ()


class Report(NamedTuple):
    findings: tuple[Finding, ...]
    objects: int
    """Objects that some rule has looked at."""
    silenced: int
    """Findings that an annotation or --ignore has taken out."""
    skipped: Counter[str]
    """Objects by their kinds, of those that no rule looks at."""
    not_judged: tuple[str, ...]
    """Objects with a template for pods, of kinds that no rule looks at."""
    unknown: tuple[str, ...]
    """What rules could not look at, for want of information."""
