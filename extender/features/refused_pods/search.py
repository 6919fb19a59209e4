"""The search for victims, among all nodes, in slices between which other requests are answered.

The nodes that it finds are shared by pods with the same prospects, in the order of their victims.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Hashable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from heapq import heappop, heappush, nsmallest
from typing import TypeAlias

from extender.core.cluster.state import ClusterState
from extender.core.controllers.context import Clocks
from extender.core.model import memory
from extender.core.model.disruption import Rank
from extender.core.model.lru_cache import LruCache
from extender.core.model.objects import Pod
from extender.core.verbs.nominating import loses_victims
from extender.core.verbs.plugins import Plugins
from extender.core.verbs.victims import Candidate, candidates, on_node
from extender.features.refused_pods.record import Preemption, Record
from extender.features.refused_pods.refusals import (
    PER_NAME,
    WHOLE_SEARCH,
    Refusal,
    UnschedulableCache,
    prospects,
    wishes,
)

SHARED_SECONDS = 1.0
"""How long a ranking serves other pods. The scheduler takes a snapshot for each pod; what became
worse since is noticed when it is taken, and what became better is when the ranking is over."""
MOST_RANKED = 1024
"""Nodes that are kept, the best ones: as many pods as may have others evicted at a time, twice."""
PER_NODE = 512
"""Bytes of a node in a ranking."""

Badness: TypeAlias = tuple[bool, bool, Rank]
"""The lowest is taken."""
Entry: TypeAlias = tuple[Badness, int, str]
"""How bad a node is, where it came in the search (the first of equal ones is taken), its name."""

REMEMBERED_SECONDS = 60.0
"""How long such a node is remembered, once no victims are left there."""

SLICE_SECONDS = 0.001
REST = 1.0
"""Between two slices, as a multiple of the last one: the search gets half of the loop at most."""
REST_UNSCHEDULABLE = 9.0
"""For a pod that was looked at before in vain, whatever has changed since: a tenth."""
COMPARING_SECONDS = 0.05
"""How long the scheduler waits to hear of better nodes; else it evicts where it has found to."""
NO_REST = 0.0
"""Where the scheduler waits for the answer: only others are let through between two slices."""


@dataclass(slots=True, eq=False)
class Ranking:
    """Nodes that are left to be taken, a heap, as they were when they were looked at."""

    left: list[Entry]
    until: float
    takers: set[str] = field(default_factory=set)
    """The uids of the pods that have taken a node: for them, it is over."""

    def best(self) -> Entry | None:
        return heappop(self.left) if self.left else None

    def beats(self, badness: Badness) -> bool:
        return bool(self.left) and self.left[0][0] < badness

    def put_back(self, entry: Entry) -> None:
        heappush(self.left, entry)


def earlier_nodes(
    state: ClusterState, record: Record[Preemption], pod: Pod, now: float, *, is_hint: bool
) -> Iterator[str]:
    """Yield such nodes, as far as we know; a nomination that is a hint is for no victims.

    Where pods are marked for this one, no others count: a deletion of these may be under way yet.
    """
    marked = {str(each.node) for each in state.victims_of(pod.uid)}
    if marked:
        yield from sorted(marked, key=lambda node: (node != pod.status.nominated, node))
        return
    if pod.status.nominated is not None and not is_hint:
        yield pod.status.nominated
    node = record.last_node
    if node is not None and (
        now - record.last_at < REMEMBERED_SECONDS or loses_victims(state, pod, node)
    ):
        yield node


class Slices:
    """Ends a slice when it has taken its time, and lets others have theirs."""

    def __init__(self, clocks: Clocks, rest: float) -> None:
        self._clock = clocks.clock
        self._sleep = clocks.sleep
        self._rest = rest
        self._began = clocks.clock()

    async def between(self) -> None:
        took = self._clock() - self._began
        if took >= SLICE_SECONDS:
            await self._sleep(self._rest * took)
            self._began = self._clock()


@dataclass(frozen=True, slots=True)
class _Look:
    pod: Pod
    passed: frozenset[str] | None
    slices: Slices
    take: bool
    for_room: bool


class Search:
    """Chooses victims for refused pods; what was in vain is tried again when something changes.

    Pods that are alike share a ranking of all nodes: hundreds at once take as many nodes of it,
    each looked at once more when it is taken.
    """

    def __init__(self, state: ClusterState, plugins: Plugins, clocks: Clocks) -> None:
        self._state = state
        self._plugins = plugins
        self._clocks = clocks
        self._turn = asyncio.Lock()
        self._unschedulable = UnschedulableCache(memory.WITHOUT_VICTIMS)
        self._rankings: LruCache[Hashable, Ranking] = LruCache(memory.RANKINGS)
        """The latest ones, by what is the same for all pods that share one."""
        state.forgetful += [self._unschedulable.forgetting, self._rankings.forgetting]

    async def choose(
        self, refusal: Refusal, pod: Pod, *, rest: float = REST, take: bool = True
    ) -> Candidate | None:
        """Return the node whose victims the scheduler would choose, as it was when we were there.

        One without victims takes the pod as it is: then no pod is to be evicted. Of pods that are
        alike, each `take`s another node as long as there are several.
        """
        passed = refusal.passed
        key = prospects(pod), pod.status.nominated, passed
        size = pod.size + PER_NAME * len(passed or ())
        async with self._turn:
            version = self._state.version
            if self._unschedulable.knows(key, version):
                return None
            slices = Slices(self._clocks, REST_UNSCHEDULABLE if refusal.unschedulable else rest)
            # Of so few nodes the scheduler has tried each, and named whom it would evict for room.
            for_room = pod.spec.requirements.is_plain and len(self._state.nodes) > WHOLE_SEARCH
            look = _Look(pod, passed, slices, take=take, for_room=for_room)
            alike = self._alike(look)
            best = await self._shared(alike, look) or await self._anew(alike, size, look)
            refusal.unschedulable = best is None
            if best is None:
                self._unschedulable.note(key, version, size)
        return best

    async def beats(self, refusal: Refusal, pod: Pod, rank: Rank) -> bool:
        """Return whether victims on a node that only we refuse are better than some of a rank.

        What else the scheduler may have against a node where room is missing is not known, so such
        nodes do not count. While the scheduler waits for the answer there is little time; False
        when it was not enough.
        """
        refusal.take_up()
        with suppress(TimeoutError):
            async with asyncio.timeout(COMPARING_SECONDS):
                best = await self.choose(refusal, pod, rest=NO_REST, take=False)
                return (
                    best is not None
                    and bool(best.victims)
                    and not best.for_room
                    and best.rank < rank
                )
        return False

    def _alike(self, look: _Look) -> Hashable:
        """Return what is the same for pods that may share a ranking, though their labels differ.

        So do those of a StatefulSet. What is taken is looked at once more, for the pod itself.
        """
        pod = look.pod
        rules = self._state.prefilter_state_of(pod).required_rules
        return pod.pod_class.namespace, rules, wishes(pod), pod.status.nominated, look.passed

    async def _shared(self, key: Hashable, look: _Look) -> Candidate | None:
        """Take a node from what was found for another pod a moment ago."""
        ranking = self._rankings.get(key)
        if ranking is None or look.pod.uid in ranking.takers:
            return None
        if self._clocks.clock() >= ranking.until:
            self._rankings.pop(key)
            return None
        async for each in self._candidates(look, evicting=False):
            return each
        return await self._best_of(ranking, look)

    async def _anew(self, key: Hashable, size: int, look: _Look) -> Candidate | None:
        """Rank all nodes, and take one; `size` is that of the key, in bytes."""
        found: list[Entry] = []
        async for each in self._candidates(look, evicting=True):
            if not each.victims:
                return each
            found.append((self._badness(each), len(found), each.node))
        left = nsmallest(MOST_RANKED, found)
        ranking = Ranking(left, self._clocks.clock() + SHARED_SECONDS)
        self._rankings.put(key, ranking, size + PER_NODE * len(left))
        return await self._best_of(ranking, look)

    async def _candidates(self, look: _Look, *, evicting: bool) -> AsyncIterator[Candidate]:
        state, chance = self._state, self._clocks.chance()
        for each in candidates(
            state,
            look.pod,
            self._plugins,
            chance=chance,
            passed=look.passed,
            evicting=evicting,
            for_room=look.for_room,
        ):
            if each is not None:
                yield each
            await look.slices.between()

    async def _best_of(self, ranking: Ranking, look: _Look) -> Candidate | None:
        """Take the best node that is left, as it is now."""
        while (entry := ranking.best()) is not None:
            _, number, node = entry
            found = on_node(self._state, look.pod, self._plugins, node)
            if found is not None:
                now = self._badness(found), number, node
                if not ranking.beats(now[0]):
                    if look.take:
                        ranking.takers.add(look.pod.uid)
                    else:
                        ranking.put_back(now)
                    return found
                ranking.put_back(now)
            await look.slices.between()
        return None

    def _badness(self, candidate: Candidate) -> Badness:
        """Return how bad a candidate is: what was begun for nobody who waits there comes first.

        So it is when a preemptor has lost its nomination while nobody looked after it, and victims
        are on their way out. Where room is missing, the scheduler has not named these victims, so
        such nodes come last: another rule of its own may keep the pod from there.
        """
        begun = any(each.status.preempted for each in candidate.victims)
        waited_for = bool(self._state.nominated.on(candidate.node))
        return not begun or waited_for, candidate.for_room, candidate.rank
