"""Long answers: put together in slices, a few at a time, each within a deadline, sent in pieces."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Generator, Sequence
from contextlib import asynccontextmanager
from heapq import merge
from http import HTTPStatus
from itertools import count
from time import perf_counter
from typing import Any, Final, TypeVar

from aiohttp import web
from aiohttp.abc import AbstractStreamWriter
from aiohttp.payload import Payload

from extender.core.collecting import pass_over_new
from extender.core.ports import Check
from extender.core.web.limits import MOST, WITHIN
from extender.core.wire.documents import Fields, write_document

T = TypeVar("T")

RUN: Final = 1_000
"""Rows that are sorted in one step."""


class QueryError(Exception):
    """A question that cannot be answered, and the status that says so."""

    def __init__(self, status: HTTPStatus, message: str) -> None:
        super().__init__(message)
        self.status = status


def check_known(unready: Check) -> None:
    """Raise QueryError while parts of the cluster are not known yet."""
    if reason := unready():
        raise QueryError(HTTPStatus.SERVICE_UNAVAILABLE, reason)


class Turns:
    """Bounds how many long answers are made at a time, and how many may queue."""

    def __init__(self) -> None:
        self.working: Final = asyncio.Semaphore(MOST.answers)
        """To be held while an answer is worked on."""
        self._waiting = 0

    @asynccontextmanager
    async def waiting(self) -> AsyncIterator[None]:
        """Bound the number and time of those that wait; QueryError for one too many or too late."""
        if self._waiting >= MOST.waiting:
            raise QueryError(HTTPStatus.TOO_MANY_REQUESTS, "too many such questions at a time")
        self._waiting += 1
        try:
            async with asyncio.timeout(WITHIN.answer):
                yield
        except TimeoutError as error:
            why = f"this took more than {WITHIN.answer:g} s; ask about less"
            raise QueryError(HTTPStatus.SERVICE_UNAVAILABLE, why) from error
        finally:
            self._waiting -= 1


async def in_slices(steps: Generator[object, None, T]) -> T:
    """Take steps, others being served in between, and return what the last one returns."""
    # Whatever came in before is served first.
    await asyncio.sleep(0)
    since = perf_counter()
    while True:
        try:
            next(steps)
        except StopIteration as end:
            found: T = end.value
            return found
        if perf_counter() - since >= WITHIN.slice:
            pass_over_new()
            await asyncio.sleep(0)
            since = perf_counter()


def sorting(rows: Sequence[T], key: Callable[[T], Any]) -> Generator[None, None, list[T]]:
    """Sort rows in steps of a millisecond or two; return them in order."""
    runs = []
    for start in range(0, len(rows), RUN):
        some = rows[start : start + RUN]
        runs.append(sorted(zip(map(key, some), count(start), some, strict=False)))
        yield
    found: list[T] = []
    for *_, row in merge(*runs):
        found.append(row)
        if len(found) % RUN == 0:
            yield
    return found


class Pieces(Payload):
    """A body whose pieces are never put together: to copy megabytes at once takes milliseconds."""

    _autoclose = True

    def __init__(self, pieces: Sequence[bytes], content_type: str) -> None:
        super().__init__(pieces, content_type=content_type)
        self._size = sum(map(len, pieces))

    def decode(self, encoding: str = "utf-8", errors: str = "strict") -> str:
        return b"".join(self._value).decode(encoding, errors)

    async def write(self, writer: AbstractStreamWriter) -> None:
        for piece in self._value:
            await writer.write(piece)
            await asyncio.sleep(0)


async def answer_in_turn(turns: Turns, fields: Callable[[], Fields]) -> web.Response:
    try:
        async with turns.waiting(), turns.working:
            pieces = await in_slices(write_document(fields()))
    except QueryError as error:
        return web.Response(status=error.status, text=f"{error}\n")
    return web.Response(body=Pieces(pieces, "application/json"))
