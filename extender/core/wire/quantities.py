"""Kubernetes quantities (`100m`, `1.5Gi`, `2e3`) into whole numbers, exactly."""

from __future__ import annotations

import re
from collections.abc import Mapping
from fractions import Fraction
from math import ceil
from reprlib import Repr
from typing import Final, TypeAlias

from extender.core.errors import ObjectError

BILLIONTHS: Final = 10**9
"""The finest a Kubernetes quantity can be, so sums of such integers are exact."""

Quantities: TypeAlias = Mapping[str, str | int | float]
"""Quantities by resource, as JSON has them."""

_QUANTITY = re.compile(
    r"(?P<number>[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+))"
    r"(?:(?P<suffix>[KMGTPE]i|[numkMGTPE])|[eE](?P<exponent>[+-]?[0-9]{1,3}))?",
    re.ASCII,
)
_SUFFIXES = {
    **{f"{letter}i": Fraction(1024**power) for power, letter in enumerate("KMGTPE", start=1)},
    **{letter: Fraction(1000**power) for power, letter in enumerate("kMGTPE", start=1)},
    **{letter: Fraction(1, 1000**power) for power, letter in enumerate("mun", start=1)},
}
_CPU = "cpu"
_SHOWN = Repr()
_SHOWN.maxstring = 200


def read_quantity(text: str | float) -> Fraction:
    """Read a quantity out of JSON, a string or a bare number; ValueError when it is none.

    The API server takes blanks around it.
    """
    found = _QUANTITY.fullmatch(str(text).strip())
    if found is None:
        raise ValueError(f"{_SHOWN.repr(text)} is not a quantity")
    number = Fraction(found["number"])
    if found["exponent"]:
        return number * Fraction(10) ** int(found["exponent"])
    return number * _SUFFIXES.get(found["suffix"], 1)


def read_amounts(quantities: Quantities | None, path: str) -> dict[str, int]:
    """Read quantities as the scheduler counts; ObjectError names the one that is none."""
    return rounded(read_exact_amounts(quantities, path))


def rounded(amounts: Mapping[str, int]) -> dict[str, int]:
    """Turn billionths into thousandths for cpu, whole units for the rest, rounded up."""
    return {
        resource: -(-amount // (BILLIONTHS // (1000 if resource == _CPU else 1)))
        for resource, amount in amounts.items()
    }


def read_exact_amounts(quantities: Quantities | None, path: str) -> dict[str, int]:
    """Read quantities exactly: in billionths, the finest that the API server keeps.

    ObjectError names the one that is none.
    """
    amounts = {}
    for resource, text in (quantities or {}).items():
        try:
            amounts[resource] = ceil(read_quantity(text) * BILLIONTHS)
        except ValueError as error:
            raise ObjectError(f"{path}.{resource}", str(error)) from error
    return amounts


def write_quantity(amount: int, *, binary: bool) -> str:
    """Write billionths as a quantity, in the largest unit that leaves a whole number.

    `binary` for what is measured in bytes (Ki, Mi, ...); other things have m, u, n or no unit.
    """
    if amount % BILLIONTHS == 0:
        whole, units = amount // BILLIONTHS, "KMGTPE" if binary else ""
        suffix = ""
        for unit in units:
            if not whole or whole % 1024:
                break
            whole, suffix = whole // 1024, f"{unit}i"
        return f"{whole}{suffix}"
    return next(
        f"{amount * 1000**power // BILLIONTHS}{unit}"
        for power, unit in enumerate("mun", start=1)
        if amount * 1000**power % BILLIONTHS == 0
    )
