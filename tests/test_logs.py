"""One record is one line, with Kubernetes' keys or readable by people."""

from __future__ import annotations

import io
import json
import logging
import math
import sys
import warnings
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from extender.core import logs
from extender.core.errors import MESSAGE_BYTES


@dataclass
class Pod:
    """Anything with these two names a Kubernetes object."""

    namespace: str
    name: str


@pytest.fixture
def stream() -> io.StringIO:
    """Return where log lines go."""
    return io.StringIO()


def record(message: str, level: int = logging.INFO, **fields: object) -> logging.LogRecord:
    made = logging.LogRecord(
        "extender.core.kube", level, "/src/extender/core/kube/watchers.py", 12, message, (), None
    )
    made.created = 1_700_000_000.1234
    vars(made).update(fields)
    return made


def as_json(made: logging.LogRecord) -> dict[str, Any]:
    line = json.loads(logs.JsonFormatter().format(made))
    assert isinstance(line, dict)
    return line


def test_a_json_line() -> None:
    line = logs.JsonFormatter().format(record("Synced", pod=Pod("default", "web"), objects=3))
    assert line == (
        '{"ts":1700000000123.4,"caller":"kube/watchers.py:12","msg":"Synced","level":"info",'
        '"logger":"extender.core.kube","v":0,"pod":{"name":"web","namespace":"default"},"objects":3}'
    )


def test_a_line_of_text() -> None:
    line = logs.TextFormatter().format(
        record("Synced", pod=Pod("default", "web"), objects=3, why="took its time", none=None)
    )
    assert line == (
        "2023-11-14T22:13:20.123Z I extender.core.kube: Synced pod=default/web objects=3 "
        'why="took its time" none=null'
    )


@pytest.mark.parametrize(
    ("level", "expected"),
    [
        pytest.param(logging.ERROR, {"level": "error"}, id="errors have no v, as upstream"),
        pytest.param(logging.WARNING, {"level": "warning", "v": 0}, id="a warning"),
        pytest.param(logging.INFO, {"level": "info", "v": 0}, id="a milestone"),
        pytest.param(logs.PRODUCTION, {"level": "info", "v": 2}, id="production"),
        pytest.param(logs.CHANGES, {"level": "info", "v": 3}, id="changes"),
        pytest.param(logging.DEBUG, {"level": "info", "v": 4}, id="debugging"),
        pytest.param(logs.TRACE, {"level": "info", "v": 5}, id="tracing"),
        pytest.param(1, {"level": "info", "v": 9}, id="the end of the scale"),
        pytest.param(12, {"level": "info", "v": 4}, id="between two levels"),
    ],
)
def test_severity(level: int, expected: dict[str, object]) -> None:
    line = as_json(record("x", level))
    assert {key: line[key] for key in ("level", "v") if key in line} == expected


@pytest.mark.parametrize(
    ("level", "expected"),
    [
        pytest.param(logging.ERROR, "E", id="error"),
        pytest.param(logging.WARNING, "W", id="warning"),
        pytest.param(logging.INFO, "I", id="info"),
        pytest.param(logs.CHANGES, "V3", id="changes"),
    ],
)
def test_severity_in_text(level: int, expected: str) -> None:
    assert logs.TextFormatter().format(record("x", level)).split(" ")[1] == expected


def caught(error: Exception) -> logging.LogRecord:
    made = record("Watch ended", logging.ERROR)
    try:
        raise error
    except type(error):
        made.exc_info = sys.exc_info()
    return made


def test_an_exception_in_json() -> None:
    line = as_json(caught(ValueError("no\nway")))
    assert line["err"] == "ValueError: no\nway"
    assert line["stacktrace"].startswith("Traceback (most recent call last):\n")


def test_an_exception_in_text_is_on_the_same_line() -> None:
    line = logs.TextFormatter().format(caught(ValueError("no\nway")))
    assert 'err="ValueError: no\\nway"' in line
    assert "\n" not in line


def test_a_field_cannot_replace_a_key_of_the_line() -> None:
    assert as_json(record("x", ts="never", v=77)) == as_json(record("x"))


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        pytest.param(math.nan, "nan", id="what JSON has no number for"),
        pytest.param({1: (math.inf, {"a"})}, {"1": ["inf", ["a"]]}, id="nested"),
        pytest.param(OSError("gone"), "OSError: gone", id="an exception"),
        pytest.param(range(2), "range(0, 2)", id="anything else, as text"),
        pytest.param(None, None, id="nothing"),
    ],
)
def test_values_of_fields(value: object, expected: object) -> None:
    assert as_json(record("x", field=value))["field"] == expected


@given(st.text(st.characters()), st.text(st.characters()), st.text(st.characters()))
def test_one_record_is_one_harmless_line(message: str, key: str, value: str) -> None:
    made = record(message.replace("%", "%%"))
    vars(made)[f"field{key}"] = value
    for formatter in (logs.JsonFormatter(), logs.TextFormatter()):
        line = formatter.format(made)
        assert line.isprintable()
        line.encode()


@given(st.text(st.characters(codec="utf-8")), st.text(st.characters(codec="utf-8")))
def test_json_keeps_every_character(message: str, value: str) -> None:
    line = as_json(record(message, field=value))
    assert (line["msg"], line["field"]) == (message, value)


def test_arguments_are_put_into_the_message() -> None:
    made = record("%s of %d")
    made.args = ("one", 2)
    assert as_json(made)["msg"] == "one of 2"


@pytest.mark.parametrize(
    ("verbosity", "expected"),
    [
        pytest.param(0, "faults", id="0 shows faults and milestones"),
        pytest.param(1, "faults", id="1 nothing more yet"),
        pytest.param(2, "faults production", id="2 is for production"),
        pytest.param(3, "faults production changes", id="3 adds changes"),
        pytest.param(4, "faults production changes debug", id="4 adds debugging"),
        pytest.param(5, "faults production changes debug trace", id="5 adds every decision"),
        pytest.param(10, "faults production changes debug trace", id="10 is the end"),
    ],
)
def test_verbosity(stream: io.StringIO, verbosity: int, expected: str) -> None:
    logs.configure(json_lines=True, verbosity=verbosity, stream=stream)
    log = logging.getLogger("test")
    log.info("faults")
    log.log(logs.PRODUCTION, "production")
    log.log(logs.CHANGES, "changes")
    log.debug("debug")
    log.log(logs.TRACE, "trace")
    assert [json.loads(line)["msg"] for line in stream.getvalue().splitlines()] == expected.split()


def test_warnings_of_the_interpreter_are_logged(stream: io.StringIO) -> None:
    logs.configure(json_lines=False, verbosity=0, stream=stream)
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        warnings.warn("old\nthing", DeprecationWarning, stacklevel=1)
    [line] = stream.getvalue().splitlines()
    assert " W py.warnings: " in line


def test_configuring_again_replaces(stream: io.StringIO) -> None:
    logs.configure(json_lines=True, verbosity=0, stream=stream)
    logs.configure(json_lines=False, verbosity=0, stream=stream)
    logging.getLogger("test").info("once")
    assert len(stream.getvalue().splitlines()) == 1


@pytest.mark.parametrize("letter", ["x", "\n", "é", "\x1b", "\ud800"])
def test_a_line_is_bounded_whatever_it_quotes(letter: str) -> None:
    huge = letter * 1_000_000
    made = caught(ValueError(huge))
    made.msg, made.args = "pod %s, 100%%", (huge,)
    vars(made).update(pod=Pod(huge, huge), field=huge, mapping={huge: huge})
    text = logs.TextFormatter().format(made)
    assert len(text.encode()) <= 50_000
    assert text.isprintable()
    line = as_json(made)
    assert len(line["msg"].encode()) <= 5 * MESSAGE_BYTES
    assert len(json.dumps(line).encode()) <= 500_000
    assert "characters in all" in line["msg"]
    assert line["stacktrace"].startswith("Traceback (most recent call last):\n")


def test_a_lone_surrogate_is_fit_for_utf_8() -> None:
    line = logs.JsonFormatter().format(record("a\ud800b", field="\udfff"))
    assert json.loads(line)["msg"] == "a\\ud800b"
    assert json.loads(line)["field"] == "\\udfff"
