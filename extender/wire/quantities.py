"""Kubernetes quantities (`100m`, `1.5Gi`, `2e3`) into whole numbers, exactly."""

from __future__ import annotations

import re
from collections.abc import Mapping
from fractions import Fraction
from math import ceil

from extender.errors import ObjectError

_QUANTITY = re.compile(
    r"(?P<number>[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+))"
    r"(?:(?P<suffix>[KMGTPE]i|[numkMGTPE])|[eE](?P<exponent>[+-]?[0-9]{1,3}))?",
    re.ASCII,
)
_SUFFIXES = {
    **{f"{letter}i": Fraction(1024**power) for power, letter in enumerate("KMGTPE", start=1)},
    **{letter: Fraction(1000**power) for power, letter in enumerate("kMGTPE", start=1)},
    **{letter: Fraction(1, 1000**power) for power, letter in enumerate("mun", start=1)},
}
_CPU = "cpu"


def read_quantity(text: str | float) -> Fraction:
    """Read a quantity; ValueError when it is none. JSON may have it as a bare number."""
    found = _QUANTITY.fullmatch(str(text))
    if found is None:
        raise ValueError(f"{text!r} is no quantity")
    number = Fraction(found["number"])
    if found["exponent"]:
        return number * Fraction(10) ** int(found["exponent"])
    return number * _SUFFIXES.get(found["suffix"], 1)


def read_amounts(quantities: Mapping[str, str | int | float] | None, path: str) -> dict[str, int]:
    """Read quantities as the scheduler counts: thousandths for cpu, whole units for the rest.

    Rounded up, as it rounds. ObjectError names the one that is none.
    """
    amounts = {}
    for resource, text in (quantities or {}).items():
        try:
            quantity = read_quantity(text)
        except ValueError as error:
            raise ObjectError(f"{path}.{resource}", str(error)) from error
        amounts[resource] = ceil(quantity * 1000 if resource == _CPU else quantity)
    return amounts
