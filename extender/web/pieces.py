"""Bodies of megabytes, sent as they were written: piece by piece."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

from aiohttp import web
from aiohttp.abc import AbstractStreamWriter
from aiohttp.payload import Payload

from extender.web.turns import QueryError, Turns, in_slices
from extender.wire.documents import Fields, write_document


class Pieces(Payload):
    """A body whose pieces are never put together: to copy megabytes at once takes milliseconds."""

    _autoclose = True

    def __init__(self, pieces: Sequence[bytes], content_type: str) -> None:
        super().__init__(pieces, content_type=content_type)
        self._size = sum(map(len, pieces))

    def decode(self, encoding: str = "utf-8", errors: str = "strict") -> str:
        """Return the whole as text."""
        return b"".join(self._value).decode(encoding, errors)

    async def write(self, writer: AbstractStreamWriter) -> None:
        """Send each piece in a turn of its own."""
        for piece in self._value:
            await writer.write(piece)
            await asyncio.sleep(0)


async def answer_in_turn(turns: Turns, fields: Callable[[], Fields]) -> web.Response:
    """Answer a question with a JSON document that is put together in slices, in its turn."""
    try:
        async with turns.waiting(), turns.working:
            pieces = await in_slices(write_document(fields()))
    except QueryError as error:
        return web.Response(status=error.status, text=f"{error}\n")
    return web.Response(body=Pieces(pieces, "application/json"))
