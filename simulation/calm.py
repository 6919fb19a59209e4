"""What must hold once nothing goes wrong any more: everything ends, and nobody waits in vain."""

from __future__ import annotations

from typing import Final, Protocol

from simulation import waking
from simulation.apiserver.store import Change, Json, is_live
from simulation.invariants.broken import BrokenError
from simulation.invariants.endings import check_endings
from simulation.invariants.execution import may_be_on
from simulation.invariants.gangs import Gangs
from simulation.invariants.registries import check_registries
from simulation.invariants.upkeep import check_counters, check_mirror
from simulation.plan import CALM_ENDS_WITH, CALM_SECONDS, Plan
from simulation.program import Incarnation, Process
from simulation.scheduler.objects import pod_info
from simulation.scheduler.rehearsal import has_places

HINT_SECONDS: Final = 15.0
"""A hint that was not taken is withdrawn after 5 s; a few tries may fail."""


HINTS_LOOK_SECONDS: Final = 100.0
"""At the end of the calm, in which a hint is looked for that stays; binds are clear by then."""
LOOK_SECONDS: Final = 5.0
"""Between two looks at who waits."""
NEWS_SECONDS: Final = 10.0
"""A change may take so long to be known, and a bind to end."""


class Watched(waking.Watched, Protocol):
    plan: Plan
    process: Process


class Calm:
    def __init__(self, world: Watched) -> None:
        self._world = world
        self._changed: dict[str, float] = {}
        world.store.observers.append(self._note)
        self._waking = waking.Waking(world)
        self.gangs = Gangs(world.store, lambda: world.now)
        self._next_look = 0.0
        self._waiting: dict[str, float] = {}
        """Since when pods have waited that have a place, by uid."""

    @property
    def undisturbed(self) -> float:
        """Return since when nothing has been wrong."""
        return self._waking.undisturbed

    def _note(self, change: Change) -> None:
        if change.resource == "pods":
            self._changed[change.key] = self._world.now

    def look(self) -> None:
        """Note who waits though there is a place; most of them are about to be placed.

        Who has to be woken must be, in the calm and before.
        """
        world = self._world
        self._waking.look()
        self.gangs.look(self.undisturbed)
        left = world.plan.busy + CALM_SECONDS - world.now
        if left < HINTS_LOOK_SECONDS:
            self._check_hints()
        if left > CALM_ENDS_WITH + 2 * LOOK_SECONDS or world.now < self._next_look:
            return
        self._next_look = world.now + LOOK_SECONDS
        waiting = {each["metadata"]["uid"]: each for each in self._pending()}
        placeable = {uid for uid, pod in waiting.items() if self._place_of(pod) is not None}
        self._waiting = {uid: self._waiting.get(uid, world.now) for uid in placeable}

    def check_end(self) -> None:
        """Raise when the calm has not brought what it must."""
        world = self._world
        # One that has got its place since the last look waits no more. In `assist` no hint leads a
        # pod to its place: after an edit, a scheduler may try it five minutes later.
        for pod in () if world.plan.setup.assists else self._pending():
            since = self._waiting.get(pod["metadata"]["uid"], world.now)
            if world.now - since >= CALM_ENDS_WITH:
                key = f"{pod['metadata']['namespace']}/{pod['metadata']['name']}"
                about = f"{key} has a place on {self._place_of(pod)}"
                raise BrokenError("waits in vain", about, (key,))
        alive = world.process.alive
        if alive is None or not alive.ready:
            raise BrokenError("not ready in the calm", "the extender", ())
        for each in world.living:
            self._check_state(each)

    def _check_state(self, alive: Incarnation) -> None:
        world = self._world
        check_counters(alive.state)
        news = {key for key, at in self._changed.items() if world.now - at < NEWS_SECONDS}
        check_mirror(alive.state, world.store, news)
        if alive.state.stale is not None:
            raise BrokenError("stale in the calm", alive.state.stale, ())
        everything = check_registries(alive.roots, world.store.count)
        check_endings(everything, world.now)

    def _check_hints(self) -> None:
        world, names = self._world, {each.name for each in self._world.living}
        for key, by, since in world.referee.hints.values():
            if by in names and world.now - since > HINT_SECONDS:
                raise BrokenError("hint outlives its use", key, (key,))

    def _pending(self) -> list[Json]:
        pods = self._world.store.all("pods").values()
        return [
            each
            for each in pods
            if is_live(each)
            and not each["spec"].get("nodeName")
            and "deletionTimestamp" not in each["metadata"]
        ]

    def _place_of(self, raw: Json) -> str | None:
        """Return a node that would take a pod: room, and all rules as things are."""
        pod = pod_info(raw)
        schedulers = self._world.schedulers.values()
        scheduler = next((each for each in schedulers if each.settings.responsible(pod)), None)
        if scheduler is None:
            return None
        if not scheduler.cache.may_be_next(pod):
            return "several nodes" if has_places(pod, scheduler) else None
        for name, node in scheduler.cache.nodes.items():
            fits = may_be_on(raw, name, node.labels) and scheduler.cache.fits(pod, node)
            if fits and self._world.referee.has_place(raw, name):
                return name
        return None
