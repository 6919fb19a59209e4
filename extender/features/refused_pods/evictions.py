"""Has victims deleted by the API server, as the scheduler does, and counts how that ends."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from typing import Protocol, TypeAlias

from extender.core.cluster.state import ClusterState
from extender.core.controllers.context import ControllerContext
from extender.core.controllers.history import EVICTION
from extender.core.controllers.last_look import LastLook
from extender.core.controllers.pod_events import PodEvents
from extender.core.errors import ApiError, ExtenderError
from extender.core.metrics.table import EVICTIONS
from extender.core.model.disruption import mark_message
from extender.core.model.keys import name_of
from extender.core.model.objects import Pod
from extender.core.ports import ClusterReader, Occurrence
from extender.core.timing import LogThrottle
from extender.core.verbs.plugins import Plugins, leading

AT_A_TIME = 16
"""Victims for which requests are under way, for all preemptors together."""
DENIED_SECONDS = 60.0
"""Until we look whether we may delete pods by now."""
FIRST_DENIED_SECONDS = 5.0
"""The same after a first time: an API server that has just started denies what it allows later."""
SHOWN_SECONDS = 1.0
"""How long the watch may take to show the mark of a victim."""
MOST_KEYS = 3
"""Topology keys named when it is said why, at most."""

_log = logging.getLogger(__name__)


class Evictor(Protocol):
    """Has pods deleted for the sake of others, each exactly the one that was seen."""

    @property
    def objects(self) -> ClusterReader:
        """Return what tells how things are right before that."""

    async def mark(self, victim: Pod, message: str) -> bool:
        """Set the condition that says why a pod is about to go; False if it is gone or going."""

    async def delete(
        self, victim: Pod, *, dry_run: bool = False, may_go: Callable[[], bool] = lambda: True
    ) -> bool | None:
        """Delete a pod, or only find out whether we may; False when it is gone already.

        None when `may_go` says no right before it would be sent.
        """

    async def tell(self, victim: Pod, preemptor: Pod, note: str) -> None:
        """Write an Event about it."""

    async def report(self, pod: Pod | None, occurrence: Occurrence) -> None:
        """Write an Event about another pod, or without one about the Lease."""


Wanted: TypeAlias = Callable[[], bool]
"""Tells whether victims still have to go."""


class Evictions:
    """Talks to an evictor that may fail, or may not be allowed to evict."""

    def __init__(self, context: ControllerContext, evictor: Evictor) -> None:
        """Evictions are counted as those of the plugin that refuses first."""
        self._state = context.state
        self._clock = context.clocks.clock
        self._history = context.history
        self._events = PodEvents(context.state)
        self._evictor = evictor
        self._last_look = LastLook(context.state, evictor.objects)
        self._counters = context.metrics.evictions
        self._plugins = context.plugins
        self._plugin = leading(context.plugins)
        self._counters.begin((self._plugin,), EVICTIONS)
        self._allowed = False
        self.denied_until = 0.0
        """Until when it is not tried whether we may delete pods."""
        self._turns = asyncio.Semaphore(AT_A_TIME)
        self._log = LogThrottle(_log)
        self._denied = self._said = False
        """Whether the last attempt was denied, and whether that was logged."""

    async def may_evict(self, victim: Pod) -> bool:
        """Return whether we may look and delete; where that is not known, a dry run tells.

        No node is to be nominated, and no pod marked, for evictions that do not come.
        """
        if self.denied_until > self._clock():
            return False
        if self._allowed:
            return True
        try:
            await self._last_look.at_victim(victim, ())
            await self._evictor.delete(victim, dry_run=True)
        except ExtenderError as error:
            self._note_failure(victim, error)
            return False
        self._allowed, self._denied, self._said = True, False, False
        return True

    async def evict(
        self, victims: Sequence[Pod], preemptor: Pod, node: str, wanted: Wanted
    ) -> bool:
        """Evict pods of a node; return whether the API server has done, or had no need to."""
        notes = {victim.uid: self._cause(victim, preemptor, node) for victim in victims}
        done = await asyncio.gather(*(self._evict(victim, preemptor, wanted) for victim in victims))
        told = [victim for victim, was_there in zip(victims, done, strict=True) if was_there]
        await asyncio.gather(*(self._tell(victim, preemptor, notes[victim.uid]) for victim in told))
        return None not in done

    def _cause(self, victim: Pod, preemptor: Pod, node: str) -> str:
        why = _cause_of(self._state, preemptor, victim, self._plugins)
        return f"Preempted by pod {preemptor.uid} on node {node}: {why}"

    async def _evict(self, victim: Pod, preemptor: Pod, wanted: Wanted) -> bool | None:
        """Evict one; False when it was gone already, None when it may be there yet."""
        async with self._turns:
            if not wanted():
                return None
            try:
                condition = mark_message(preemptor.spec.requirements.scheduler, preemptor.uid)
                done: bool | None = await self._evictor.mark(victim, condition)
                # The preemptor may be gone by now, or another node chosen, and nothing is lost yet.
                if done and not (await self._is_shown(victim, preemptor) and wanted()):
                    return None
                done = done and await self._delete(victim, preemptor, wanted)
            except ExtenderError as error:
                self._count("failed", victim, preemptor, str(error))
                self._note_failure(victim, error)
                return None
        if done is not None:
            self._count("evicted" if done else "gone", victim, preemptor)
        return done

    async def _delete(self, victim: Pod, preemptor: Pod, wanted: Wanted) -> bool | None:
        """Delete a victim that is as it was judged, on a node that is; None when it is not.

        The watch has just shown its mark, and with it all that has happened to pods before.
        """
        looked = await self._last_look.at_victim(victim, [preemptor])
        if looked.why is not None or not wanted():
            what = "%s is not evicted yet: %s"
            self._log.log(
                logging.INFO, "not yet", what, victim.key, looked.why or "no use any more"
            )
            return None
        # By its uid alone: whoever may edit the pod could dodge a version for as long as he likes.
        return await self._evictor.delete(victim, may_go=wanted)

    def _count(self, result: str, victim: Pod, preemptor: Pod, why: str = "") -> None:
        self._counters.count(self._plugin, result)
        note = f"for {preemptor.key}" + (f": {why}" if why else "")
        self._history.note(EVICTION, result, victim.key, victim.node, note)

    async def _is_shown(self, victim: Pod, preemptor: Pod) -> bool:
        """Wait until the watch shows the mark; return whether it does, or the victim is gone."""

        def shows() -> bool:
            seen = self._state.pod(victim.key, victim.uid)
            return seen is None or seen.status.victim_of == preemptor.uid

        return await self._events.until(shows, [victim.uid], SHOWN_SECONDS)

    async def _tell(self, victim: Pod, preemptor: Pod, note: str) -> None:
        """Write the Event; if that fails, the pod is evicted all the same."""
        async with self._turns:
            try:
                await self._evictor.tell(victim, preemptor, note)
            except ExtenderError as error:
                what = "no Event about the eviction of %s: %s"
                kind = str(error).replace(name_of(victim.key), "")
                self._log.log(logging.WARNING, kind, what, victim.key, error)

    async def report(self, preemptor: Pod, occurrence: Occurrence) -> None:
        async with self._turns:
            try:
                await self._evictor.report(preemptor, occurrence)
            except ExtenderError as error:
                what = "no Event about %s: %s"
                kind = str(error).replace(name_of(preemptor.key), "")
                self._log.log(logging.WARNING, kind, what, preemptor.key, error)

    def _note_failure(self, victim: Pod, error: ExtenderError) -> None:
        """Stop trying for a while if it was for want of the right to; warn of anything else."""
        if isinstance(error, ApiError) and error.lacks_right:
            self._deny(error)
            return
        kind = str(error).replace(name_of(victim.key), "")
        what = "%s could not be evicted: %s"
        self._log.log(logging.WARNING, kind, what, victim.key, error)

    def _deny(self, error: ApiError) -> None:
        """Rest; from the second time on, and log it once."""
        self._allowed = False
        if self._clock() < self.denied_until:
            # Of one that was asked at the same time.
            return
        rest = DENIED_SECONDS if self._denied else FIRST_DENIED_SECONDS
        self.denied_until = self._clock() + rest
        again, self._denied = self._denied, True
        if again and not self._said:
            self._said = True
            _log.warning(
                "pods that only affinity rules keep from every node wait, though less important "
                "ones could make way: the extender may not delete pods, or not look before (%s)",
                error,
            )


def _cause_of(state: ClusterState, pod: Pod, victim: Pod, plugins: Plugins) -> str:
    """Say which rule a victim of a preemptor is in the way of, if any.

    Readers of the victim's namespace see this: the preemptor is named in its own namespace alone.
    """
    known = pod.pod_class.namespace == victim.pod_class.namespace
    name = pod.key if known else "a pod of another namespace"
    own = state.class_of(pod)
    repelled: set[str] = set()
    repels: set[str] = set()
    for plugin in plugins:
        interaction = plugin.interaction(state, own, victim.pod_class)
        if interaction is not None:
            repelled |= interaction.repelled
            repels |= interaction.repels
    if repelled:
        return f"the required pod anti-affinity of {name} by {_named(repelled)} excludes it"
    if repels:
        return f"its required pod anti-affinity by {_named(repels)} excludes {name}"
    return f"{name} takes its room"


def _named(keys: set[str]) -> str:
    first = sorted(keys)[:MOST_KEYS]
    more = len(keys) - len(first)
    return " and ".join(first) + (f" and {more} more" if more else "")
