"""The syntax tree of a template."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Literal:
    """A number, a string, true, false or nil."""

    value: Any


@dataclass(frozen=True, slots=True)
class Field:
    """`.A.B`, or the dot itself when the path is empty."""

    path: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Variable:
    """`$name.A.B`; the name has its dollar sign, and `$` alone is what the template was given."""

    name: str
    path: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Group:
    """`(pipeline).A.B`."""

    pipeline: Pipeline
    path: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Call:
    """A function and its arguments; what a pipe brings comes last."""

    name: str
    arguments: tuple[Operand, ...]


Operand = Literal | Field | Variable | Group | Call


@dataclass(frozen=True, slots=True)
class Pipeline:
    """`$a, $b := one | two`; each command after the first is a call."""

    line: int
    commands: tuple[Operand, ...]
    variables: tuple[str, ...] = ()
    declares: bool = True
    """Whether `:=` makes the variables, or `=` gives existing ones a new value."""


@dataclass(frozen=True, slots=True)
class Text:
    """Text between actions, which is copied."""

    text: str


@dataclass(frozen=True, slots=True)
class Output:
    """`{{pipeline}}`; prints nothing when it sets variables."""

    pipeline: Pipeline


@dataclass(frozen=True, slots=True)
class If:
    """`{{if}} ... {{else}} ... {{end}}`."""

    pipeline: Pipeline
    body: tuple[Node, ...]
    otherwise: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class With:
    """Like If, with the value as the dot of the body."""

    pipeline: Pipeline
    body: tuple[Node, ...]
    otherwise: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Range:
    """The body once for each element, which is its dot."""

    pipeline: Pipeline
    body: tuple[Node, ...]
    otherwise: tuple[Node, ...]


Node = Text | Output | If | With | Range
