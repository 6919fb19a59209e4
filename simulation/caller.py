"""How everybody but the extender asks the API server: plain calls, over a link like any other."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final, TypeVar

from simulation.apiserver.server import OWNER, ApiServer
from simulation.apiserver.store import Refused
from simulation.loop import reject, resolve, spawn
from simulation.network import Link

T = TypeVar("T")

PATIENCE: Final = 30.0


class UnansweredError(Exception):
    """No answer came; the request may be carried out all the same."""


class Caller:
    def __init__(self, name: str, server: ApiServer, link: Link) -> None:
        self.name = name
        self.server = server
        self.link = link

    async def call(self, act: Callable[[], T]) -> T:
        """Have something carried out; Refused or UnansweredError when it is not."""
        answer: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        up, down = self.link.up.pipe(), self.link.down.pipe()

        async def serve() -> None:
            if self.server.troubles.down:
                return
            try:
                result = await self.server.commit(act)
            except Refused as refused:
                failure = refused
                down.send(lambda: reject(answer, failure))
            else:
                down.send(lambda: resolve(answer, result))

        def arrive() -> None:
            spawn(serve(), OWNER)

        up.send(arrive)
        patience = answer.get_loop().call_later(PATIENCE, reject, answer, UnansweredError())
        try:
            return await answer
        finally:
            patience.cancel()
            down.close()

    async def try_to(self, act: Callable[[], object]) -> bool:
        """Have something carried out; tell whether it was, as far as we know."""
        try:
            await self.call(act)
        except (Refused, UnansweredError):
            return False
        return True
