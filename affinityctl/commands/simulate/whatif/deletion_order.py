"""Which pod the ReplicaSet controller deletes first, as ActivePodsWithRanks in pkg/controller."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import cmp_to_key
from types import MappingProxyType
from typing import Final, NamedTuple

from affinityctl.reading.deletion_cost import DELETION_COST
from extender.core.model.keys import Key
from extender.core.model.objects import Pod

PHASES: Final[Mapping[str, int]] = {"Unknown": 1, "Running": 2}
"""Pods go in this order; those of any other phase first."""
_NANOSECONDS: Final = 1_000_000_000
NO_COSTS: Final[Mapping[Key, int]] = MappingProxyType({})


class Life(NamedTuple):
    """What a pod has come to, in the cluster that was given. Times are in seconds since 1970."""

    phase: int
    ready_since: float
    """0 where that is not known."""
    restarts: tuple[int, int]
    """The most of any container, and of any sidecar."""
    created: float
    """0 where that is not known."""


class Lives:
    """The lives of pods that had a node at one moment, by uid."""

    def __init__(self, known: Mapping[str, Life] | None = None, now: float = 0.0) -> None:
        self._known = {} if known is None else known
        self.now = now

    def of(self, pod: Pod) -> Life:
        """Return the life of a pod: one that had no node at that moment runs as soon as it has."""
        known = self._known.get(pod.uid)
        if known is not None:
            return known
        created = self.now if pod.status.created is None else float(pod.status.created)
        phase = 0 if pod.node is None else PHASES["Running"]
        return Life(phase, self.now, (0, 0), created)

    @staticmethod
    def is_available(pod: Pod) -> bool:
        return pod.node is not None and pod.status.ready

    def by_deletion(
        self, pods: Sequence[Pod], beside: Iterable[Pod] = (), costs: Mapping[Key, int] = NO_COSTS
    ) -> list[Pod]:
        """Sort the pods of a ReplicaSet, those first that its controller would delete first.

        `beside` are the pods of the others of the same Deployment. `costs` are in place of those
        that some pods have.
        """
        together = Counter(pod.node for pod in (*pods, *beside))

        def ranked(pod: Pod) -> _Ranked:
            life, ready = self.of(pod), pod.status.ready
            worth = costs.get(pod.key, pod.facet(DELETION_COST) or 0)
            first = (pod.node is not None, life.phase, ready, worth, -together[pod.node])
            return _Ranked(first, ready, life, pod.uid, self.now)

        in_order = sorted(((ranked(pod), pod) for pod in pods), key=lambda each: each[1].key)
        return [pod for _, pod in sorted(in_order, key=lambda each: _BY_RANK(each[0]))]


class _Ranked(NamedTuple):
    first: tuple[bool, int, bool, int, int]
    """What goes before all times."""
    ready: bool
    life: Life
    uid: str
    now: float

    def before(self, other: _Ranked) -> int:
        """Return a negative number if this one is deleted before another."""
        if self.first != other.first:
            return -1 if self.first < other.first else 1
        mine, theirs = self.life, other.life
        if self.ready and mine.ready_since != theirs.ready_since:
            return self._younger(other, mine.ready_since, theirs.ready_since)
        if mine.restarts != theirs.restarts:
            return -1 if mine.restarts > theirs.restarts else 1
        if mine.created != theirs.created:
            return self._younger(other, mine.created, theirs.created)
        return 0

    def _younger(self, other: _Ranked, since: float, others: float) -> int:
        if not since or not others:
            return -1 if not since else 1
        mine, theirs = _magnitude(self.now - since), _magnitude(self.now - others)
        if mine != theirs:
            return mine - theirs
        return -1 if self.uid < other.uid else 1


_BY_RANK: Final = cmp_to_key(_Ranked.before)


def _magnitude(seconds: float) -> int:
    """Return the logarithm of an age: of two with the same, chance decides, by uid."""
    return int(math.log2(seconds * _NANOSECONDS)) if seconds > 0 else -1
