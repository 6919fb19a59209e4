"""An answer that goes on until the server ends it, line by line."""

from __future__ import annotations

from typing import Final, Self

import aiohttp

from extender.kube.failures import BrokenAnswerError, EndlessLineError, IdleStreamError, words

LINE_LIMIT: Final = 64 << 20
"""Bytes of one watch event. etcd takes objects up to 1.5 MiB; their JSON is a few times that."""


class Lines:
    """The lines of an answer, each with its newline; a last one without was cut off."""

    def __init__(self, response: aiohttp.ClientResponse) -> None:
        self._content = response.content

    def give_up(self, failure: BrokenAnswerError) -> None:
        """Make the wait for a line end with this failure."""
        self._content.set_exception(failure)

    def __aiter__(self) -> Self:
        """Iterate over what is left."""
        return self

    async def __anext__(self) -> bytes:
        """Wait for the next line."""
        try:
            line = await self._content.readline(max_line_length=LINE_LIMIT)
        except TimeoutError as failure:
            raise IdleStreamError("nothing came, not even a bookmark") from failure
        except aiohttp.http_exceptions.LineTooLong as failure:
            raise EndlessLineError(f"an event of more than {LINE_LIMIT} bytes") from failure
        # RuntimeError: a connection lost between two pieces of a line, in aiohttp's words.
        except (aiohttp.ClientError, OSError, RuntimeError) as failure:
            raise BrokenAnswerError(words(failure)) from failure
        if not line:
            raise StopAsyncIteration
        return line
