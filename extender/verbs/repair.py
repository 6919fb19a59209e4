"""Which placed pods sit worse than they have to by preferred terms, and where they would do better.

What a place is worth to a pod is the sum of the weights of the terms that are met there: its own
preferred terms, those of placed pods about it, and its preferred node affinity. It is judged as its
successor would be, with the pod itself left out. So what a move gains, the sum over all pods gains;
and as each gains a margin, moves come to an end while nothing else changes.

Only a pod whose *own* rules are the better for it is moved, and only by those terms that look into
no other namespace: whoever may create pods elsewhere has no say in which pods run. What others
prefer counts against a place, never for a move.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from operator import add
from typing import Final, TypeAlias

from extender.cluster.counts.domain_limits import DomainLimit
from extender.cluster.counts.matching_pods import PlacedClass
from extender.cluster.counts.nodes import NodeList
from extender.cluster.counts.pod_sets import matched_by
from extender.cluster.counts.topology import DomainTable
from extender.cluster.state import ClusterState
from extender.errors import ObjectError
from extender.model.labels import HOSTNAME
from extender.model.node_affinity import NodeAffinity
from extender.model.node_resources import HARD
from extender.model.objects import Pod, PodClass
from extender.model.pod_affinity import LimitedTerm, Term, WeightedTerm
from extender.model.workload import JOB
from extender.verbs.evicting import Outcome, kept
from extender.verbs.inter_pod_affinity import InterPodAffinity, scores
from extender.verbs.node_affinity import NodeAffinityPlugin
from extender.verbs.nominating import Chooser, ExpectedPlacement
from extender.verbs.prioritizing import Scored

PODS: Final = InterPodAffinity(hard_pod_affinity_weight=0)
"""Required affinity adds to a score as well, but no move makes or breaks it."""
NODES: Final = NodeAffinityPlugin()
COMPARISONS: Final = 2_000
"""Of a pod class with a condition, in one step of counting: some milliseconds."""
MOST_COMPARED: Final = 20_000
"""Pairs of a node with pods of a class and a kind of place that may suit them better: some
milliseconds. With more, each of these pods is judged by itself."""


UNBOUNDED: Final = 1 << 62
NODES_AT_ONCE: Final = 10


@dataclass(frozen=True, slots=True)
class Improvement:
    """A placed pod, and a node that suits it better."""

    pod: Pod
    target: str
    own: int
    """What it gains by those of its own terms for which it may be moved, in their weights."""
    total: int
    """What it gains by all terms, its own and those of others."""

    @property
    def rank(self) -> tuple[int, int]:
        """Return what sorts moves: the one that helps most is the greatest."""
        return self.own, self.total


def improvements(
    state: ClusterState, chooser: Chooser, placed: PlacedClass, margin: int
) -> Iterator[Improvement | None]:
    """Yield what a pod would gain on each node where those of a class sit worse than they have to.

    None is yielded wherever everybody else may have a turn; the state may change meanwhile. Pods of
    a class on one node are alike, save for their preferred node affinity.
    """
    for pods in _alike(state, placed):
        yield from (None for _ in _counting(state, placed.pod_class) if pods)
        for _, pod in _suspects(state, chooser, pods, margin) if pods else ():
            yield from (None for _ in state.preparing(placed.pod_class, COMPARISONS))
            yield improvement(state, chooser, pod, margin)
        yield None


def best_improvement(
    state: ClusterState, chooser: Chooser, placed: PlacedClass, margin: int
) -> Iterator[Improvement | None]:
    """Yield, last, what a pod of a class would gain that gains the most; None for each turn before.

    Whoever moves first where it is the most crowded needs the fewest moves.
    """
    best: Improvement | None = None
    for pods in _alike(state, placed):
        yield from (None for _ in _counting(state, placed.pod_class) if pods)
        for bound, pod in _suspects(state, chooser, pods, margin) if pods else ():
            if best is not None and bound <= best.own:
                break
            yield from (None for _ in state.preparing(placed.pod_class, COMPARISONS))
            found = improvement(state, chooser, pod, margin)
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
    if known is None or known.deleting:
        return None
    gains = _gains(state, known, chooser.everywhere(), margin)
    best = sorted(gains, key=lambda name: gains[name][1], reverse=True)
    target = chooser.choose(known, avoid=(), placements=placements, among=best) if best else None
    return None if target is None else Improvement(known, target, *gains[target])


def steered(state: ClusterState, pod: Pod, asked: NodeList, max_score: int) -> Scored:
    """Score the successor of a pod that was moved: only the nodes that suit it best get points.

    What other plugins of the scheduler think of nodes would otherwise outweigh small preferences,
    and the move would have been for nothing.
    """
    if not asked.numbers:
        return Scored()
    with state.without(pod.key, pod.uid):
        total = _total_worth(state, pod, asked)
    best = max(total)
    final = {each: max_score if each == best else 0 for each in {*total}}
    return Scored(asked.numbers, total, final) if len(final) > 1 else Scored()


def gain_on(state: ClusterState, chooser: Chooser, pod: Pod, node: str) -> int | None:
    """Return what a placed pod would gain on a node, by all terms; None if either is not there."""
    if not {node, pod.node} <= state.nodes.keys():
        return None
    asked = chooser.everywhere().only([pod.node or "", node])
    return _gains(state, pod, asked, -UNBOUNDED)[node][1]


def stays(pod: Pod) -> str | None:
    """Say why a pod is not moved for the sake of a preference; None: it may be."""
    outcome, why = kept(pod)
    if outcome is not Outcome.GOES:
        return why or outcome.words
    if pod.owner is not None and pod.owner.kind == JOB:
        return "it belongs to a Job, whose work would be lost"
    held = [each for each in pod.requirements.unmodelled if each in HARD]
    return f"its {held[0]} may hold it where it is" if held else None


# The pods of a class

Alike: TypeAlias = Mapping[str, Pod]
"""Pods with the same preferences, one for each node."""


def _alike(state: ClusterState, placed: PlacedClass) -> Iterator[Alike | None]:
    """Yield the pods of a class that prefer anything and may be moved; O(pods on their nodes).

    None for every few nodes before. Whether pods of a class prefer nodes, the first one tells.
    """
    pod_class, names = placed.pod_class, state.nodes.names
    prefers_pods = any(True for _ in _terms_for_moves(state.class_in_force(pod_class)))
    found: dict[NodeAffinity | None, dict[str, Pod]] = {}
    for count, name in enumerate([names[number] for number in placed.on_nodes]):
        for pod in state.pods_on(name) if name in state.nodes else ():
            if pod.pod_class is not pod_class or pod.deleting:
                continue
            asks = state.in_force(pod).node_affinity
            prefers_nodes = asks is not None and any(asks.preferred_rules)
            if not (prefers_pods or prefers_nodes):
                return
            if stays(pod) is None:
                found.setdefault(asks if prefers_nodes else None, {})[name] = pod
        if count % NODES_AT_ONCE == 0:
            yield None
    yield from found.values()


def _terms_for_moves(pod_class: PodClass) -> Iterator[WeightedTerm | LimitedTerm]:
    """Yield the preferred terms of a class that look into no other namespace."""
    affinity, home = pod_class.affinity, {pod_class.namespace}

    def is_at_home(term: Term) -> bool:
        return term.pods.namespace_selector is None and term.pods.namespaces == home

    yield from (each for each in affinity.preferred if is_at_home(each.term))
    yield from (each for each in affinity.limits if each.limit.weight and is_at_home(each))


def _counting(state: ClusterState, pod_class: PodClass) -> Iterator[int]:
    """Count what `_own_tables` needs, in steps."""
    terms = [
        each.term if isinstance(each, WeightedTerm) else each
        for each in _terms_for_moves(state.class_in_force(pod_class))
    ]
    yield from state.counting_matching([matched_by(each) for each in terms], COMPARISONS)


def _own_tables(state: ClusterState, pod: Pod) -> Iterator[tuple[DomainTable, int]]:
    """Yield what the own terms of a pod add to the worth of domains, each with its weight."""
    pod_class = state.class_of(pod)
    for each in _terms_for_moves(pod_class):
        term = each.term if isinstance(each, WeightedTerm) else each
        tables = (
            state.matching([matched_by(term)]) if state.nodes.has_key(term.topology_key) else ()
        )
        for table in tables or ():
            if isinstance(each, WeightedTerm):
                yield table, each.weight
            else:
                limit = DomainLimit(each, table, None, int(state.is_about(each, pod_class)))
                limit.allow(state.allowed(each, pod))
                yield limit.penalties(), 1


# What a place is worth


def _gains(
    state: ClusterState, pod: Pod, asked: NodeList, margin: int
) -> dict[str, tuple[int, int]]:
    """Return what a placed pod gains, by its own terms and by all, where each is the margin."""
    if pod.node is None or pod.node not in state.nodes:
        return {}
    with state.without(pod.key, pod.uid):
        own, total = _own_worth(state, pod, asked), _total_worth(state, pod, asked)
    here = asked.names.index(pod.node)
    return {
        name: (mine - own[here], all_in_all - total[here])
        for name, mine, all_in_all in zip(asked.names, own, total, strict=True)
        if mine >= own[here] + margin and all_in_all >= total[here] + margin
    }


def _own_worth(state: ClusterState, pod: Pod, asked: NodeList) -> Sequence[int]:
    mine, nodes = scores(_own_tables(state, pod)), _worth_of_nodes(state, pod, asked)
    return nodes if mine is None else list(map(add, mine.raw(asked), nodes))


def _total_worth(state: ClusterState, pod: Pod, asked: NodeList) -> Sequence[int]:
    every, nodes = PODS.prepare(state, pod), _worth_of_nodes(state, pod, asked)
    return nodes if every is None else list(map(add, every.raw(asked), nodes))


def _worth_of_nodes(state: ClusterState, pod: Pod, asked: NodeList) -> Sequence[int]:
    try:
        scorer = NODES.prepare(state, pod)
    except ObjectError:
        scorer = None  # As in the scheduler, such a pod has no preferences.
    return [0] * len(asked.names) if scorer is None else scorer.raw(asked)


# Who may sit worse than he has to


def _suspects(
    state: ClusterState, chooser: Chooser, pods: Alike, margin: int
) -> Sequence[tuple[int, Pod]]:
    """Return the pods that may gain the margin somewhere, each with what it gains at most.

    A superset, at little cost for each, those that may gain most first.
    """
    some = next(iter(pods.values()))
    itself = _to_itself(state, state.class_of(some))
    if itself is None:
        return [(UNBOUNDED, each) for each in pods.values()]
    asked = chooser.everywhere()
    worth = dict(zip(asked.names, _own_worth(state, some, asked), strict=True))
    bound = _Bound(state, worth, itself)
    found = bound.may_gain(pods, worth, margin)
    if not found:
        return ()
    # Nodes that take none of them are no better place. They are left out only now: of most classes
    # nobody is left.
    takers = {name: worth[name] for name in chooser.takers(some)}
    found = bound.may_gain({each.node or "": each for _, each in found}, takers, margin)
    return sorted(found, key=lambda each: each[0], reverse=True)


def _to_itself(state: ClusterState, pod_class: PodClass) -> Mapping[str, int] | None:
    """Return by topology key what a pod of a class adds to the worth of its own domain.

    None where that is no sum: with limits.
    """
    found: dict[str, int] = {}
    for each in _terms_for_moves(pod_class):
        if isinstance(each, LimitedTerm):
            return None
        if state.is_about(each.term, pod_class):
            key = each.term.topology_key
            found[key] = found.get(key, 0) + each.weight
    return found


@dataclass(frozen=True, slots=True)
class _Bound:
    """What pods gain at most, while all of them count; what one adds to its domain goes with it."""

    state: ClusterState
    worth: Mapping[str, int]
    """By node."""
    itself: Mapping[str, int]

    def may_gain(
        self, pods: Alike, places: Mapping[str, int], margin: int
    ) -> list[tuple[int, Pod]]:
        """Return the pods to which one of some places may be worth more, by the margin."""
        best: dict[tuple[str | None, ...], int] = {}
        for name, each in places.items():
            kind = self._kind(name)
            best[kind] = max(each, best.get(kind, each))
        if len(best) * len(pods) > MOST_COMPARED:
            return [(UNBOUNDED, each) for each in pods.values()]
        gains = [(self._gain(name, best), pod) for name, pod in pods.items()]
        return [each for each in gains if each[0] >= margin]

    def _gain(self, name: str, best: Mapping[tuple[str | None, ...], int]) -> int:
        here, keys = self._kind(name), [self.itself[key] for key in self._keys]
        is_named = HOSTNAME in self.state.nodes.labels(name)
        lost = self.itself.get(HOSTNAME, 0) if is_named else 0
        elsewhere = (
            each
            + sum(
                adds
                for adds, one, other in zip(keys, here, there, strict=True)
                if one is not None and one != other
            )
            for there, each in best.items()
        )
        return max(elsewhere, default=self.worth[name]) - self.worth[name] + lost

    @property
    def _keys(self) -> list[str]:
        # By its hostname, each other node is another domain.
        return [key for key in self.itself if key != HOSTNAME]

    def _kind(self, name: str) -> tuple[str | None, ...]:
        """Return the domains of a node: nodes in the same ones are alike to all pods."""
        labels = self.state.nodes.labels(name)
        return tuple([labels.get(key) for key in self._keys])
