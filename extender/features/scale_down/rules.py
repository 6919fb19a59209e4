"""Which pods of a controller a scale-down should take first, so that the rest stays spread.

A controller deletes pods of lower deletion cost first, once all are ready (ActivePodsWithRanks in
pkg/controller/controller_utils.go). In each domain of a topology the pods of a controller have the
ranks 1, 2, 3 ..., and a higher rank is a lower cost. So any scale-down takes the highest ranks
everywhere, and leaves r or r + 1 pods in each domain that had so many.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator
from itertools import count
from typing import Final, NamedTuple

from extender.core.cluster.view import ClusterView
from extender.core.model.keys import Identity, Key
from extender.core.model.labels import Labels
from extender.core.model.objects import Controller, Pod, PodClass
from extender.diagnosis.verbs.topologies import topologies
from extender.features.scale_down.cost import COST, DeletionCost
from extender.features.scale_down.ledger import Replica, Replicas, replica_of

STEP: Final = 1000
"""Of cost, from one rank in the first topology to the next; between there is the second's rank."""
MOST_REPLICAS: Final = 2_000
"""Of a controller, whose pods are gone through for each bind, in a millisecond, and in one step of
some 10 ms when they are put in order."""


class Ranks(NamedTuple):
    """Where a pod stands among those of its controller in its domains; 0 for nowhere."""

    first: int
    second: int = 0

    @classmethod
    def of(cls, cost: int | None) -> Ranks:
        """Return the ranks that a cost stands for, be it ours or made up by a user."""
        return cls(*divmod(-cost, STEP)) if cost is not None and cost < 0 else cls(0)

    @property
    def cost(self) -> int:
        return -(self.first * STEP + min(self.second, STEP - 1))


class Correction(NamedTuple):
    """A placed pod whose cost is out of order, and the one that puts it in order."""

    pod: Identity
    before: int | None
    cost: int


class _Place(NamedTuple):
    """A replica in a domain of the first topology, and its domain of the second, if it has one."""

    replica: Replica
    ranks: Ranks
    second: str | None
    is_bound: bool


def domains(keys: Iterable[str], labels: Labels) -> list[tuple[str, str]]:
    """Return the first two topologies of which a node is in a domain, with the domain."""
    return [(key, labels[key]) for key in keys if key in labels][:2]


def with_cost(known: Replicas, pod: Pod, node: str) -> Pod:
    """Return a pod with the cost that it should have on a node; one of its user's own stays.

    O(pods of its controller).
    """
    state, controller = known.state, pod.controller
    if controller is None or replica_of(pod, node) is None:
        return pod
    replicas, labels = known.of(controller), state.nodes.labels(node)
    mine = domains(topologies(state, pod.pod_class), labels)
    if not mine or len(replicas) >= MOST_REPLICAS:
        return pod
    (key, domain), (second_key, second) = mine[0], mine[-1]
    taken, second_taken = set[int](), set[int]()
    for each in replicas:
        ranks, there = Ranks.of(each.cost), state.nodes.labels(each.node)
        if each.uid != pod.uid and there.get(key) == domain:
            taken.add(ranks.first)
            if there.get(second_key) == second:
                second_taken.add(ranks.second)
    ranks = Ranks(next(_free(taken)), next(_free(second_taken)) if mine[1:] else 0)
    return pod.with_facet(COST, DeletionCost(ranks.cost, given=True))


def corrections(state: ClusterView, replicas: Collection[Replica]) -> list[Correction]:
    """Return what brings the ranks of a controller's pods in order, for as few pods as can be.

    In a domain with n pods each of the ranks 1 ... n is to be there once: pods with a higher one,
    with none, or with one that another has as well take those that are missing. O(its pods).
    """
    places: defaultdict[tuple[str, str], list[_Place]] = defaultdict(list)
    keys_of: dict[PodClass, list[str]] = {}
    for replica in replicas if len(replicas) <= MOST_REPLICAS else ():
        pod = state.pod(replica.key, replica.uid)
        if pod is None:
            continue
        keys = keys_of.get(pod.pod_class)
        if keys is None:
            keys = keys_of[pod.pod_class] = topologies(state, state.in_force(pod).pod_class)
        there = domains(keys, state.nodes.labels(replica.node))
        if there:
            second = there[1][1] if there[1:] else None
            is_bound = pod.node == replica.node
            places[there[0]].append(_Place(replica, Ranks.of(replica.cost), second, is_bound))
    return [each for of_domain in places.values() for each in _in_order(of_domain)]


def given_costs(state: ClusterView, pods: Iterable[Pod]) -> dict[Key, int]:
    """Return what pods would cost if costs were given, where that is another cost."""
    replicas: dict[Controller, list[Replica]] = {}
    for pod in pods:
        replica = None if pod.node is None else replica_of(pod, pod.node)
        if replica is not None and pod.controller is not None:
            replicas.setdefault(pod.controller, []).append(replica)
    found = (corrections(state, each) for each in replicas.values())
    return {each.pod.key: each.cost for changes in found for each in changes}


def _in_order(places: list[_Place]) -> Iterator[Correction]:
    in_order: dict[int, _Place] = {}
    others: list[_Place] = []
    # Of two with the same rank, the one that cannot be changed yet keeps it.
    for each in sorted(places, key=lambda each: (each.is_bound, each.replica.key)):
        if 0 < each.ranks.first <= len(places) and each.ranks.first not in in_order:
            in_order[each.ranks.first] = each
        else:
            others.append(each)
    if not others:
        return
    taken: defaultdict[str | None, set[int]] = defaultdict(set)
    for each in in_order.values():
        taken[each.second].add(each.ranks.second)
    seconds = {each.second: _free(taken[each.second]) for each in others}
    others.sort(key=lambda each: (each.ranks[::-1], each.replica.key))
    moved = [(0 if each.second is None else next(seconds[each.second]), each) for each in others]
    moved.sort(key=lambda each: (each[0], each[1].replica.key))
    for (second, (replica, *_, is_bound)), first in zip(moved, _free(in_order), strict=False):
        if is_bound:
            cost = Ranks(first, second).cost
            yield Correction(Identity(replica.key, replica.uid), replica.cost, cost)


def _free(taken: Collection[int]) -> Iterator[int]:
    """Yield the ranks that are free, the lowest first."""
    return (rank for rank in count(1) if rank not in taken)
