"""Splits a template into text and actions, and an action into tokens."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum, auto
from typing import TYPE_CHECKING

from extender.core.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Iterator

# A quoted string may hold the closing braces.
_INSIDE = r'(?:"(?:\\.|[^"\\\n])*"|`[^`]*`|(?!\}\}).)*?'
_ACTION = re.compile(
    r"\{\{(?P<trim_before>-(?=\s))?"
    r"(?:\s*/\*(?P<comment>.*?)\*/\s*?|(?P<action>" + _INSIDE + r"))"
    r"(?P<trim_after>(?<=\s)-)?\}\}",
    re.DOTALL,
)


class TemplateError(ConfigError):
    """A template that cannot be read or filled in; names the file and the line."""

    def __init__(self, source: str, line: int, message: str) -> None:
        super().__init__(f"{source}, line {line}", message)


class Kind(Enum):
    SPACE = auto()
    STRING = auto()
    RAW = auto()
    NUMBER = auto()
    VARIABLE = auto()
    FIELD = auto()
    WORD = auto()
    DECLARE = auto()
    ASSIGN = auto()
    PIPE = auto()
    OPEN = auto()
    CLOSE = auto()
    COMMA = auto()


_TOKENS = {
    Kind.SPACE: r"\s+",
    Kind.STRING: r'"(?:\\.|[^"\\\n])*"',
    Kind.RAW: r"`[^`]*`",
    Kind.NUMBER: r"[+-]?(?:0[xX][0-9a-fA-F]+|(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?)(?!\w)",
    Kind.VARIABLE: r"\$\w*(?:\.[^\W\d]\w*)*",
    Kind.FIELD: r"(?:\.[^\W\d]\w*)+|\.(?!\w)",
    Kind.WORD: r"[^\W\d]\w*",
    Kind.DECLARE: r":=",
    Kind.ASSIGN: r"=",
    Kind.PIPE: r"\|",
    Kind.OPEN: r"\(",
    Kind.CLOSE: r"\)",
    Kind.COMMA: r",",
}
_TOKEN = re.compile("|".join(f"(?P<{kind.name}>{form})" for kind, form in _TOKENS.items()))


@dataclass(frozen=True, slots=True)
class Token:
    kind: Kind
    text: str
    spaced: bool
    """Whether space stands before it: `(f) .A` is two operands, `(f).A` is one."""


@dataclass(frozen=True, slots=True)
class Action:
    """What stands between `{{` and `}}`."""

    line: int
    tokens: tuple[Token, ...]


def pieces(template: str, source: str) -> Iterator[str | Action]:
    """Yield text and actions in turn, without comments, and trimmed where trim marks say so."""
    position, trim = 0, False
    while (start := template.find("{{", position)) >= 0:
        line = template.count("\n", 0, start) + 1
        match = _ACTION.match(template, start)
        if match is None:
            raise TemplateError(source, line, "'{{' without '}}'")
        text = template[position:start]
        text = text.lstrip() if trim else text
        yield text.rstrip() if match["trim_before"] else text
        if match["comment"] is None:
            yield Action(line, tuple(_tokens(match["action"], source, line)))
        position, trim = match.end(), match["trim_after"] is not None
    rest = template[position:]
    yield rest.lstrip() if trim else rest


def _tokens(action: str, source: str, line: int) -> Iterator[Token]:
    position, spaced = 0, False
    while position < len(action):
        match = _TOKEN.match(action, position)
        if match is None or match.lastgroup is None:
            raise TemplateError(source, line, f"cannot read {action[position:].strip()!r}")
        position = match.end()
        kind = Kind[match.lastgroup]
        if kind is not Kind.SPACE:
            yield Token(kind, match[0], spaced)
        spaced = kind is Kind.SPACE
