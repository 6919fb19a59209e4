"""A replica that leads."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import NoReturn

from extender.core.ports import LeaseNotes


@dataclass(slots=True)
class Leader:
    """Leads, until a test says otherwise."""

    leads: bool = True
    acknowledged: int = 0
    confirms: bool = True
    asked: int = 0
    meanwhile: Callable[[], None] = lambda: None

    def keep(self, notes: LeaseNotes) -> None: ...

    async def confirm(self) -> bool:
        self.asked += 1
        self.meanwhile()
        return self.leads and self.confirms

    async def run(self) -> NoReturn:
        await asyncio.Event().wait()
        raise AssertionError
