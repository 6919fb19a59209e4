"""Which pods are bound to each node, which make room for others, and which wait."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from itertools import chain
from typing import Final

from extender.core.model.objects import Pod
from extender.core.model.signed import shift


class PodsByNode:
    """Bound pods by node, known or not, and those that wait for one.

    Lists, because at 150,000 pods a dictionary for each node would cost several megabytes more,
    and a node holds a hundred pods or so: removing one looks at no more than these.
    """

    def __init__(self) -> None:
        self._on: dict[str, list[Pod]] = {}
        self._priorities: dict[int, int] = {}
        """How many of them have each priority; a cluster has a handful."""
        self._victims: dict[str, list[Pod]] = {}
        """Those that are marked for a preemptor, by its uid."""
        self._terminating: dict[str, Pod] = {}
        self.terminating: Final[Collection[Pod]] = self._terminating.values()
        self._waiting: dict[str, Pod] = {}
        self.waiting: Final[Collection[Pod]] = self._waiting.values()

    def has_less_important(self, priority: int) -> bool:
        return any(each < priority for each in self._priorities)

    def of(self, node: str) -> Sequence[Pod]:
        """Return the pods that are bound to a node, in no useful order."""
        return self._on.get(node, ())

    def victims_of(self, preemptor: str) -> Sequence[Pod]:
        """Return the pods that are marked to go for a preemptor, by its uid."""
        return self._victims.get(preemptor, ())

    @property
    def victims(self) -> Iterator[Pod]:
        """Yield the pods that are marked to go for any preemptor."""
        return chain.from_iterable(self._victims.values())

    def add(self, pod: Pod) -> None:
        if pod.node is None:
            self._waiting[pod.uid] = pod
        else:
            self._on.setdefault(pod.node, []).append(pod)
            shift(self._priorities, pod.spec.priority, 1)
            if pod.status.victim_of is not None:
                self._victims.setdefault(pod.status.victim_of, []).append(pod)
            if pod.status.deleting:
                self._terminating[pod.uid] = pod

    def remove(self, pod: Pod) -> None:
        """Forget where a pod is; it has to be the very object that was added."""
        if pod.node is None:
            # Its successor may be there already.
            if self._waiting.get(pod.uid) is pod:
                del self._waiting[pod.uid]
            return
        shift(self._priorities, pod.spec.priority, -1)
        _take(self._on, pod.node, pod)
        if pod.status.victim_of is not None:
            _take(self._victims, pod.status.victim_of, pod)
        # Its successor may be there already.
        if pod.status.deleting and self._terminating.get(pod.uid) is pod:
            del self._terminating[pod.uid]


def _take(index: dict[str, list[Pod]], key: str, pod: Pod) -> None:
    pods = index[key]
    place = next(place for place, each in enumerate(pods) if each is pod)
    last = pods.pop()
    if place < len(pods):
        pods[place] = last
    if not pods:
        del index[key]
