"""Every counter of the state again from scratch and at once, to compare the live ones with.

It goes by the pods, nodes and namespaces that the state knows. It shares no code with the program's
own audit: where both go by the same, they err alike.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import TypeAlias

from extender.core.cluster.counts.existing_term import Named, Role
from extender.core.cluster.counts.pod_sets import PodSet
from extender.core.cluster.counts.scope import Carried
from extender.core.cluster.state import ClusterState
from extender.core.model.node_resources import UsedPorts
from extender.core.model.objects import Pod, PodClass
from extender.core.model.pod_affinity import NO_AFFINITY

TableName: TypeAlias = Named | tuple[PodSet, str]
Tables: TypeAlias = dict[TableName, dict[str, int]]
"""Per table the non-zero counts by the domain's label value."""


def live(state: ClusterState) -> Tables:
    tables: Tables = {each.named: each.owners.by_value() for each in state.existing_terms}
    for counted in state.matching_sets:
        if counted.pending is None:
            tables[counted.name] = counted.table.by_value()
    return tables


def recount(state: ClusterState) -> Tables:
    """Return the counters as the pods, nodes and namespaces say; O(pods + classes x tables)."""
    placed: dict[PodClass, Counter[str]] = {}
    for pod in state.placed_pods:
        placed.setdefault(pod.pod_class, Counter())[pod.node or ""] += 1
    carried: dict[tuple[TableName, str], Counter[PodClass]] = {}
    for pod_class in placed:
        for named, weight in _carried_by(pod_class):
            weights = carried.setdefault((named, named[0].topology_key), Counter())
            weights[pod_class] += weight
    matched: dict[tuple[TableName, str], Counter[PodClass]] = {}
    for counted in state.matching_sets:
        if counted.pending is None:
            weigh, labels = counted.pod_set.weigh, state.namespace_labels
            weights = Counter({each: weigh(each, labels(each.namespace)) for each in placed})
            matched[counted.name, counted.table.topology.key] = weights
    return {
        name: _by_domain(state, placed, each, key)
        for (name, key), each in (*carried.items(), *matched.items())
    }


def _by_domain(
    state: ClusterState,
    placed: Mapping[PodClass, Mapping[str, int]],
    weights: Mapping[PodClass, int],
    key: str,
) -> dict[str, int]:
    """Add up what the pods of some classes weigh in each domain, zeros left out."""
    table: Counter[str] = Counter()
    for pod_class, weight in weights.items():
        for node, pods in placed[pod_class].items():
            domain = state.nodes.labels(node).get(key)
            if domain is not None:
                table[domain] += weight * pods
    return {domain: count for domain, count in table.items() if count}


def mismatches(state: ClusterState) -> list[TableName]:
    """Return the tables whose live counters differ from the recount; none in a sound state.

    A term without owners is as good as none.
    """
    counted, truth = live(state), recount(state)
    names = {**counted, **truth}
    wrong = [name for name in names if counted.get(name, {}) != truth.get(name, {})]
    for total in state.existing_terms.sums:
        if total.table.by_value() != _added(each.owners.by_value() for each in total.members):
            wrong += [each.named for each in total.members]
    return wrong


def _added(parts: Iterable[Mapping[str, int]]) -> dict[str, int]:
    added: Counter[str] = Counter()
    for each in parts:
        added.update(each)
    return {value: count for value, count in added.items() if count}


def room_mismatches(state: ClusterState) -> list[str]:
    """Return the nodes where more or less is in use than their pods request."""
    used: dict[str, Counter[str]] = {}
    ports: dict[str, UsedPorts] = {}
    for pod in state.placed_pods:
        node = pod.node or ""
        used.setdefault(node, Counter()).update(dict(pod.spec.requests))
        ports.setdefault(node, UsedPorts()).use(pod.spec.ports, 1)
    resources = state.node_resources
    return [
        node
        for node in {*resources.in_use, *used}
        if resources.used(node) != {name: n for name, n in used.get(node, {}).items() if n}
        or resources.ports(node) != ports.get(node, UsedPorts())
    ]


def nominated_mismatches(state: ClusterState) -> list[str]:
    """Return the uids of pods whose nomination is not held as it should be."""
    ledger = state.nominated
    truth = _by_uid(
        pod.judged_by(pod.status.judged)
        for pod in state.pods.values()
        if pod.node is None and pod.status.nominated is not None
    )
    shown, held = _by_uid(ledger.shown), _by_uid(ledger.pods)
    # What is expected may differ from what is shown, but nothing that is shown is forgotten.
    wrong = _differing(truth, shown) | (shown.keys() - held.keys())
    nodes = {pod.status.nominated or "" for pod in held.values()}
    there = (pod for node in nodes for pod in ledger.on(node) if pod.status.nominated == node)
    of_class = (pod for each in ledger.classes for pod in ledger.of_class(each))
    wrong |= _differing(held, _by_uid(there)) | _differing(held, _by_uid(of_class))
    return sorted(wrong)


def _by_uid(pods: Iterable[Pod]) -> dict[str, Pod]:
    return {pod.uid: pod for pod in pods}


def _differing(one: Mapping[str, Pod], other: Mapping[str, Pod]) -> set[str]:
    return {uid for uid in {*one, *other} if one.get(uid) != other.get(uid)}


def _carried_by(pod_class: PodClass) -> Iterable[tuple[Named, int]]:
    """Yield each term with its role, where it is written, and its weight."""
    added = NO_AFFINITY if pod_class.annotated is None else pod_class.annotated.added
    scope = Carried(pod_class.namespace, pod_class.later)
    for affinity, source in ((pod_class.of_spec.affinity, None), (added, scope)):
        yield from (((each, Role.REQUIRED, source), 1) for each in affinity.required)
        yield from (((each, Role.REQUIRED_ANTI, source), 1) for each in affinity.required_anti)
        for each in affinity.preferred:
            yield (each.term, Role.PREFERRED, source), each.weight
        yield from (((each, Role.LIMIT, source), 1) for each in affinity.limits)
