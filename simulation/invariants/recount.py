"""Every counter of the state again from scratch and at once, to compare the live ones with.

A running program looks at a part at a time (`cluster/audits/recount.py`). Here is said once more
which terms are carried, and by whom: where both go by the same code, they err alike.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import TypeAlias

from extender.cluster.audits.ledgers import charges_of, use_of
from extender.cluster.audits.recount import (
    Placements,
    counting_by_domain,
    counting_owners,
    weights_of,
)
from extender.cluster.counts.annotation_scope import Scope
from extender.cluster.counts.existing_term import Named, Role
from extender.cluster.counts.pod_sets import PodSet
from extender.cluster.state import ClusterState
from extender.model.keys import namespace_of
from extender.model.objects import PodClass
from extender.model.pod_affinity import NO_AFFINITY
from extender.model.quota import Charge
from extender.model.stepping import at_once

TableName: TypeAlias = Named | tuple[PodSet, str]
Tables: TypeAlias = dict[TableName, dict[str, int]]
"""Per table the non-zero counts by the domain's label value."""


def live(state: ClusterState) -> Tables:
    """Return the counters as they stand."""
    held: dict[TableName, Counter[str]] = {}
    for existing in state.existing_terms:
        # Of what large rules have as well, the parts add up.
        held.setdefault(existing.named, Counter()).update(existing.by_value())
    tables: Tables = {
        name: {value: count for value, count in counts.items() if count}
        for name, counts in held.items()
    }
    for counted in state.matching_sets:
        if counted.pending is None:
            tables[counted.name] = counted.table.by_value()
    return tables


def recount(state: ClusterState) -> Tables:
    """Return the counters as the pods, nodes and namespaces say; O(pods + classes x tables)."""
    placements = _placements(state)
    existing = {named for pod_class in placements for named, _ in _carried_by(pod_class)}
    tables: Tables = {
        named: at_once(counting_owners(state, placements, named, _carried_by)) for named in existing
    }
    for counted in state.matching_sets:
        if counted.pending is None:
            weights = weights_of(state, placements, counted)
            key = counted.table.topology.key
            tables[counted.name] = at_once(counting_by_domain(state, placements, key, weights))
    return tables


def mismatches(state: ClusterState) -> list[TableName]:
    """Return the tables whose live counters differ from the recount; none in a sound state.

    A term that is about to be dropped, or taken up, has no owners, which is as good as none.
    """
    counted, truth = live(state), recount(state)
    names = {**counted, **truth}
    wrong = [name for name in names if counted.get(name, {}) != truth.get(name, {})]
    for total in state.existing_terms.sums:
        # Not the truth of each: large rules, which no sum counts, may have the same term.
        if total.table.by_value() != _added(each.by_value() for each in total.members):
            wrong += [each.named for each in total.members]
    return wrong


def _added(parts: Iterable[Mapping[str, int]]) -> dict[str, int]:
    added: Counter[str] = Counter()
    for each in parts:
        added.update(each)
    return {value: count for value, count in added.items() if count}


def quota_mismatches(state: ClusterState) -> list[str]:
    """Return the namespaces whose pods in scope, or use of quotas, differ from a recount."""
    truth = charges_of(state, state.placed_pods)
    namespaces = {*truth, *state.quotas.namespaces, *map(namespace_of, state.quotas)}
    wrong = [each for each in namespaces if not _quotas_agree(state, each, truth.get(each, {}))]
    total = sum(sum(charges.values()) for charges in truth.values())
    return wrong if wrong or total == state.quotas.pods else ["the sum of all namespaces"]


def _quotas_agree(state: ClusterState, namespace: str, truth: Mapping[Charge, int]) -> bool:
    if state.quotas.charges(namespace) != truth:
        return False
    return all(each.used == use_of(each.quota, truth) for each in state.quotas.of(namespace))


def _placements(state: ClusterState) -> Placements:
    placements: Placements = {}
    for pod in state.placed_pods:
        on_nodes = placements.setdefault(pod.pod_class, {})
        number = state.nodes.number_of(pod.node or "")
        on_nodes[number] = on_nodes.get(number, 0) + 1
    return placements


def _carried_by(pod_class: PodClass) -> Iterable[tuple[Named, int]]:
    """Yield each term with its role, where it is written, and its weight."""
    added = NO_AFFINITY if pod_class.annotated is None else pod_class.annotated.added
    scope = Scope(pod_class.namespace, pod_class.later)
    for affinity, source in ((pod_class.of_spec.affinity, None), (added, scope)):
        yield from (((each, Role.REQUIRED, source), 1) for each in affinity.required)
        yield from (((each, Role.REQUIRED_ANTI, source), 1) for each in affinity.required_anti)
        for each in affinity.preferred:
            yield (each.term, Role.PREFERRED, source), each.weight
        yield from (((each, Role.LIMIT, source), 1) for each in affinity.limits)
