"""Which nodes have room for a pod, and how much of it is left: kept up to date pod by pod."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import compress
from typing import Final

from extender.core.cluster.state import ClusterState
from extender.core.model.objects import Pod
from extender.core.verbs.node_fit import Shape, shape_of
from extender.core.verbs.nominating import suitable

MOST_SHAPES: Final = 64
"""Kinds of pods whose nodes are remembered; some 100 KB each with 5,000 nodes."""

CPU, MEMORY = "cpu", "memory"
DEFAULT_REQUESTS: Final = {CPU: 100, MEMORY: 200 << 20}
"""What a container without requests counts for in scores (GetNonzeroRequests): 100m, 200 MiB."""
MOST: Final = 100


@dataclass(slots=True)
class _Fitting:
    """The nodes for one shape, by position: whether each has room, and its score."""

    pod: Pod
    room: list[bool]
    scores: list[int]


class Rooms:
    """Room on all nodes, by shape of the pods that ask.

    The scores are those of NodeResourcesFit (LeastAllocated) and NodeResourcesBalancedAllocation
    with the weights of the default profile, 1 each, over cpu and memory.
    """

    def __init__(self, state: ClusterState) -> None:
        self._state = state
        self._names: list[str] = []
        """Those of lost nodes included, where no pod finds room."""
        self._places: dict[str, int] = {}
        self._known: dict[Shape, _Fitting] = {}
        self._unsaid: dict[str, dict[str, int]] = {}
        """By node: what its pods without requests count for in scores."""
        for pod in state.placed_pods:
            self._count_unsaid(pod, 1)
        self.changed(state.nodes)

    def changed(self, nodes: Iterable[str]) -> None:
        """Take up that nodes came, went or changed; O(nodes x shapes), all nodes if one is new."""
        if any(name not in self._places for name in nodes):
            self._names = sorted(self._state.nodes)
            self._places = {name: place for place, name in enumerate(self._names)}
            self._known.clear()
        for name in nodes if self._known else ():
            self._look_at(name)

    def moved(self, pod: Pod, sign: int) -> None:
        """Take up that a pod came to its node (1) or left it (-1); O(shapes)."""
        self._count_unsaid(pod, sign)
        if pod.node is not None:
            self._look_at(pod.node)

    def _look_at(self, node: str) -> None:
        place = self._places.get(node)
        if place is None:
            return
        for each in self._known.values():
            each.room[place] = self._has_room(each.pod, (node,)) == [node]
            each.scores[place] = self.score(each.pod, node)

    def ask(self, pod: Pod) -> tuple[Sequence[str], Sequence[int]]:
        """Return the nodes with room for a pod, and the score of each.

        O(nodes) for the first pod of a shape, then a tenth of that.
        """
        named = _only_names(pod)
        if named is not None:
            names = self._has_room(pod, named)
            return names, [self.score(pod, name) for name in names]
        found = self._fitting(pod)
        return list(compress(self._names, found.room)), list(compress(found.scores, found.room))

    def _fitting(self, pod: Pod) -> _Fitting:
        shape = shape_of(pod)
        found = self._known.get(shape)
        if found is None:
            if len(self._known) >= MOST_SHAPES:
                del self._known[next(iter(self._known))]
            having = {*self._has_room(pod, self._names)}
            room = [name in having for name in self._names]
            scores = [self.score(pod, name) for name in self._names]
            found = self._known[shape] = _Fitting(pod, room, scores)
        return found

    def _has_room(self, pod: Pod, names: Iterable[str]) -> list[str]:
        state, suits = self._state, suitable(self._state, pod, ())
        known = (name for name in names if name in state.nodes)
        return [name for name in known if has_room(state, pod, name) and suits(name)]

    def score(self, pod: Pod, node: str) -> int:
        resources = self._state.node_resources
        has, used = resources.allocatable(node).amounts, resources.used(node)
        unsaid, wants = self._unsaid.get(node, {}), dict(pod.spec.requests)
        counted = [name for name in (CPU, MEMORY) if has.get(name)]
        if not counted:
            return 0
        least = sum(
            _least(
                used.get(name, 0)
                + unsaid.get(name, 0)
                + (wants.get(name) or DEFAULT_REQUESTS[name]),
                has[name],
            )
            for name in counted
        ) // len(counted)
        if not any(wants.get(name) for name in counted):
            return least
        before = _balance([used.get(name, 0) / has[name] for name in counted])
        after = _balance([(used.get(name, 0) + wants.get(name, 0)) / has[name] for name in counted])
        return least + MOST // 2 + (MOST // 2 + after - before) // 2

    def _count_unsaid(self, pod: Pod, sign: int) -> None:
        if pod.node is None:
            return
        said = {name for name, amount in pod.spec.requests if amount}
        for name in DEFAULT_REQUESTS.keys() - said:
            there = self._unsaid.setdefault(pod.node, {})
            there[name] = there.get(name, 0) + sign * DEFAULT_REQUESTS[name]


def _only_names(pod: Pod) -> Iterable[str] | None:
    """Return the only nodes that a pod may go to, as one of a DaemonSet; None for any."""
    rules = () if pod.node_selection is None else pod.node_selection.required_rules
    return next((sorted(rule.names) for rule in rules if rule.names is not None), None)


def _least(requested: int, capacity: int) -> int:
    return 0 if requested > capacity else (capacity - requested) * MOST // capacity


def _balance(fractions: Sequence[float]) -> int:
    first, last = min(1.0, fractions[0]), min(1.0, fractions[-1])
    return int((1 - abs(first - last) / 2) * MOST)


def is_unmeasured(state: ClusterState, node: str) -> bool:
    """Return whether nothing is said of what a node has, as in a manifest: it takes anything."""
    return not state.node_resources.allocatable(node).amounts


def has_room(state: ClusterState, pod: Pod, node: str) -> bool:
    resources = state.node_resources
    if is_unmeasured(state, node):
        return resources.ports(node).allow(pod.spec.ports)
    return resources.has(node, pod.spec.requests, pod.spec.ports)
