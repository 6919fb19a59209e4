"""Whether the pods of a pod group can be judged one by one.

kube-scheduler asks about all waiting pods of a group before it binds the first, and does not tell
which nodes it has in mind for those that it asked about before (schedule_one_podgroup.go). That is
no harm unless one of them has to do with where another one goes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TypeAlias

from extender.core.cluster.state import ClusterState
from extender.core.model.objects import Pod, PodClass
from extender.core.model.pod_affinity import Term

MOST_PAIRS = 200_000
"""Pairs of a waiting pod and a term of another one that are compared: tens of milliseconds, as the
replicas of a workload count once."""


View: TypeAlias = Callable[[PodClass], PodClass]
"""Makes of a class the one with the rules that are looked at."""


def whole(pod_class: PodClass) -> PodClass:
    return pod_class


def entangled(state: ClusterState, pod: Pod, view: View = whole) -> str | None:
    """Say why a pod cannot be judged: required rules among the waiting pods of its group.

    A pod that waits alone, all others of its group being placed, is judged like any other. So are
    pods that must be near each other once one of them is placed: it tells the others where to go.
    O(waiting pods of the group x distinct rules among them).
    """
    if pod.spec.group is None:
        return None
    classes = {pod.key: pod.pod_class, **state.waiting_in_group(pod.spec.group)}
    waiting = {key: view(pod_class) for key, pod_class in classes.items()}
    terms = sum({id(each): len(each.affinity) for each in waiting.values()}.values())
    if len(waiting) > 1 and (terms * len(waiting) > MOST_PAIRS or _takes_long(state, waiting)):
        group = pod.spec.group
        return f"the affinity rules of the pods of pod group {group} take too long to compare"
    if len(waiting) == 1 or not (_repel(state, waiting) or _attract(state, waiting)):
        return None
    return (
        f"the pods of pod group {pod.spec.group} have required rules about one another, "
        "and the extender is not told where the pods of a group are about to go"
    )


def _takes_long(state: ClusterState, waiting: Mapping[str, PodClass]) -> bool:
    return not all(
        state.prepares_at_once(each) for each in waiting.values() if each.affinity.required
    )


def _repel(state: ClusterState, waiting: Mapping[str, PodClass]) -> bool:
    return any(
        _speaks_of_another(state, owners, (term,), waiting)
        for rule, owners in _owners(waiting, anti=True).items()
        for term in rule
    )


def _attract(state: ClusterState, waiting: Mapping[str, PodClass]) -> bool:
    """Return whether required affinity of one waiting pod could be met by another alone."""
    return any(
        _speaks_of_another(state, owners, rule, waiting)
        for rule, owners in _owners(waiting, anti=False).items()
        if not any(table.counts for table in state.prefilter_state(waiting[owners[0]]).affinity)
    )


def _owners(waiting: Mapping[str, PodClass], *, anti: bool) -> Mapping[tuple[Term, ...], list[str]]:
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
