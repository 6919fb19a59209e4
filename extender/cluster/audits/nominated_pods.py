"""The nominated pods again from scratch, to compare the live ledger with."""

from __future__ import annotations

from collections.abc import Iterable

from extender.cluster.view import ClusterView
from extender.model.objects import Pod


def nominated_mismatches(state: ClusterView) -> list[str]:
    """Return the uids of pods whose nomination is not held as it should be; O(pods)."""
    ledger = state.nominated
    waiting = [
        pod.judged_by(pod.judged)
        for pod in state.pods.values()
        if pod.node is None and pod.nominated is not None
    ]
    truth, shown = _by_uid(waiting), _by_uid(ledger.shown)
    wrong = {uid for uid in truth.keys() | shown.keys() if truth.get(uid) != shown.get(uid)}
    held = _by_uid(ledger.pods)
    of_class = _by_uid(pod for each in ledger.classes for pod in ledger.of_class(each))
    nodes = {str(pod.nominated) for pod in held.values()}
    on = _by_uid(pod for node in nodes for pod in ledger.on(node) if pod.nominated == node)
    for index in (of_class, on):
        wrong |= {uid for uid in held | index if held.get(uid) != index.get(uid)}
    # What is expected may differ from what is shown, but nothing that is shown is forgotten.
    return sorted(wrong | (shown.keys() - held.keys()))


def _by_uid(pods: Iterable[Pod]) -> dict[str, Pod]:
    return {pod.uid: pod for pod in pods}
