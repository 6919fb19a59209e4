"""What can go wrong between us and the API server, in our own words.

No exception of aiohttp, msgspec or kubernetes_asyncio leaves this package.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from enum import StrEnum
from errno import errorcode
from http import HTTPStatus
from typing import Final

import aiohttp
import msgspec

from extender.core.errors import ApiError, ExtenderError, UnreadableError
from extender.core.kube.observers import shortened
from extender.core.wire.decoding import BROKEN_JSON


class NoAnswerError(UnreadableError):
    """No HTTP answer came: not connected, reset, or nothing said in time."""


class NotSentError(NoAnswerError):
    """No answer, and certainly none to come: nothing of the request has left this process."""


class NotSentAgainError(NotSentError):
    """What was turned away before did not go out again.

    A proxy may have sent it twice then, and the answer to the other copy is unknown.
    """


class ThrottledError(NotSentError):
    """A request that could not have gone out in time under clientConnection.qps."""


class BrokenAnswerError(UnreadableError):
    """An answer that broke off, or is not what the API server sends."""


class IdleStreamError(BrokenAnswerError):
    """An open watch on which nothing came for longer than bookmarks are apart."""


class StalledListError(BrokenAnswerError):
    """A streamed list that did not end, or brought nothing new for too long."""


class BrokenLineError(BrokenAnswerError):
    """A line of a watch that is no event; which object it was about is unknown."""


class SilenceError(UnreadableError):
    """A resource was silent for so long that only a list can tell whether all is well."""


class HistoryError(UnreadableError):
    """The server may have another history than what it has shown: etcd was restored, or may be."""


class EndlessLineError(BrokenAnswerError):
    """A watch event longer than anything etcd takes; reading on would only meet it again."""


class StatusError(ApiError):
    """A failure the API server put into words; `retry_after` is in seconds."""

    def __init__(
        self,
        status: int,
        reason: str,
        message: str,
        *,
        retry_after: float | None = None,
        causes: frozenset[str] = frozenset(),
    ) -> None:
        super().__init__(status, reason, message)
        self.retry_after = retry_after
        self.causes = causes

    @property
    def expired(self) -> bool:
        """Whether the resource version or the continue token is too old to go on from."""
        return self.status == HTTPStatus.GONE or self.reason in {"Expired", "Gone"}

    @property
    def version_too_large(self) -> bool:
        """Whether this server has not reached the resource version we named yet."""
        return "ResourceVersionTooLarge" in self.causes

    @property
    def throttled(self) -> bool:
        return self.status == HTTPStatus.TOO_MANY_REQUESTS


class _Cause(msgspec.Struct):
    reason: str | None = None


class _Details(msgspec.Struct, rename="camel"):
    causes: list[_Cause] | None = None
    retry_after_seconds: float | None = None


class _StatusManifest(msgspec.Struct):
    code: int | None = None
    reason: str | None = None
    message: str | None = None
    details: _Details | None = None


LONGEST_WAIT: Final = 3600.0
"""Seconds for which a server may have us wait: what is to be tried again in years never is."""

_decode_status = msgspec.json.Decoder(_StatusManifest).decode


def failure_from_body(
    body: bytes | msgspec.Raw, *, status: int, phrase: str = "", retry_after: str | None = None
) -> StatusError:
    """Read a `Status` object; a body that is none is left out, as it may hold anything."""
    try:
        read = _decode_status(body)
    except BROKEN_JSON:
        read = _StatusManifest(
            message=f"the body ({len(memoryview(body))} bytes) is no Status object"
        )
    details = read.details or _Details()
    return StatusError(
        status or read.code or 0,
        _one_line(read.reason or phrase or "Unknown"),
        _one_line(read.message or "no message"),
        retry_after=_bounded(_seconds(retry_after) or details.retry_after_seconds),
        causes=frozenset(cause.reason for cause in details.causes or () if cause.reason),
    )


def _one_line(text: str) -> str:
    return shortened(" ".join(text.split()))


def _bounded(seconds: float | None) -> float | None:
    return None if seconds is None else min(max(seconds, 0.0), LONGEST_WAIT)


def _seconds(header: str | None) -> float | None:
    # The API server only sends whole seconds; the HTTP date form is left to the backoff.
    return float(header) if header is not None and header.strip().isdecimal() else None


def words(failure: BaseException) -> str:
    match failure:
        case aiohttp.ClientConnectorDNSError():
            return f"the name {failure.host} cannot be resolved"
        case aiohttp.ClientConnectorCertificateError():
            why = getattr(failure.certificate_error, "verify_message", "")
            return f"the certificate of the server is not trusted: {why or 'no reason is given'}"
        case aiohttp.ClientConnectorError():
            system = failure.os_error.errno or 0
            why = os.strerror(system) if system in errorcode else failure.os_error.strerror
            return f"no connection to {failure.host}:{failure.port}: {why}"
        case aiohttp.ConnectionTimeoutError():
            return "no connection within the time for that"
    # Some of these exceptions have no text of their own.
    return f"{type(failure).__name__}: {failure}" if str(failure) else type(failure).__name__


class Restart(StrEnum):
    """Why a watch was opened again from where the last one stood."""

    ENDED = "ended"
    EMPTY = "empty"
    """Ended at once and brought nothing."""
    IDLE = "idle"
    BROKEN = "broken"
    UNREACHABLE = "unreachable"
    THROTTLED = "throttled"
    CRASHED = "crashed"
    """A defect of ours; the supervisor started the reflector again."""


class Relist(StrEnum):
    """Why everything is listed again."""

    EXPIRED = "expired"
    REFUSED = "refused"
    """The server answered a list or a watch with a failure."""
    UNREACHABLE = "unreachable"
    BROKEN = "broken"
    """The list itself broke off, or was none; or the same place of a watch makes no sense twice."""
    SILENT = "silent"
    """Neither a change nor a bookmark came for the time of two bookmarks."""
    RESTORED = "restored"
    """The server's versions have gone back, or it was away for long enough to be restored."""


@dataclass(frozen=True, slots=True)
class WatchEnd:
    """How a watch ended, and whether to wait before the next."""

    reason: Restart
    said: str
    wait: bool = False
    retry_after: float | None = None


def end_of_watch(failure: ExtenderError) -> WatchEnd | None:
    """Say how to go on after a watch that failed; None when that needs a new list."""
    match failure:
        case EndlessLineError() | HistoryError():
            return None
        case IdleStreamError():
            return WatchEnd(Restart.IDLE, str(failure))
        case BrokenAnswerError():
            return WatchEnd(Restart.BROKEN, str(failure))
        case NoAnswerError():
            return WatchEnd(Restart.UNREACHABLE, str(failure), wait=True)
        case StatusError(throttled=True):
            return WatchEnd(
                Restart.THROTTLED, str(failure), wait=True, retry_after=failure.retry_after
            )
        case _:
            return None


def why_relist(failure: ExtenderError) -> tuple[Relist, float | None]:
    """Say why everything has to be listed again, and how many seconds the server asked for."""
    match failure:
        case StatusError():
            reason = Relist.EXPIRED if failure.expired else Relist.REFUSED
            return reason, failure.retry_after
        case NoAnswerError():
            return Relist.UNREACHABLE, None
        case SilenceError():
            return Relist.SILENT, None
        case HistoryError():
            return Relist.RESTORED, None
        case _:
            return Relist.BROKEN, None
