"""Log lines for failures that repeat: the first of each kind, then one a minute."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from extender.timing import LogThrottle

if TYPE_CHECKING:
    from collections.abc import Callable

INTERVAL_SECONDS = 60.0
LONGEST_DETAIL = 400
"""Characters of what is said about something from elsewhere, which may be of any length."""


class RepeatingLog:
    """Keeps one subject's log short while the same things go wrong again and again."""

    def __init__(self, logger: logging.Logger, subject: str, clock: Callable[[], float]) -> None:
        self._logger = logger
        self._subject = subject
        self._throttle = LogThrottle(logger, seconds=INTERVAL_SECONDS, clock=clock)

    def warning(self, what: str) -> None:
        """Log `what`, unless it was logged less than a minute ago."""
        self._throttle.log(logging.WARNING, what, "%s: %s", self._subject, what)

    def recovered(self, what: str) -> None:
        """Log the end of a series of failures, if there was one."""
        if self._throttle.clear():
            self._logger.info("%s: %s", self._subject, what)


class SkipLog:
    """Tells what a server sent that was left out: the first of each reason, then one a minute."""

    def __init__(self, logger: logging.Logger, subject: str, clock: Callable[[], float]) -> None:
        self._subject = subject
        self._throttle = LogThrottle(logger, seconds=INTERVAL_SECONDS, clock=clock)

    def left_out(self, reason: str, detail: str) -> None:
        """Warn of something that was left out, in a line of bounded length."""
        cut = detail if len(detail) <= LONGEST_DETAIL else f"{detail[:LONGEST_DETAIL]}..."
        self._throttle.log(
            logging.WARNING, reason, "%s: left out, %s: %s", self._subject, reason, cut
        )
