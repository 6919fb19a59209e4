"""Quotas, nominations and the columns of node affinity again from scratch, to compare with."""

from __future__ import annotations

from collections import Counter
from collections.abc import Generator, Iterable, Iterator, Mapping
from itertools import islice
from typing import Final

from extender.cluster.state import ClusterState
from extender.model.keys import namespace_of
from extender.model.objects import Pod
from extender.model.quota import Charge, ResourceQuota

AUDITED_PODS: Final = 5_000
"""Of one step: some milliseconds."""
AUDITED_CHARGES: Final = 10_000
"""That are compared with a quota in one step, likewise."""
MOST_DOUBTFUL: Final = 100
"""Namespaces that are counted once more in a round; those of a busy cluster change meanwhile."""
AUDITED_CONDITIONS = 20_000
"""Conditions of one step: some tens of milliseconds."""


def audit_quotas(state: ClusterState) -> Iterator[str | None]:
    """Recount the use of quotas in steps between which the state may change, some pods at a time.

    A namespace that does not agree may have changed meanwhile, so it is counted once more, in one
    step, O(pods) with little for each. Of several that are wrong, one is told.
    """
    counted = yield from _counting(state)
    wrong = yield from _wrong_charges(state, counted)
    wrong += yield from _wrong_uses(state)
    total = sum(sum(state.quotas.charges(each).values()) for each in state.quotas.namespaces)
    if total != state.quotas.pods:
        wrong.append("the sum of all namespaces")
    yield f"quotas of {wrong[0]}" if wrong else None


def _counting(state: ClusterState) -> Generator[None, None, dict[str, Counter[Charge]]]:
    counted: dict[str, Counter[Charge]] = {}
    # A list of a million takes a few milliseconds; to look at each takes a hundred.
    pods = iter([*state.pods.values(), *(each.pod for each in state.reservations)])
    while some := list(islice(pods, AUDITED_PODS)):
        _count(state, (pod for pod in some if pod.node is not None), counted)
        if len(some) == AUDITED_PODS:
            yield
    return counted


def _wrong_charges(
    state: ClusterState, counted: Mapping[str, Mapping[Charge, int]]
) -> Generator[None, None, list[str]]:
    """Return the namespaces whose pods in scope are not those that there are."""
    quotas, wrong = state.quotas, []
    doubtful = (
        each
        for each in {*counted, *quotas.namespaces}
        if quotas.charges(each) != counted.get(each, {})
    )
    for namespace in list(islice(doubtful, MOST_DOUBTFUL)):
        yield
        there = (each for each in state.placed_pods if each.pod_class.namespace == namespace)
        if quotas.charges(namespace) != charges_of(state, there).get(namespace, {}):
            wrong.append(namespace)
    return wrong


def _wrong_uses(state: ClusterState) -> Generator[None, None, list[str]]:
    """Return the namespaces with quotas of which less or more is in use than by their pods."""
    wrong, compared = [], 0
    for key in list(state.quotas):
        quota, namespace = state.quotas.get(key), namespace_of(key)
        charges = state.quotas.charges(namespace)
        if quota is not None and state.quotas.used(key) != use_of(quota, charges):
            wrong.append(namespace)
        compared += 1 + len(charges)
        if compared >= AUDITED_CHARGES:
            yield
            compared = 0
    return wrong


def use_of(quota: ResourceQuota, charges: Mapping[Charge, int]) -> dict[str, int]:
    """Return what pods with these charges use of a quota, zeros left out."""
    total: Counter[str] = Counter()
    for charge, pods in charges.items():
        if quota.applies_to(charge):
            total.update({name: pods * amount for name, amount in charge.usage})
    return {name: amount for name, amount in total.items() if name in quota.hard and amount}


def charges_of(state: ClusterState, pods: Iterable[Pod]) -> dict[str, Counter[Charge]]:
    """Count pods in scope by namespace and by what they are charged for."""
    charges: dict[str, Counter[Charge]] = {}
    _count(state, pods, charges)
    return charges


def _count(state: ClusterState, pods: Iterable[Pod], charges: dict[str, Counter[Charge]]) -> None:
    for pod in pods:
        charge = pod.spec.charge
        if charge is not None and state.in_force(pod).spec.charge is not None:
            charges.setdefault(pod.pod_class.namespace, Counter())[charge] += 1


def audit_nominated(state: ClusterState) -> Iterator[str | None]:
    """Look for pods whose nomination is not held as it should be, some pods at a time."""
    found: set[str] = set()
    pods = iter(list(state.pods.values()))
    while some := list(islice(pods, AUDITED_PODS)):
        found.update(
            pod.key for pod in some if pod.node is None and pod.status.nominated is not None
        )
        if len(some) == AUDITED_PODS:
            yield None
    # Those that have come meanwhile are known to wait.
    now = {key: state.pods[key] for key in found if key in state.pods}
    wrong = nominated_mismatches(state, {**now, **{each.key: each for each in state.waiting_pods}})
    yield "nominated pods" if wrong else None


def nominated_mismatches(state: ClusterState, pods: Mapping[str, Pod] | None = None) -> list[str]:
    """Return the uids of pods whose nomination is not held as it should be, of all or some."""
    ledger = state.nominated
    waiting = [
        pod.judged_by(pod.status.judged)
        for pod in (state.pods if pods is None else pods).values()
        if pod.node is None and pod.status.nominated is not None
    ]
    truth, shown = _by_uid(waiting), _by_uid(ledger.shown)
    wrong = {uid for uid in truth.keys() | shown.keys() if truth.get(uid) != shown.get(uid)}
    held = _by_uid(ledger.pods)
    of_class = _by_uid(pod for each in ledger.classes for pod in ledger.of_class(each))
    nodes = {str(pod.status.nominated) for pod in held.values()}
    on = _by_uid(pod for node in nodes for pod in ledger.on(node) if pod.status.nominated == node)
    for index in (of_class, on):
        wrong |= {uid for uid in held | index if held.get(uid) != index.get(uid)}
    # What is expected may differ from what is shown, but nothing that is shown is forgotten.
    return sorted(wrong | (shown.keys() - held.keys()))


def _by_uid(pods: Iterable[Pod]) -> dict[str, Pod]:
    return {pod.uid: pod for pod in pods}


def audit_columns(state: ClusterState) -> Iterator[str | None]:
    """Compare each column with its rule, some nodes at a time; yield what each step found."""
    for column in list(state.node_rules):
        names = iter(list(state.nodes))
        judge, labels = column.rule.judge, state.nodes.labels
        batch = max(1, AUDITED_CONDITIONS // column.rule.conditions)
        while (some := list(islice(names, batch))) and state.node_rules.keeps(column):
            there = (name for name in some if name in state.nodes)
            wrong = (each for each in there if column.of(each) != judge(each, labels(each)))
            first = next(wrong, None)
            yield None if first is None else f"node affinity on {first}"
