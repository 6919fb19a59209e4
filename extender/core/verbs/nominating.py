"""Where a pod that was refused everywhere might go instead, and what became of it meanwhile."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain, islice

from msgspec import structs

from extender.core.cluster.counts.nodes import NodeList
from extender.core.cluster.state import ClusterState
from extender.core.model.node_resources import UsedPorts
from extender.core.model.objects import Pod
from extender.core.verbs.filtering import holding, judge
from extender.core.verbs.interaction import interact
from extender.core.verbs.node_selection import NodeSelectionPlugin
from extender.core.verbs.plugins import Plugins, refuse

MOST_CONDITIONS = 250_000
"""Comparisons of nodes with conditions in one search: dozens for each node of a large cluster."""


@dataclass(frozen=True, slots=True)
class ExpectedPlacement:
    """A node that another pod was pointed to, and may be bound to any moment."""

    pod: Pod
    node: str


@dataclass(frozen=True, slots=True)
class Observed:
    """A pod as the watch has shown it, and as it is reserved."""

    known: bool
    """Whether the watch has shown this very pod, and not its end, nor that it will never run."""
    node: str | None
    """Where it is, or is about to be."""
    nominated: str | None
    """The node that it is nominated for, as we heard last."""
    certain: bool = True
    """Whether it is known to be on `node`; else a bind there is under way or ended unclearly."""


def observe(state: ClusterState, pod: Pod) -> Observed:
    known = state.pod(pod.key, pod.uid)
    if known is not None and known.node is not None:
        return Observed(known=True, node=known.node, nominated=known.status.nominated)
    reserved = next(iter(state.reservations.of(pod.key, pod.uid)), None)
    nominated = None if known is None else known.status.nominated
    if reserved is None:
        # The scheduler leaves a pod alone that is being deleted; finalizers may make that last.
        waits = known is not None and not known.status.deleting
        return Observed(known=waits, node=None, nominated=nominated)
    return Observed(
        known=known is not None,
        node=reserved.pod.node,
        nominated=nominated,
        certain=reserved.confirmed,
    )


def loses_victims(state: ClusterState, pod: Pod, node: str) -> bool:
    """Return whether pods of lower priority are on their way out of a node; O(pods on it)."""
    return any(
        each.status.deleting and each.spec.priority < pod.spec.priority
        for each in state.pods_on(node)
    )


def suitable(state: ClusterState, pod: Pod, plugins: Plugins) -> Callable[[str], bool]:
    """Return what tells whether a pod may run on a node and tolerates its taints, as of now.

    Room and our rules aside. What the scheduler adds for every pod counts, whether or not it is
    among the `plugins` to enforce that.
    """
    asks = state.in_force(pod).node_selection
    rules = () if asks is None else asks.required_rules
    added = (each.added.required for each in plugins if isinstance(each, NodeSelectionPlugin))
    judged = [state.node_rules.judge(rule) for rule in (*rules, *added) if rule is not None]

    def suits(node: str) -> bool:
        return all(each.of(node) for each in judged) and pod.spec.requirements.tolerates(
            state.node_resources.allocatable(node)
        )

    return suits


def from_somewhere(names: Sequence[str], chance: float) -> Iterator[str]:
    """Yield all names, from a random one on; `chance` is in [0, 1)."""
    start = int(chance * len(names))
    return chain(islice(names, start, None), islice(names, start))


def most_nodes(pod: Pod, conditions: int) -> int:
    """Return how many nodes a pod can be compared with for `conditions` comparisons."""
    return conditions // (pod.spec.requirements.conditions + len(pod.spec.ports))


class Chooser:
    def __init__(self, state: ClusterState, plugins: Plugins) -> None:
        self._state = state
        self._plugins = plugins
        self._everywhere: NodeList | None = None

    def choose(
        self,
        pod: Pod,
        *,
        avoid: Collection[str],
        placements: Sequence[ExpectedPlacement],
        chance: float = 0.0,
        among: Sequence[str] | None = None,
    ) -> str | None:
        """Return a node that satisfies our rules and seems to suit the pod otherwise, if any.

        `chance` in [0, 1) says where the search begins, so that pods do not all end up on the same
        node. Nodes to avoid are left out, those promised to pods that would get in this one's way,
        or leave it no room, and those in a topology domain promised to a pod that excludes it, or
        that it excludes. What we do not look at (volumes, spreading) the scheduler does: a
        wrong choice costs it one try. O(nodes), or of those `among` which it is to be, the first
        ones first; of a pod with very many conditions, not all are looked at.
        """
        expected: dict[str, list[Pod]] = {}
        for each in placements:
            if each.pod.uid != pod.uid:
                expected.setdefault(each.node, []).append(each.pod)
        shut = self._shut(pod, expected, among) if expected else ()
        for name in self.takers(pod, chance, among):
            others = expected.get(name, ())
            if name in avoid or name in shut:
                continue
            if not others or self._fits_beside(pod, name, others):
                return name
        return None

    def _shut(
        self, pod: Pod, expected: Mapping[str, Sequence[Pod]], among: Sequence[str] | None
    ) -> Collection[str]:
        """Return the nodes that rules refuse beside pods that are expected, on whichever node."""
        state, asked = self._state, self._asked(among)
        others = [structs.replace(each, node=node) for node in expected for each in expected[node]]
        with state.without(pod.key, pod.uid):
            rules = (each.rules_beside(state, pod, others) for each in self._plugins)
            refused = refuse(chain.from_iterable(rules), asked).refused
        return {name for _, names in refused for name in names}

    def _asked(self, among: Sequence[str] | None) -> NodeList:
        return self.everywhere() if among is None else self.everywhere().only(among)

    def takers(
        self, pod: Pod, chance: float = 0.0, among: Sequence[str] | None = None
    ) -> Iterator[str]:
        """Yield the nodes that would take a pod, as far as we look."""
        state = self._state
        fits = judge(state, pod, self._asked(among), self._plugins).fits.names
        suits = suitable(state, pod, self._plugins)
        for name in islice(from_somewhere(fits, chance), most_nodes(pod, MOST_CONDITIONS)):
            if suits(name) and self._has_room(pod, name):
                yield name

    def looks_everywhere(self, pod: Pod) -> bool:
        return len(self._state.nodes) <= most_nodes(pod, MOST_CONDITIONS)

    def _fits_beside(self, pod: Pod, node: str, others: Sequence[Pod]) -> bool:
        """Return whether a node that takes a pod does so beside those that are expected there."""
        meet = partial(interact, self._state)
        return not any(
            meet(each, pod.pod_class) for each in {each.pod_class for each in others}
        ) and self._has_room(pod, node, others)

    def _has_room(self, pod: Pod, node: str, expected: Sequence[Pod] = ()) -> bool:
        """Return whether a node has room and ports for a pod beside those that are expected there.

        As for the scheduler, the pods nominated to it to which the pod yields are among them: where
        victims are gone, their preemptor is about to come.
        """
        state = self._state
        held = holding(state, pod, node) if state.nominated else ()
        others = {each.uid: each for each in (*expected, *held)}.values()
        if not others:
            return state.node_resources.has(node, pod.spec.requests, pod.spec.ports)
        requests, ports = Counter(dict(pod.spec.requests)), UsedPorts()
        for each in others:
            requests.update(dict(each.spec.requests))
            ports.use(each.spec.ports, 1)
        has = state.node_resources.has(node, tuple(requests.items()), pod.spec.ports)
        return has and ports.allow(pod.spec.ports)

    def everywhere(self) -> NodeList:
        """Return the question about every node, looked up anew when nodes came or went."""
        nodes = self._state.nodes
        if self._everywhere is None or self._everywhere.version != nodes.version:
            self._everywhere = nodes.asked(list(nodes))
        return self._everywhere
