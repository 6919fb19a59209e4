"""What aiohttp says of connections, in few and short lines: most of it is about broken clients."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any, Final

from aiohttp.http_exceptions import BadHttpMethod, HttpProcessingError
from aiohttp.web import RequestPayloadError

from extender.timing import CALL_LOG_SECONDS, LogThrottle

_NAME: Final = "aiohttp.server"

# A client's doing, whatever aiohttp calls it.
_NOT_HTTP: Final = (HttpProcessingError, RequestPayloadError, ConnectionError)


class ServerLog(logging.Logger):
    """The logger that aiohttp's server is given.

    On its own it logs a stack trace as an error for each request that is not HTTP. Here that is a
    line at level info, now and then; `malformed` is told of each such request.
    """

    def __init__(self, malformed: Callable[[], None] | None = None) -> None:
        super().__init__(_NAME)
        self.parent = logging.getLogger(_NAME)
        self._malformed = malformed
        self._throttle = LogThrottle(self.parent, seconds=CALL_LOG_SECONDS)

    def isEnabledFor(self, level: int) -> bool:  # noqa: N802 - the base class's name
        """Return whether a level is shown; the levels are those of the logger in the tree."""
        return logging.getLogger(_NAME).isEnabledFor(level)

    def exception(self, msg: object, *args: object, exc_info: Any = True, **_: Any) -> None:
        """Log what went wrong with a connection, at the level that it deserves."""
        kind = type(exc_info).__name__
        if isinstance(exc_info, _NOT_HTTP):
            self._count(exc_info)
            why = " ".join(str(exc_info).split())
            self._throttle.log(logging.INFO, kind, "a request that is not HTTP: %s", why)
        else:
            self._throttle.log(logging.ERROR, kind, str(msg), *args, exc_info=exc_info)

    def debug(self, msg: object, *args: object, exc_info: Any = None, **_: Any) -> None:
        """Log what matters to nobody but those who debug."""
        # A first line that is no request at all is not even worth a line to aiohttp.
        if isinstance(exc_info, BadHttpMethod):
            self._count(exc_info)
        self._throttle.log(logging.DEBUG, str(msg), str(msg), *args)

    def _count(self, error: object) -> None:
        # A body that cannot be read has been counted where it was read.
        if self._malformed is not None and isinstance(error, HttpProcessingError):
            self._malformed()
