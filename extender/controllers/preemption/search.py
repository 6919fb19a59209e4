"""The search for victims, among all nodes, in slices between which everybody else is answered."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from extender.cluster.state import ClusterState
from extender.controllers.in_vain import InVain, prospects
from extender.controllers.preemption.record import PER_NAME, Refusal
from extender.model import memory
from extender.verbs.plugins import Plugins
from extender.verbs.ranking import Rank
from extender.verbs.victims import Candidate, Preemptor, candidates

SLICE_SECONDS = 0.001
REST = 1.0
"""Between two slices, as a multiple of the last one: the search gets half of the loop at most."""
REST_IN_VAIN = 9.0
"""For a pod that was looked at before in vain, whatever has changed since: a tenth."""


class Search:
    """Chooses victims for refused pods; what was in vain is tried again when something changes."""

    def __init__(
        self,
        state: ClusterState,
        plugins: Plugins,
        chance: Callable[[], float],
        clock: Callable[[], float],
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._state = state
        self._plugins = plugins
        self._chance = chance
        self._clock = clock
        self._sleep = sleep
        self._turn = asyncio.Lock()
        self._in_vain = InVain(state, memory.WITHOUT_VICTIMS)

    async def choose(self, refusal: Refusal, preemptor: Preemptor) -> Candidate | None:
        """Return the node whose victims the scheduler would choose, as it was when we were there.

        One without victims takes the pod as it is: then nobody is to be evicted.
        """
        pod = preemptor.pod
        passed = refusal.passed
        key = prospects(pod, preemptor.requirements), pod.nominated, passed
        async with self._turn:
            if self._in_vain.knows(key):
                return None
            best = await self._best(preemptor, passed, REST_IN_VAIN if refusal.in_vain else REST)
            refusal.in_vain = best is None
            if best is None:
                size = pod.size + preemptor.requirements.size + PER_NAME * len(passed or ())
                self._in_vain.note(key, size)
        return best

    async def _best(
        self, preemptor: Preemptor, passed: frozenset[str] | None, rest: float
    ) -> Candidate | None:
        best: Candidate | None = None
        best_key = None
        began = self._clock()
        every = candidates(
            self._state, preemptor, self._plugins, chance=self._chance(), passed=passed
        )
        for each in every:
            if each is not None and not each.victims:
                return each
            if each is not None and (best_key is None or self._key(each) < best_key):
                best, best_key = each, self._key(each)
            took = self._clock() - began
            if took >= SLICE_SECONDS:
                await self._sleep(rest * took)
                began = self._clock()
        return best

    def _key(self, candidate: Candidate) -> tuple[bool, Rank]:
        """Return how bad a candidate is: what was begun for nobody who waits there comes first.

        So it is when a preemptor has lost its nomination while nobody looked after it, and victims
        are on their way out.
        """
        begun = any(each.preempted for each in candidate.victims)
        return not begun or bool(self._state.nominated.on(candidate.node)), candidate.rank
