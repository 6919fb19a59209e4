"""Label selectors as kubectl takes them on its command line: zone=b,disk in (ssd),!old."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from extender.core.errors import ConfigError
from extender.core.model.labels import Operator, Requirement, Selector

_NAME = r"[A-Za-z0-9](?:[-A-Za-z0-9_./]*[A-Za-z0-9])?"
_VALUE = r"[-A-Za-z0-9_.]*"
_EQUALITY = re.compile(rf"(?P<key>{_NAME})\s*(?P<sign>==|=|!=)\s*(?P<value>{_VALUE})")
_SET = re.compile(rf"(?P<key>{_NAME})\s+(?P<word>in|notin)\s*\((?P<values>[^()]*)\)")
_PRESENCE = re.compile(rf"(?P<absent>!?)\s*(?P<key>{_NAME})")
_PARTS = re.compile(r",(?![^(]*\))")

LONGEST: Final = 16 << 10


def parse_selector(text: str, flag: str) -> Selector:
    """Parse the selector that a flag has; ConfigError says which part is broken."""
    if len(text) > LONGEST:
        raise ConfigError(flag, f"a selector of more than {LONGEST:,} characters")
    return Selector.of(_requirements(text, flag))


def _requirements(text: str, flag: str) -> Iterator[Requirement]:
    for part in map(str.strip, _PARTS.split(text)):
        if found := _EQUALITY.fullmatch(part):
            operator = Operator.NOT_IN if found["sign"] == "!=" else Operator.IN
            yield Requirement(found["key"], operator, frozenset((found["value"],)))
        elif found := _SET.fullmatch(part):
            operator = Operator.IN if found["word"] == "in" else Operator.NOT_IN
            values = frozenset(value.strip() for value in found["values"].split(","))
            yield Requirement(found["key"], operator, values)
        elif found := _PRESENCE.fullmatch(part):
            operator = Operator.DOES_NOT_EXIST if found["absent"] else Operator.EXISTS
            yield Requirement(found["key"], operator)
        else:
            raise ConfigError(flag, f"{part!r} is no condition on a label")
