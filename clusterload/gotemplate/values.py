"""Values as Go sees them: how they print and compare, and text/template's own functions."""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable
from decimal import Decimal
from typing import Any

Function = Callable[..., Any]

NO_VALUE = "<no value>"

_LEAST_PLAIN, _MOST_PLAIN = -4, 5
"""The powers of ten between which Go prints a float without an exponent."""

_VERB = re.compile(r"%(?P<form>[-+0 ]*\d*(?:\.\d+)?)(?P<verb>.)")

_KINDS = {
    type(None): "nil",
    bool: "bool",
    int: "int",
    float: "float64",
    str: "string",
    dict: "map",
}


def to_text(value: Any) -> str:
    """Print a value as fmt's %v does."""
    match value:
        case None:
            return NO_VALUE
        case bool():
            return "true" if value else "false"
        case float():
            return _float(value)
        case list() | tuple() | range():
            return f"[{' '.join(map(to_text, value))}]"
        case dict():
            return f"map[{' '.join(f'{key}:{to_text(value[key])}' for key in sorted(value))}]"
        case _:
            return str(value)


def kind(value: Any) -> str:
    """Name the kind of a value in Go's words."""
    return _KINDS.get(type(value), "slice")


def as_json(value: Any) -> Any:
    """Return a value as encoding/json hands it to a template: every number is a float64."""
    match value:
        case bool():
            return value
        case int():
            return float(value)
        case dict():
            return {key: as_json(each) for key, each in value.items()}
        case list():
            return [as_json(each) for each in value]
        case _:
            return value


def _float(value: float) -> str:
    if math.isinf(value) or math.isnan(value):
        return {"inf": "+Inf", "-inf": "-Inf"}.get(str(value), "NaN")
    shortest = Decimal(repr(value)).normalize()
    exponent = shortest.adjusted() if value else 0
    if _LEAST_PLAIN <= exponent <= _MOST_PLAIN:
        return f"{shortest:f}"
    digits = shortest.scaleb(-exponent)
    return f"{digits:f}e{'-' if exponent < 0 else '+'}{abs(exponent):02d}"


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
"""Text/template's own functions, which complain with a ValueError. `and` and `or`
are not among them, as they do not evaluate all their arguments."""
