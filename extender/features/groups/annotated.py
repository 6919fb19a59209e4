"""Whether annotations have rules among the waiting members of a pod group.

kube-scheduler asks about all waiting members before it binds the first, and does not tell which
nodes it has in mind for those that it asked about before (schedule_one_podgroup.go). Its own
plugins see that. Rules in annotations, which they do not know, can be judged one by one unless
where one member goes decides about another.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TypeAlias

from extender.core.cluster.state import ClusterState
from extender.core.model.objects import Pod, PodClass
from extender.core.model.pod_affinity import Term
from extender.features.groups.ledger import members_of

_Owners: TypeAlias = Mapping[tuple[Term, ...], Sequence[str]]
"""Keys of the pods that require the same."""

MOST_PAIRS = 50_000
"""Pairs of a waiting member and a term of another one that are compared: some 40 ms. A term that
many members have counts once."""


def entangled(state: ClusterState, pod: Pod) -> str | None:
    """Say why a pod cannot be judged: required rules in annotations among its group's members.

    One that waits alone, all others being placed, is judged like any other pod. So are those that
    must be near each other once one of them is placed: it tells the others where to go.
    O(waiting members x distinct rules among them), once while nothing changes.
    """
    group = pod.spec.group
    if group is None:
        return None
    members = members_of(state)
    known = members.of(group).get(pod.key)
    if known is not None and known.node is None and known.pod_class == pod.pod_class:
        return members.found(group, lambda: _entangled(state, group, known))
    return _entangled(state, group, pod)


def _entangled(state: ClusterState, group: str, pod: Pod) -> str | None:
    others = (each for each in members_of(state).of(group).values() if each.node is None)
    classes = {each.key: each.pod_class for each in (*others, pod)}
    waiting: Mapping[str, PodClass] = {
        key: state.class_in_force(pod_class).by_annotation for key, pod_class in classes.items()
    }
    apart, near = _owners(waiting, anti=True), _owners(waiting, anti=False)
    terms = sum(map(len, (*apart, *near)))
    if len(waiting) == 1 or not terms:
        return None
    firsts = (waiting[owners[0]] for owners in near.values())
    if terms * len(waiting) > MOST_PAIRS or not all(map(state.prepares_at_once, firsts)):
        return f"the rules in annotations of pod group {group} take too long to compare"
    if not (_repel(state, apart, waiting) or _attract(state, near, waiting)):
        return None
    return (
        f"the pods of pod group {group} have required rules about one another in annotations, "
        "and the extender is not told where the pods of a group are about to go: put these rules "
        "into their specs"
    )


def _repel(state: ClusterState, apart: _Owners, waiting: Mapping[str, PodClass]) -> bool:
    return any(
        _speaks_of_another(state, owners, (term,), waiting)
        for rule, owners in apart.items()
        for term in rule
    )


def _attract(state: ClusterState, near: _Owners, waiting: Mapping[str, PodClass]) -> bool:
    """Return whether required affinity of one waiting pod could be met by another alone."""
    return any(
        _speaks_of_another(state, owners, rule, waiting)
        for rule, owners in near.items()
        if not any(table.counts for table in state.prefilter_state(waiting[owners[0]]).affinity)
    )


def _owners(waiting: Mapping[str, PodClass], *, anti: bool) -> _Owners:
    """Group pods by what they require: replicas require the same, whatever else they differ in."""
    owners: dict[tuple[Term, ...], list[str]] = {}
    for key, pod_class in waiting.items():
        affinity = pod_class.affinity
        rule: tuple[Term, ...] = affinity.required
        if anti:
            rule = (*affinity.required_anti, *affinity.limits)
        if rule:
            owners.setdefault(rule, []).append(key)
    return owners


def _speaks_of_another(
    state: ClusterState,
    owners: Iterable[str],
    terms: tuple[Term, ...],
    waiting: Mapping[str, PodClass],
) -> bool:
    """Return whether all of some terms match a waiting pod other than the one that carries them."""
    carriers = set(owners)
    matched = (
        key for key, other in waiting.items() if all(state.is_about(term, other) for term in terms)
    )
    return any(carriers != {key} for key in matched)
