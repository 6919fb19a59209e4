"""What the edge reports of itself; the composition root turns it into metrics."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Protocol

from extender.core.kube.limits import MOST
from extender.core.timing import LOG_SECONDS, LogThrottle


class RequestObserver(Protocol):
    """Hears of each request to the API server, in the terms of client-go's metrics."""

    def request(self, *, method: str, host: str, code: str, seconds: float) -> None:
        """Note one answer; `code` is "<error>" when none came, `seconds` end at the headers."""

    def throttled(self, flow: str, /) -> None:
        """Note a request that was not sent, for one of `flowcontrol.Flow`."""


class ReflectorObserver(Protocol):
    """Hears how the mirror of each resource is doing."""

    def synced(self, resource: str, synced: bool) -> None:  # noqa: FBT001 - a metric's value
        """Note whether the first list has been taken over completely."""

    def event(self, resource: str, kind: str) -> None:
        """Note one watch event, bookmarks included."""

    def last_event(self, resource: str, at: float) -> None:
        """Note when the server was last heard of, in seconds since the epoch."""

    def restarted(self, resource: str, reason: str, /) -> None:
        """Note that a watch was opened anew, for one of `failures.Restart`."""

    def relisted(self, resource: str, reason: str, /) -> None:
        """Note that everything is listed again, for one of `failures.Relist`."""

    def skipped(self, resource: str, reason: str, /) -> None:
        """Note something that could not be read, for one of `frames.Skip`."""


def _ignore(*_: object, **__: object) -> None:
    pass


class Unobserved:
    """Both observers, for callers that keep no metrics."""

    request = throttled = staticmethod(_ignore)
    synced = event = last_event = restarted = relisted = skipped = staticmethod(_ignore)


class RepeatingLog:
    """Keeps one subject's log short while the same things go wrong again and again."""

    def __init__(
        self,
        logger: logging.Logger,
        subject: str,
        clock: Callable[[], float],
        *,
        seconds: float = LOG_SECONDS,
    ) -> None:
        self._logger = logger
        self._subject = subject
        self._throttle = LogThrottle(logger, seconds=seconds, clock=clock)

    def warning(self, what: str) -> None:
        """Log `what`, unless the same was logged a short time ago."""
        self._throttle.log(logging.WARNING, what, "%s: %s", self._subject, what)

    def left_out(self, reason: str, detail: str) -> None:
        """Warn of something that a server sent: the first of each reason, then one a minute."""
        said = shortened(detail)
        self._throttle.log(
            logging.WARNING, reason, "%s: left out, %s: %s", self._subject, reason, said
        )

    def recovered(self, what: str) -> None:
        if self._throttle.clear():
            self._logger.info("%s: %s", self._subject, what)


def shortened(detail: str) -> str:
    return detail if len(detail) <= MOST.detail else f"{detail[: MOST.detail]}..."
