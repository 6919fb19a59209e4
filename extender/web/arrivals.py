"""Requests whose bodies are still on their way, when the program is about to stop."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Final

from aiohttp import web

from extender.errors import ExtenderError, RequestError

LARGE_BYTES: Final = 1 << 20
MOST_LARGE: Final = 2
"""Bodies of more than that, which are read at a time; the others wait, unread. With node names
alone none is as large, and a scheduler that sends whole nodes asks about one pod after the other.
"""


class HungUpError(ExtenderError):
    """The client closed its connection before all of its request was here."""


class Arrivals:
    """Reads bodies, and tells when none is left to arrive.

    A server of aiohttp that shuts down throws away what it still receives, the second half of a
    request included. Callbacks can be hundreds of kilobytes, so this is worth waiting for.
    """

    def __init__(self) -> None:
        self._arriving = 0
        self._large = asyncio.Semaphore(MOST_LARGE)
        self._none = asyncio.Event()
        self._none.set()

    async def read(self, request: web.Request) -> bytes:
        """Return the body of a request.

        RequestError when it is not encoded as its headers say; HungUpError when it never comes.
        """
        self._arriving += 1
        self._none.clear()
        try:
            if (request.content_length or 0) <= LARGE_BYTES:
                return await request.read()
            async with self._large:
                return await request.read()
        except ConnectionError as error:
            raise HungUpError("the client hung up") from error
        except web.RequestPayloadError as error:
            raise RequestError(f"the body cannot be read: {error}") from error
        finally:
            self._arriving -= 1
            if not self._arriving:
                self._none.set()

    async def over(self, seconds: float) -> None:
        """Return once nothing is arriving, or after so long."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._none.wait()


ARRIVALS: Final = web.AppKey("ARRIVALS", Arrivals)
