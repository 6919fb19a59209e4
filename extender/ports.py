"""What one room asks of another that it may not import; only `runtime` joins the two."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection
from typing import Protocol, TypeAlias

from extender.model.objects import Pod
from extender.model.verdict import BindOutcome, Bound

Check: TypeAlias = Callable[[], str | None]
"""Returns None when all is well, else the reason why not, for operators to read; or a Remark."""

GiveWay: TypeAlias = Callable[[Pod, Collection[str]], Awaitable[frozenset[str]]]
"""Has whoever nominates nodes for a pod leave that to another, who is about to evict pods on one of
these nodes for it; returns those where a nomination may be removed all the same, so that nobody may
be evicted there."""


class Remark(str):
    """What a check that passes has to say all the same; shown with ?verbose."""

    __slots__ = ()


class PodBinder(Protocol):
    """Talks to the API server; or says that there is none."""

    async def bind(self, pod: Pod, node: str, within: float) -> Bound:
        """Bind a pod, or find out in so many seconds that this cannot be done."""

    async def read(self, key: str) -> Pod | None:
        """Return a pod as the API server has it."""


class Nominator(Protocol):
    """Sets the field that points the scheduler to a node."""

    async def nominate(self, pod: Pod, before: str | None, node: str | None) -> bool:
        """Change it from `before`; False when it is something else, or the pod is gone."""


class Evictor(Protocol):
    """Has pods deleted for the sake of others, each exactly the one that was seen."""

    async def mark(self, victim: Pod, message: str) -> bool:
        """Set the condition that says why a pod is about to go; False when it is gone already."""

    async def delete(self, victim: Pod, *, dry_run: bool = False) -> bool:
        """Delete a pod, or only find out whether we may; False when it is gone already."""

    async def tell(self, victim: Pod, preemptor: Pod, note: str) -> None:
        """Write an Event about it."""


class NoApiServer:
    """Stands in for the API server where the cluster comes from a file."""

    async def bind(self, pod: Pod, node: str, within: float) -> Bound:
        """Refuse: there is nobody to bind it."""
        del node, within
        return Bound(BindOutcome.REFUSED, f"{pod.key} is in a file, which has no API server")

    async def read(self, key: str) -> Pod | None:
        """Know nothing beyond the file."""
        del key
        return None
