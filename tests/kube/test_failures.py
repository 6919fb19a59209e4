"""What a server's words of failure mean to us."""

from __future__ import annotations

import json

import pytest

from extender.core.kube.failures import failure_from_body
from tests.kube.fake_api import status


@pytest.mark.parametrize(
    ("body", "code", "expired"),
    [
        pytest.param(status(410, "Expired", "old"), 0, True, id="code and reason"),
        pytest.param(status(410, None, "old"), 0, True, id="the code alone"),
        pytest.param({"reason": "Expired"}, 0, True, id="the reason alone"),
        pytest.param({"reason": "Gone"}, 0, True, id="the older reason alone"),
        pytest.param({}, 410, True, id="the HTTP status alone"),
        pytest.param(status(404, "NotFound", "no"), 0, False, id="something else"),
        pytest.param({}, 0, False, id="nothing"),
    ],
)
def test_expired(body: dict[str, object], code: int, expired: bool) -> None:
    failure = failure_from_body(json.dumps(body).encode(), status=code)
    assert failure.expired is expired


@pytest.mark.parametrize(
    ("message", "shown"),
    [
        pytest.param("plain", "plain", id="as it is"),
        pytest.param("two\n  lines\t", "two lines", id="on one line"),
        pytest.param("x" * 401, "x" * 400 + "...", id="cut short"),
        pytest.param("", "no message", id="never empty"),
    ],
)
def test_message(message: str, shown: str) -> None:
    body = json.dumps(status(500, "InternalError", message)).encode()
    failure = failure_from_body(body, status=500)
    assert failure.message == shown
    assert str(failure) == f"500 InternalError: {shown}"


@pytest.mark.parametrize(
    ("header", "in_body", "seconds"),
    [
        pytest.param(None, None, None, id="no time named"),
        pytest.param("7", None, 7.0, id="in the header"),
        pytest.param(None, 3, 3.0, id="in the Status"),
        pytest.param("7", 3, 7.0, id="the header goes first"),
        pytest.param("Wed, 21 Oct 2026 07:28:00 GMT", 3, 3.0, id="a date is passed over"),
        pytest.param("-5", None, None, id="a negative time is none"),
    ],
)
def test_retry_after(header: str | None, in_body: int | None, seconds: float | None) -> None:
    details = {} if in_body is None else {"retryAfterSeconds": in_body}
    body = json.dumps(status(429, "TooManyRequests", "slow", **details)).encode()
    assert failure_from_body(body, status=429, retry_after=header).retry_after == seconds


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(b"", id="no body"),
        pytest.param(b"<html>token=hunter2</html>", id="a page for people"),
        pytest.param(b"\xff\xfehunter2", id="bytes of no text"),
        pytest.param(b'{"message": "hunter2', id="half a Status"),
        pytest.param(b'{"message": 7, "x": "hunter2"}', id="a message that is no text"),
        pytest.param(b'"hunter2"', id="a text"),
        pytest.param(b"[" * 100_000, id="nesting without end"),
    ],
)
def test_body_that_is_no_status_is_not_repeated(body: bytes) -> None:
    failure = failure_from_body(body, status=502, phrase="Bad Gateway")
    assert str(failure) == (f"502 Bad Gateway: the body ({len(body)} bytes) is no Status object")
