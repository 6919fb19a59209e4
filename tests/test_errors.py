"""What errors say: one line that holds no more than a line should, whatever it quotes."""

from __future__ import annotations

import time

import pytest

from extender.core.errors import (
    MESSAGE_BYTES,
    ApiError,
    ConfigError,
    ExtenderError,
    ObjectError,
    bounded,
    one_line,
)

HUGE = 60_000_000


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("plain, with 100% of ünïcode", "plain, with 100% of ünïcode", id="plain"),
        pytest.param(" a\n\tb \r\n c ", "a b c", id="line ends"),
        pytest.param(
            "a\x1b[2Jb\0c\u202ed", "a\\x1b[2Jb\\x00c\\u202ed", id="what drives a terminal"
        ),
        pytest.param("a\ud800b", "a\\ud800b", id="a lone surrogate"),
    ],
)
def test_a_message_is_one_printable_line(text: str, expected: str) -> None:
    assert one_line(text) == expected
    assert str(ExtenderError(text)) == expected


@pytest.mark.parametrize(
    "error",
    [
        pytest.param(lambda text: ObjectError(text, "not a text"), id="a path"),
        pytest.param(lambda text: ObjectError("metadata.labels", text), id="a message"),
        pytest.param(lambda text: ConfigError(text, text), id="a configuration"),
        pytest.param(lambda text: ApiError(500, text, text), id="the API server"),
    ],
)
@pytest.mark.parametrize("letter", ["x", "é", "\x1b", "\ud800", "\n", "\U0001f600"])
def test_a_message_is_bounded(error: type[ExtenderError], letter: str) -> None:
    start = time.perf_counter()
    text = str(error(letter * HUGE))
    assert time.perf_counter() - start < 5.0, "the rest is not even looked at"
    assert len(text.encode()) <= MESSAGE_BYTES
    assert "characters in all" in text


def test_a_bounded_text_keeps_its_blanks() -> None:
    assert bounded("a  b\n") == "a  b\\n"
    assert len(bounded("\U000e0001" * 5000).encode()) <= MESSAGE_BYTES
