"""How Go sees values: what is true, how they print, and which of them compare."""

from __future__ import annotations

import math
from decimal import Decimal
from typing import Any

NO_VALUE = "<no value>"

_LEAST_PLAIN, _MOST_PLAIN = -4, 5
"""The powers of ten between which Go prints a float without an exponent."""

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
