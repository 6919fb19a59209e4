"""How lists and watches end, and what each end asks for; the reasons are metric labels."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from extender.kube.failures import (
    BrokenAnswerError,
    EndlessLineError,
    IdleStreamError,
    NoAnswerError,
    StatusError,
)

if TYPE_CHECKING:
    from extender.errors import ExtenderError


class Restart(StrEnum):
    """Why a watch was opened again from where the last one stood."""

    ENDED = "ended"
    EMPTY = "empty"
    """Ended at once and brought nothing."""
    IDLE = "idle"
    BROKEN = "broken"
    UNREACHABLE = "unreachable"
    THROTTLED = "throttled"
    CRASHED = "crashed"
    """A defect of ours; the supervisor started the reflector again."""


class Relist(StrEnum):
    """Why everything is listed again."""

    EXPIRED = "expired"
    REFUSED = "refused"
    """The server answered a list or a watch with a failure."""
    UNREACHABLE = "unreachable"
    BROKEN = "broken"
    """The list itself broke off, or was none."""


@dataclass(frozen=True, slots=True)
class End:
    """How a watch ended, and whether to wait before the next."""

    reason: Restart
    said: str
    wait: bool = False
    retry_after: float | None = None


def end_of_watch(failure: ExtenderError) -> End:
    """Say how to go on after a watch that failed; raises again what needs a new list."""
    match failure:
        case EndlessLineError():
            raise failure
        case IdleStreamError():
            return End(Restart.IDLE, str(failure))
        case BrokenAnswerError():
            return End(Restart.BROKEN, str(failure))
        case NoAnswerError():
            return End(Restart.UNREACHABLE, str(failure), wait=True)
        case StatusError(throttled=True):
            return End(Restart.THROTTLED, str(failure), wait=True, retry_after=failure.retry_after)
        case _:
            raise failure


def why_relist(failure: ExtenderError) -> tuple[Relist, float | None]:
    """Say why everything has to be listed again, and how many seconds the server asked for."""
    match failure:
        case StatusError():
            reason = Relist.EXPIRED if failure.expired else Relist.REFUSED
            return reason, failure.retry_after
        case NoAnswerError():
            return Relist.UNREACHABLE, None
        case _:
            return Relist.BROKEN, None
