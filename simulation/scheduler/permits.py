"""Where members of a gang wait for each other before they are bound (GangScheduling's Permit)."""

from __future__ import annotations

import asyncio

from simulation.loop import resolve


class Permits:
    def __init__(self) -> None:
        self._waiting: dict[str, list[asyncio.Future[bool]]] = {}

    def ask(self, group: str, *, permitted: bool) -> asyncio.Future[bool]:
        """Return what is true when a member may be bound; who is permitted permits the others."""
        permit: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        waiting = self._waiting.setdefault(group, [])
        waiting.append(permit)
        if permitted:
            for each in self._waiting.pop(group):
                resolve(each, True)  # noqa: FBT003
        return permit
