"""Quantities, exactly as Kubernetes reads them."""

from __future__ import annotations

from fractions import Fraction

import pytest

from extender.errors import ObjectError
from extender.wire.quantities import read_amounts, read_quantity


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("0", 0, id="nothing"),
        pytest.param("12", 12, id="a plain number"),
        pytest.param("+1.5", Fraction(3, 2), id="signed, with a fraction"),
        pytest.param(".5", Fraction(1, 2), id="a fraction without a zero"),
        pytest.param("5.", 5, id="a point at the end"),
        pytest.param("250m", Fraction(1, 4), id="thousandths"),
        pytest.param("3u", Fraction(3, 10**6), id="millionths"),
        pytest.param("7n", Fraction(7, 10**9), id="billionths"),
        pytest.param("2k", 2000, id="decimal kilo in lower case"),
        pytest.param("1E", 10**18, id="exa, not an exponent"),
        pytest.param("1E3", 1000, id="an exponent, not exa"),
        pytest.param("15e-1", Fraction(3, 2), id="a negative exponent"),
        pytest.param("1Ki", 1024, id="binary kilo"),
        pytest.param("1.5Gi", 3 * 2**29, id="binary with a fraction"),
        pytest.param("2Ei", 2**61, id="binary exa"),
        pytest.param(4, 4, id="a bare number in a manifest"),
        pytest.param(0.1, Fraction(1, 10), id="a bare fraction is what was written"),
    ],
)
def test_a_quantity(text: str | float, expected: Fraction | int) -> None:
    assert read_quantity(text) == expected


@pytest.mark.parametrize("text", ["", "m", "1K", "1 Gi", "1Gib", "0x1", "1e", "1..2", "½", "1_0"])
def test_what_is_no_quantity(text: str) -> None:
    with pytest.raises(ValueError, match="is no quantity"):
        read_quantity(text)


def test_amounts_are_rounded_up_as_the_scheduler_does() -> None:
    assert read_amounts({"cpu": "1.0001", "memory": "1500m", "example.com/gpu": 2}, "x") == {
        "cpu": 1001,
        "memory": 2,
        "example.com/gpu": 2,
    }


def test_a_broken_quantity_is_named() -> None:
    with pytest.raises(ObjectError, match=r"^status\.allocatable\.memory: 'lots' is no quantity"):
        read_amounts({"memory": "lots"}, "status.allocatable")
