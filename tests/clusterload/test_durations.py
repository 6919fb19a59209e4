"""Durations in Go's spelling."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clusterload.durations import format_duration, parse_duration


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("0", 0),
        ("5s", 5),
        ("1h2m3.5s", 3723.5),
        ("200ms", 0.2),
        ("1.5h", 5400),
        (".5s", 0.5),
        ("10us", 1e-5),
        ("10µs", 1e-5),
        ("-1m", -60),
    ],
)
def test_reading(text: str, seconds: float) -> None:
    assert parse_duration(text) == pytest.approx(seconds)


@pytest.mark.parametrize("text", ["", "5", "s", "5 s", "5s ", "1d", "1h-2m", "five"])
def test_what_is_no_duration(text: str) -> None:
    with pytest.raises(ValueError, match="is not a duration, such as 1m30s"):
        parse_duration(text)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0s"),
        (1e-9, "1ns"),
        (1.5e-6, "1.5µs"),
        (0.2, "200ms"),
        (5, "5s"),
        (61, "1m1s"),
        (600, "10m0s"),
        (3723.5, "1h2m3.5s"),
        (-90, "-1m30s"),
    ],
)
def test_writing_as_go_does(seconds: float, text: str) -> None:
    assert format_duration(seconds) == text
    assert parse_duration(text) == pytest.approx(seconds)


@given(st.integers(min_value=-(10**15), max_value=10**15))
def test_what_is_written_reads_back(nanoseconds: int) -> None:
    assert round(parse_duration(format_duration(nanoseconds / 1e9)) * 1e9) == nanoseconds
