"""Reads what the API server answers, in our own words when it makes no sense."""

from __future__ import annotations

from typing import TypeVar

import msgspec

from extender.kube.failures import BrokenAnswerError
from extender.wire.decoding import BROKEN_JSON

T = TypeVar("T")


def read_answer(body: bytes, kind: type[T]) -> T:
    """Decode a body; one that is something else is a BrokenAnswerError."""
    try:
        return msgspec.json.decode(body, type=kind)
    except BROKEN_JSON as failure:
        raise BrokenAnswerError(f"not what the API server sends: {failure}") from failure
