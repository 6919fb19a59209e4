"""Nominations and the columns of node affinity again from scratch, to compare with."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import Final

from extender.core.cluster.state import ClusterState
from extender.core.model.objects import Pod

AUDITED_PODS: Final = 5_000
"""Of one step: some milliseconds."""
AUDITED_CONDITIONS = 20_000
"""Conditions of one step: some tens of milliseconds."""


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
    for column in list(state.node_columns):
        names = iter(list(state.nodes))
        judge, labels = column.rule.judge, state.nodes.labels
        batch = max(1, AUDITED_CONDITIONS // column.rule.conditions)
        while (some := list(islice(names, batch))) and state.node_rules.keeps(column):
            there = (name for name in some if name in state.nodes)
            wrong = (each for each in there if column.of(each) != judge(each, labels(each)))
            first = next(wrong, None)
            yield None if first is None else f"node affinity on {first}"
