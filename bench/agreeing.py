"""An API server that agrees to everything, and shows nothing of it: it has what it has shown."""

from __future__ import annotations

from collections.abc import Callable

from extender.core.cluster.state import ClusterState
from extender.core.config.features import features
from extender.core.model.objects import Pod
from extender.core.ports import Occurrence
from tests.shown_objects import Objects


def evicted() -> object:
    """Return what an eviction that is done comes to; None where no feature evicts so."""
    modules = (each.module("ports") for each in features() if each.places)
    return next((each.Eviction(each.Evicted.DONE) for each in modules), None)


class Agreeing:
    """Says that all is done."""

    def __init__(self, state: ClusterState) -> None:
        self.objects = Objects(state)
        self._done = evicted()

    async def nominate(self, pod: Pod, before: str | None, node: str | None) -> bool:
        del pod, before, node
        return True

    async def wake(self, pod: Pod) -> bool:
        del pod
        return True

    async def mark(self, victim: Pod, message: str) -> bool:
        del victim, message
        return True

    async def delete(self, victim: Pod, *, version: str = "", dry_run: bool = False) -> bool:
        del victim, version, dry_run
        return True

    async def evict(
        self, pod: Pod, *, version: str, dry_run: bool, may_go: Callable[[], bool]
    ) -> object:
        del pod, version, dry_run, may_go
        return self._done

    async def tell(self, victim: Pod, preemptor: Pod, note: str) -> None:
        del victim, preemptor, note

    async def report(self, pod: Pod | None, occurrence: Occurrence) -> None:
        del pod, occurrence
