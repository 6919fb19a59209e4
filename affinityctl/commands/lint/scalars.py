"""Which single values fields take: as they are decoded, and as the API server validates them."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any, Final, NamedTuple

from extender.core.wire.quantities import read_quantity
from extender.core.wire.validation import (
    is_dns_label,
    is_dns_subdomain,
    is_label_key,
    is_label_value,
)

INT32: Final = 1 << 31
_INT64: Final = 1 << 63
_MOST_PORTS: Final = 65_535
_PERCENT: Final = re.compile(r"[0-9]+%", re.ASCII)
_WEIGHTS: Final = range(1, 101)


class Scalar(NamedTuple):
    takes: tuple[type, ...]
    is_called: str
    fault: Callable[[Any], str | None] = lambda _: None
    zero: Any = ""
    """What null stands for."""


def _is(kind: str, judge: Callable[[Any], bool]) -> Callable[[Any], str | None]:
    return lambda value: None if judge(value) else f"{value!r} is not {kind}"


def _at_least(least: int) -> Callable[[int], str | None]:
    return lambda value: None if value >= least else f"{value} is less than {least}"


def _share(value: int | str) -> str | None:
    if isinstance(value, int):
        return _at_least(0)(value)
    return None if _PERCENT.fullmatch(value) else f"{value!r} is neither a number nor a percentage"


def amount(written: str | float | None) -> Fraction | None:
    """Return a quantity, as the API server decodes it; None for what is none."""
    try:
        return read_quantity(0 if written is None else written)
    except ValueError:
        return None


def _not_negative(value: str | float) -> str | None:
    return None if (amount(value) or 0) >= 0 else f"{value} is less than 0"


def _namespace(value: str) -> str | None:
    fault = _is("the name of a namespace", is_dns_label)(value)
    return f"{fault}; namespaceSelector: {{}} is all of them" if value == "*" else fault


def _text(kind: str, judge: Callable[[str], bool]) -> Scalar:
    return Scalar((str,), "a string", _is(kind, judge))


def _number(fault: Callable[[int], str | None] = lambda _: None) -> Scalar:
    return Scalar((int,), "a whole number", fault, 0)


_KEY: Final = _text("a label key", is_label_key)
SCALARS: Final[Mapping[str, Scalar]] = {
    "str": Scalar((str,), "a string"),
    "key": _KEY,
    "taintkey": _text("a label key", lambda value: not value or is_label_key(value)),
    "value": _text("a label value", is_label_value),
    "label": _text("a label value", is_label_value),
    "namespace": Scalar((str,), "a string", _namespace),
    "name": _text("a name", lambda value: not value or is_dns_subdomain(value)),
    "filled": Scalar((str,), "a string", lambda value: None if value else "must not be empty"),
    "int32": _number(),
    "int64": _number(),
    "count": _number(_at_least(0)),
    "positive": _number(_at_least(1)),
    "weight": _number(
        lambda value: None if value in _WEIGHTS else f"{value} is not in the range 1-100"
    ),
    "port": _number(_is("a port", lambda value: 1 <= value <= _MOST_PORTS)),
    "hostport": _number(_is("a port", lambda value: 0 <= value <= _MOST_PORTS)),
    "bool": Scalar((bool,), "true or false", zero=False),
    "share": Scalar((int, str), "a whole number or a percentage", _share, 0),
    "quantity": Scalar((int, float, str), "a quantity", _not_negative, 0),
}


def fits(kind: str, value: Any) -> bool:
    """Return whether JSON of this type can be decoded into a scalar."""
    takes = SCALARS[kind].takes
    if isinstance(value, bool):
        return bool in takes
    if kind == "quantity":
        return isinstance(value, int | float | str) and amount(value) is not None
    limit = _INT64 if kind == "int64" else INT32
    return isinstance(value, takes) and (not isinstance(value, int) or -limit <= value < limit)
