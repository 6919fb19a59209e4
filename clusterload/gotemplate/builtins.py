"""The functions that text/template brings along; they complain with a ValueError."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable
from typing import Any

from clusterload.gotemplate.values import kind, to_text

Function = Callable[..., Any]

_VERB = re.compile(r"%(?P<form>[-+0 ]*\d*(?:\.\d+)?)(?P<verb>.)")


def _equal(first: Any, *others: Any) -> bool:
    if not others:
        raise ValueError("missing argument for comparison")
    return any(_same(first, each) for each in others)


def _same(one: Any, other: Any) -> bool:
    if one is None or other is None:
        return one is other
    _comparable(one, other)
    return bool(one == other)


def _comparable(one: Any, other: Any) -> None:
    """Refuse what Go refuses, an int beside a float64 above all."""
    if kind(one) != kind(other):
        raise ValueError(f"incompatible types for comparison: {kind(one)} and {kind(other)}")


def _ordered(compare: Callable[[Any, Any], bool]) -> Function:
    def ordered(one: Any, other: Any) -> bool:
        _comparable(one, other)
        if kind(one) not in {"int", "float64", "string"}:
            raise ValueError(f"invalid type for comparison: {kind(one)}")
        return compare(one, other)

    return ordered


def _index(value: Any, *keys: Any) -> Any:
    for key in keys:
        if isinstance(value, dict):
            value = value.get(key)
            continue
        if kind(value) != "slice" and not isinstance(value, str):
            raise ValueError(f"can't index item of type {kind(value)}")
        if kind(key) != "int":
            raise ValueError(f"cannot index slice with type {kind(key)}")
        if not 0 <= key < len(value):
            raise ValueError(f"index out of range: {key}")
        value = value[key]
    return value


def _length(value: Any) -> int:
    if kind(value) not in {"map", "slice", "string"}:
        raise ValueError(f"len of type {kind(value)}")
    return len(value)


def _printf(form: str, *values: Any) -> str:
    rest = list(values)

    def fill(match: re.Match[str]) -> str:
        if match["verb"] == "%":
            return "%"
        if not rest:
            return f"%!{match['verb']}(MISSING)"
        value = rest.pop(0)
        if match["verb"] == "v":
            return to_text(value)
        try:
            return str(f"%{match['form']}{match['verb']}" % value)
        except (TypeError, ValueError) as error:
            raise ValueError(f"cannot print {kind(value)} as {match[0]}") from error

    return _VERB.sub(fill, form)


BUILTINS: dict[str, Function] = {
    "eq": _equal,
    "ne": lambda one, other: not _same(one, other),
    "lt": _ordered(operator.lt),
    "le": _ordered(operator.le),
    "gt": _ordered(operator.gt),
    "ge": _ordered(operator.ge),
    "not": operator.not_,
    "index": _index,
    "len": _length,
    "printf": _printf,
}
"""`and` and `or` are not among them: they leave out what they need not know."""
