"""One request to the API server, and what is left of its caller's time."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

    from extender.kube.flowcontrol import Flow

JSON: Final = "application/json"

ANSWER_SECONDS: Final = 0.5
"""What is kept of a caller's time for the answer itself: a request that cannot go out before that
is not sent, for it would only be given up half way."""

_SERVER_FACTOR: Final = 4
"""The API server lets a request wait in its own queue for a quarter of its timeout. With four times
our time it may wait there as long as we do, and works on nothing that was given up long ago."""


@dataclass(frozen=True, slots=True)
class Content:
    """What a request carries, and of which media type."""

    body: bytes
    kind: str = JSON


@dataclass(slots=True)
class Call:
    """A request with its deadline, if it has one; times are on the clock of the client."""

    method: str
    path: str
    flow: Flow
    query: Mapping[str, str] = field(default_factory=dict)
    content: Content | None = None
    deadline: float | None = None
    sent: bool = False
    """Whether the API server may be working on it."""

    def patience(self, now: float) -> float | None:
        """Return how many seconds it may wait before it is sent; None for as long as it takes."""
        return None if self.deadline is None else self.deadline - now - ANSWER_SECONDS

    def can_wait(self, seconds: float | None, now: float) -> bool:
        """Tell whether there is time to try again after so many seconds."""
        patience = self.patience(now)
        return seconds is not None and patience is not None and seconds <= patience

    def params(self, now: float) -> Mapping[str, str]:
        """Return the query, with the time that the API server may take."""
        if self.deadline is None:
            return self.query
        seconds = _SERVER_FACTOR * max(self.deadline - now, ANSWER_SECONDS)
        return {**self.query, "timeout": f"{seconds:.1f}s"}
