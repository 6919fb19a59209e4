"""What controllers do not do for a pod: make it before its turn, or make it anew."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from affinityctl.reading.strategies import PARALLEL, rollout
from extender.core.cluster.state import ClusterState
from extender.core.model.keys import key_of, name_of
from extender.core.model.objects import Pod
from extender.core.model.workload import STATEFUL_SET, Identity
from extender.core.verbs.plugins import Unknown
from extender.diagnosis.verbs.filters import ORDER, PAUSED
from extender.diagnosis.verbs.waiting import is_not_made
from extender.diagnosis.wire.workloads import Workload

_REVISION: Final = "controller-revision-hash"


def not_made(
    state: ClusterState, pod: Pod, workloads: Mapping[Identity, Workload]
) -> Iterator[Unknown]:
    """Say why the controller of a pod does not make it, of what manifests tell; O(pods)."""
    of = pod.workload
    workload = None if of is None else workloads.get(of)
    if of is None or workload is None or not is_not_made(pod):
        return
    if of.kind == STATEFUL_SET and workload.spec.podManagementPolicy != PARALLEL:
        for before in range(workload.start, _ordinal(pod)):
            key = key_of(of.namespace, f"{of.name}-{before}")
            first = state.pods.get(key)
            if first is None or not first.status.ready:
                yield Unknown(ORDER, f"waits until {key} is ready")
                return
    if workload.spec.paused:
        there = (each for each in state.pods.values() if each.workload == of)
        if all(map(is_not_made, there)):
            yield Unknown(PAUSED, f"{of.kind} {of.name} is paused")


def is_superseded(pod: Pod, workloads: Mapping[Identity, Workload]) -> bool:
    """Return whether the StatefulSet of a pod that waits has another template by now.

    With podManagementPolicy OrderedReady its controller waits for the pod to be ready before it
    replaces it (updateStatefulSet of stateful_set_control.go).
    """
    of = pod.workload
    workload = None if of is None else workloads.get(of)
    if workload is None or workload.identity.kind != STATEFUL_SET or pod.node is not None:
        return False
    now, own = workload.status.updateRevision, pod.pod_class.labels.get(_REVISION)
    how = rollout(workload, 1)
    return how.in_order and _ordinal(pod) >= how.partition and None not in {now, own} and now != own


def _ordinal(pod: Pod) -> int:
    """Return the number of a StatefulSet's pod; 0 of a template's, which has none."""
    number = name_of(pod.key).rpartition("-")[2]
    return int(number) if number.isdecimal() else 0
