"""Judges that preemptors do not sleep on when their victims are gone."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final, Protocol

from simulation.apiserver.server import ApiServer
from simulation.apiserver.store import Json, Store
from simulation.invariants.broken import BrokenError
from simulation.invariants.referee import Referee
from simulation.network import Link
from simulation.program import Incarnation
from simulation.scheduler.process import Scheduler

PATIENCE_SECONDS: Final = 6.0
"""An extender wakes a pod within a second, and gives its set of victims up after 10 s."""


class Watched(Protocol):
    store: Store
    server: ApiServer
    referee: Referee
    extender_link: Link
    scheduler_link: Link
    callback_link: Link

    @property
    def living(self) -> Sequence[Incarnation]:
        """Return the extenders that run, the one that is asked first."""

    @property
    def schedulers(self) -> Mapping[str, Scheduler]: ...

    @property
    def now(self) -> float: ...


class Waking:
    """Follows the preemptors that no scheduler is going to try, though they have their place."""

    def __init__(self, world: Watched) -> None:
        self._world = world
        self._since: dict[tuple[str, str], float] = {}
        """By the name of the scheduler and the pod's uid."""
        self._alive: list[str] = []
        self.undisturbed: float = 0.0
        """Since when nothing has been wrong."""

    def look(self) -> None:
        """Raise when one has slept for too long, and nothing was wrong all the time."""
        world = self._world
        now, before = world.now, self._since
        if self._is_disturbed():
            self._since, self.undisturbed = {}, now
            return
        self._since = {each: before.get(each, now) for each in self._sleeping()}
        for (_, uid), since in self._since.items():
            if now - since >= PATIENCE_SECONDS:
                key = world.referee.preemptions.key_of(uid)
                raise BrokenError("not woken", f"{key} sleeps since {since:.3f}", (key,))

    def _is_disturbed(self) -> bool:
        world = self._world
        alive = [each.name for each in world.living] + sorted(world.schedulers)
        same, self._alive = alive == self._alive, alive
        links = (world.extender_link, world.scheduler_link, world.callback_link)
        return (
            not same
            or not all(each.ready and each.awake for each in world.living)
            or world.server.troubles.any(world.now)
            or world.server.behind > 0.0
            or any(each.is_disturbed for each in links)
        )

    def _sleeping(self) -> Iterator[tuple[str, str]]:
        for name, scheduler in self._world.schedulers.items():
            for uid, queued in scheduler.queue.unschedulable.items():
                if queued.failed_at < self.undisturbed:
                    # Whoever has started since knows nothing of it.
                    continue
                node = scheduler.cache.nodes.get(queued.pod.nominated)
                fits = node is not None and scheduler.cache.fits(queued.pod, node)
                if fits and self._has_its_place(uid, queued.pod.key, queued.pod.nominated):
                    yield name, uid

    def _has_its_place(self, uid: str, key: str, node: str) -> bool:
        """Tell whether all victims of a preemptor are gone, and nobody else is in its way."""
        world = self._world
        pod = world.store.all("pods").get(key)
        if pod is None or pod["metadata"]["uid"] != uid or "deletionTimestamp" in pod["metadata"]:
            return False
        return (
            world.referee.preemptions.waits_for_bind(uid, node)
            and all(_shows(each, uid, key, node) for each in world.living)
            and self._is_alone(pod)
            and world.referee.has_place(pod, node)
        )

    def _is_alone(self, pod: Json) -> bool:
        """Tell whether no other pod is nominated: it may be the turn of that."""
        pods = self._world.store.all("pods").values()
        nominated = (each["status"].get("nominatedNodeName") for each in pods if each is not pod)
        return not any(nominated)


def _shows(extender: Incarnation, uid: str, key: str, node: str) -> bool:
    """Tell whether an extender's watch has shown that a preemptor has its place."""
    pod = extender.state.pod(key, uid)
    return pod is not None and pod.status.nominated == node and not extender.state.victims_of(uid)
