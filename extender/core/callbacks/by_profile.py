"""Callbacks that are others for the pods of some profiles of the scheduler."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Protocol

from extender.core.wire.extender_args import read_scheduler


class Answers(Protocol):
    async def answer(self, body: bytes) -> bytes: ...

    def fault(self, error: Exception, seconds: float) -> bytes: ...


@dataclass(frozen=True, slots=True)
class ByProfile:
    """Answers a verb by the pod's schedulerName, which is all that is read of the body here."""

    names: Collection[str]
    theirs: Answers
    usual: Answers
    """Answers broken bodies as well."""

    async def answer(self, body: bytes) -> bytes:
        chosen = self.theirs if read_scheduler(body) in self.names else self.usual
        return await chosen.answer(body)

    def fault(self, error: Exception, seconds: float) -> bytes:
        return self.usual.fault(error, seconds)
