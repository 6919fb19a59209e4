"""Which placed pods sit worse than they have to by preferred terms, and where they would do better.

What a place is worth to a pod is the sum of the weights of the terms that are met there: its own
preferred terms, those of placed pods about it, and its preferred node affinity. It is judged as its
successor would be, with the pod itself left out. So what a move gains, the sum over all pods gains;
and as each gains a margin, moves come to an end while nothing else changes.

Only a pod whose *own* rules are the better for it is moved, and only by those terms that look into
no other namespace: whoever may create pods elsewhere has no say in which pods run. What others
prefer counts against a place, never for a move. And no pod is moved away from one that has to be
near it, if none other of that kind is left there: a preference is not worth a broken rule.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

from msgspec import structs

from extender.core.cluster.counts.matching_pods import PlacedClass
from extender.core.cluster.counts.nodes import NodeList
from extender.core.cluster.counts.pod_sets import matched_by
from extender.core.cluster.counts.topology import NO_DOMAIN, Topology
from extender.core.cluster.state import ClusterState
from extender.core.model.labels import HOSTNAME
from extender.core.model.node_resources import HARD
from extender.core.model.node_selection import NodeSelection
from extender.core.model.objects import Pod
from extender.core.model.workload import REPLACING
from extender.core.verbs.nominating import Chooser, ExpectedPlacement
from extender.core.verbs.plugins import Plugins
from extender.core.verbs.prioritizing import Scored
from extender.diagnosis.verbs.topology_spread import PodTopologySpread
from extender.features.moving.rules.evicting import Outcome, kept
from extender.features.moving.rules.leaned_on import keys_to_keep
from extender.features.moving.rules.worth import (
    own_tables,
    own_worth,
    terms_for_moves,
    to_itself,
    total_worth,
)

COMPARISONS: Final = 2_000
"""Of a pod class with a condition, in one step of counting: some milliseconds."""
MOST_COMPARED: Final = 20_000
"""Pairs of a node with pods of a class and a kind of place that may suit them better: some
milliseconds. With more, each of these pods is judged by itself."""


UNBOUNDED: Final = 1 << 62
NODES_AT_ONCE: Final = 20
TAKERS_AT_ONCE: Final = 500


@dataclass(frozen=True, slots=True)
class Improvement:
    pod: Pod
    target: str
    own: int
    """What it gains by those of its own terms for which it may be moved, in their weights."""
    total: int
    """What it gains by all terms, its own and those of others."""

    @property
    def rank(self) -> tuple[int, int]:
        return self.own, self.total


def chooser_of_places(state: ClusterState, plugins: Plugins) -> Chooser:
    """Return what chooses where moved pods go, by the hard rules that the scheduler keeps to."""
    return Chooser(state, (*plugins, PodTopologySpread()))


def improvements(
    state: ClusterState,
    chooser: Chooser,
    placed: PlacedClass,
    margin: int,
    *,
    known: Callable[[], int] = lambda: -UNBOUNDED,
    may_move: Callable[[Pod], bool] = lambda _: True,
) -> Iterator[Improvement | None]:
    """Yield what a pod would gain on each node where those of a class sit worse than they have to.

    None is yielded wherever other work may have a turn; the state may change meanwhile. Pods of a
    class on one node are alike, save for their preferred node affinity. A pod that cannot gain more
    than is `known` by then is not looked at.
    """
    for pods in (yield from _alike(state, placed, may_move)):
        yield None
        for bound, pod in (yield from _suspects(state, chooser, pods, margin)):
            if bound <= known():
                break
            yield from (None for _ in state.preparing(placed.pod_class, COMPARISONS))
            yield improvement(state, chooser, pod, margin)


def best_improvement(
    state: ClusterState,
    chooser: Chooser,
    placed: PlacedClass,
    margin: int,
    may_move: Callable[[Pod], bool] = lambda _: True,
) -> Iterator[Improvement | None]:
    """Yield, last, what a pod of a class would gain that gains the most; None for each turn before.

    To move first where it is the most crowded needs the fewest moves.
    """
    best: Improvement | None = None

    def known() -> int:
        return -UNBOUNDED if best is None else best.own

    for found in improvements(state, chooser, placed, margin, known=known, may_move=may_move):
        if found is not None and (best is None or found.rank > best.rank):
            best = found
        yield None
    yield best


def improvement(
    state: ClusterState,
    chooser: Chooser,
    pod: Pod,
    margin: int,
    placements: Sequence[ExpectedPlacement] = (),
) -> Improvement | None:
    """Return where a placed pod would sit best, if it gains the margin there and would fit now.

    Beside pods that are expected somewhere, nominated ones and what nodes have room for.
    O(nodes x tables).
    """
    known = state.pod(pod.key, pod.uid)
    if known is None or known.status.deleting:
        return None
    return _better_than_its_node(state, chooser, known, margin, placements)


def better_node(
    state: ClusterState, chooser: Chooser, pod: Pod, node: str, margin: int
) -> str | None:
    """Return where a pod that waits would sit best, if it gains the margin over a node; likewise.

    O(nodes x tables).
    """
    found = _better_than_its_node(state, chooser, structs.replace(pod, node=node), margin, ())
    return None if found is None else found.target


def _better_than_its_node(
    state: ClusterState,
    chooser: Chooser,
    pod: Pod,
    margin: int,
    placements: Sequence[ExpectedPlacement],
) -> Improvement | None:
    going = [each.pod for each in placements]
    found = better_places(state, pod, chooser.everywhere(), margin, going)
    best = sorted(found, key=lambda name: found[name][1], reverse=True)
    target = chooser.choose(pod, avoid=(), placements=placements, among=best) if best else None
    return None if target is None else Improvement(pod, target, *found[target])


def steered(state: ClusterState, pod: Pod, asked: NodeList, max_score: int) -> Scored:
    """Score the successor of a pod that was moved: only the nodes that suit it best get points.

    What other plugins of the scheduler think of nodes would otherwise outweigh small preferences,
    and the move would have been for nothing.
    """
    if not asked.names:
        return Scored()
    with state.without(pod.key, pod.uid):
        total = total_worth(state, pod, asked)
    best = max(total)
    final = {each: max_score if each == best else 0 for each in {*total}}
    return Scored(asked.names, total, final) if len(final) > 1 else Scored()


def gain_on(state: ClusterState, chooser: Chooser, pod: Pod, node: str) -> int | None:
    """Return what a placed pod would gain on a node, by all terms; None if either is not there."""
    if not {node, pod.node} <= state.nodes.keys():
        return None
    asked = chooser.everywhere().only([pod.node or "", node])
    return gains(state, pod, asked, -UNBOUNDED)[node][1]


def stays(pod: Pod) -> str | None:
    """Say why a pod is not moved for the sake of a preference; None: it may be."""
    outcome, why = kept(pod)
    if outcome is not Outcome.GOES:
        return why or outcome.words
    if pod.spec.requirements.runs_once:
        return "its restartPolicy is not Always, and what it has done would be lost"
    if pod.spec.owner is not None and pod.spec.owner.kind not in REPLACING:
        return f"it belongs to a {pod.spec.owner.kind}, which may not replace it"
    if pod.pod_class.later:
        # They count for it and for no other pod: it could follow one that avoids it for ever.
        return "the rules in its annotation are not those that it was placed by"
    held = [each for each in pod.spec.requirements.unmodelled if each in HARD]
    return f"its {held[0]} may hold it where it is" if held else None


# The pods of a class

Domains: TypeAlias = tuple[int, ...]
Alike: TypeAlias = Mapping[str, Pod]
"""Pods with the same preferences, one for each node."""


def _alike(
    state: ClusterState, placed: PlacedClass, may_move: Callable[[Pod], bool]
) -> Generator[None, None, list[Alike]]:
    """Return the pods of a class that prefer anything and may be moved; O(pods on their nodes).

    In steps of a few nodes; what weighing them needs is counted.
    """
    pod_class, names = placed.pod_class, state.nodes.names
    terms = [each.term for each in terms_for_moves(state.class_in_force(pod_class))]
    found: dict[NodeSelection | None, dict[str, Pod]] = {}
    for count, name in enumerate([names[number] for number in placed.on_nodes]):
        for pod in state.pods_on(name) if name in state.nodes else ():
            if pod.pod_class is not pod_class or pod.status.deleting:
                continue
            asks = state.in_force(pod).node_selection
            prefers_nodes = asks is not None and any(asks.preferred_rules)
            if (terms or prefers_nodes) and stays(pod) is None and may_move(pod):
                found.setdefault(asks if prefers_nodes else None, {})[name] = pod
        if count % NODES_AT_ONCE == 0:
            yield
    for _ in state.counting_matching([matched_by(each) for each in terms], COMPARISONS):
        yield
    return [*found.values()]


# What a place is worth


def gains(
    state: ClusterState, pod: Pod, asked: NodeList, margin: int
) -> dict[str, tuple[int, int]]:
    """Return what a placed pod gains, by its own terms and by all, where each is the margin."""
    if pod.node is None or pod.node not in state.nodes:
        return {}
    with state.without(pod.key, pod.uid):
        own, total = own_worth(state, pod, asked), total_worth(state, pod, asked)
    here = asked.names.index(pod.node)
    return {
        name: (mine - own[here], all_in_all - total[here])
        for name, mine, all_in_all in zip(asked.names, own, total, strict=True)
        if mine >= own[here] + margin and all_in_all >= total[here] + margin
    }


def better_places(
    state: ClusterState, pod: Pod, asked: NodeList, margin: int, going: Iterable[Pod] = ()
) -> dict[str, tuple[int, int]]:
    """Return the same of the nodes to which a placed pod may go for the sake of preferences.

    Pods that have to be near it, and would be near no such pod without it, keep it in their domain;
    those that are `going` are none. O(nodes x tables).
    """
    found = gains(state, pod, asked, margin)
    kept = keys_to_keep(state, pod, going) if found else ()
    labels, here = state.nodes.labels, state.nodes.labels(pod.node or "")
    return {
        name: each
        for name, each in found.items()
        if all(labels(name).get(key) == here.get(key) for key in kept)
    }


# Who may sit worse than he has to


def _suspects(
    state: ClusterState, chooser: Chooser, pods: Alike, margin: int
) -> Generator[None, None, Sequence[tuple[int, Pod]]]:
    """Return the pods that may gain the margin somewhere, each with what it gains at most.

    A superset, at little cost for each, those that may gain most first.
    """
    some = next(iter(pods.values()))
    itself = to_itself(state, state.class_of(some))
    asked = chooser.everywhere()
    tables = list(own_tables(state, some))
    topologies = {table.topology.key: table.topology for table, _ in tables}
    bound = _Bound(asked, own_worth(state, some, asked), itself, topologies)
    found = bound.may_gain(pods, asked.names, margin)
    if not found:
        return ()
    yield
    # Nodes that take none of them are no better place. They are left out only now: of most classes
    # nobody is left.
    takers = []
    for name in chooser.takers(some):
        takers.append(name)
        if len(takers) % TAKERS_AT_ONCE == 0:
            yield
    found = bound.may_gain({each.node or "": each for _, each in found}, takers, margin)
    return sorted(found, key=lambda each: each[0], reverse=True)


class _Bound:
    """What pods gain at most, while all of them count; what one adds to its domain goes with it."""

    def __init__(
        self,
        asked: NodeList,
        worth: Sequence[int],
        itself: Mapping[str, int],
        topologies: Mapping[str, Topology],
    ) -> None:
        """`worth` is that of the nodes asked about, by position."""
        self._worth = worth
        self._at = dict(zip(asked.names, range(len(asked.names)), strict=True))
        own, by_name = topologies.get(HOSTNAME), itself.get(HOSTNAME, 0)
        self._by_name = by_name if own is not None else 0
        self._named = asked.domains(own) if own is not None else ()
        keys = [key for key in itself if key != HOSTNAME and key in topologies]
        self._adds = [itself[key] for key in keys]
        domains = [asked.domains(topologies[key]) for key in keys]
        self._kinds = [*zip(*domains, strict=True)] if keys else [()] * len(worth)
        """The domains of each node but that of its hostname, which is another one for each: nodes
        in the same ones are alike to a pod that comes from elsewhere."""

    def may_gain(self, pods: Alike, places: Iterable[str], margin: int) -> list[tuple[int, Pod]]:
        """Return the pods to which one of some places may be worth more, by the margin."""
        best: dict[Domains, int] = {}
        # Nodes come and go between two steps.
        for at in (self._at[name] for name in places if name in self._at):
            kind, each = self._kinds[at], self._worth[at]
            if best.get(kind, -UNBOUNDED) < each:
                best[kind] = each
        if len(best) * len(pods) > MOST_COMPARED:
            return [(UNBOUNDED, each) for each in pods.values()]
        gains = [
            (self._gain(self._at[name], best), each)
            for name, each in pods.items()
            if name in self._at
        ]
        return [each for each in gains if each[0] >= margin]

    def _gain(self, at: int, best: Mapping[Domains, int]) -> int:
        here, worth = self._kinds[at], self._worth[at]
        lost = self._by_name if self._named and self._named[at] != NO_DOMAIN else 0
        elsewhere = (
            each
            + sum(
                adds
                for adds, one, other in zip(self._adds, here, there, strict=True)
                if one not in {NO_DOMAIN, other}
            )
            for there, each in best.items()
        )
        return max(elsewhere, default=worth) - worth + lost
