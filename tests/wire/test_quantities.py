"""Quantities, exactly as Kubernetes reads them."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from extender.core.errors import ObjectError
from extender.core.wire.quantities import (
    read_amounts,
    read_exact_amounts,
    read_quantity,
    write_quantity,
)


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
        pytest.param(" 1 ", 1, id="blanks around it, in JSON"),
        pytest.param(4, 4, id="a bare number in a manifest"),
        pytest.param(0.1, Fraction(1, 10), id="a bare fraction is what was written"),
    ],
)
def test_a_quantity(text: str | float, expected: Fraction | int) -> None:
    assert read_quantity(text) == expected


@pytest.mark.parametrize("text", ["", "m", "1K", "1 Gi", "1Gib", "0x1", "1e", "1..2", "½", "1_0"])
def test_what_is_no_quantity(text: str) -> None:
    with pytest.raises(ValueError, match="is not a quantity"):
        read_quantity(text)


def test_amounts_are_rounded_up_as_the_scheduler_does() -> None:
    assert read_amounts({"cpu": "1.0001", "memory": "1500m", "example.com/gpu": 2}, "x") == {
        "cpu": 1001,
        "memory": 2,
        "example.com/gpu": 2,
    }


def test_a_broken_quantity_is_named() -> None:
    said = r"^status\.allocatable\.memory: 'lots' is not a quantity"
    with pytest.raises(ObjectError, match=said):
        read_amounts({"memory": "lots"}, "status.allocatable")


@pytest.mark.parametrize(
    ("text", "binary", "expected"),
    [
        pytest.param("0", False, "0", id="nothing"),
        pytest.param("12", False, "12", id="a whole number"),
        pytest.param("1.5", False, "1500m", id="thousandths"),
        pytest.param("10u", False, "10u", id="millionths"),
        pytest.param("1n", False, "1n", id="billionths"),
        pytest.param("8Gi", True, "8Gi", id="bytes"),
        pytest.param("1.5Gi", True, "1536Mi", id="the largest unit that is whole"),
        pytest.param("1000", True, "1000", id="bytes that are no round number"),
        pytest.param("0", True, "0", id="no bytes"),
        pytest.param("4096Ei", True, "4096Ei", id="no unit is larger"),
        pytest.param("100m", True, "100m", id="a tenth of a byte"),
    ],
)
def test_a_quantity_written(text: str, binary: bool, expected: str) -> None:
    amount = read_exact_amounts({"x": text}, "y")["x"]
    assert write_quantity(amount, binary=binary) == expected


@given(amount=st.integers(0, 2**70), binary=st.booleans())
def test_what_is_written_means_the_same(amount: int, binary: bool) -> None:
    text = write_quantity(amount, binary=binary)
    assert read_exact_amounts({"x": text}, "y") == {"x": amount}
