"""What controllers make in the place of pods that go, and when."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import Final, TypeAlias

from msgspec import structs

from affinityctl.reading.rollouts import MOST_DIGITS
from extender.core.model.keys import Key, key_of
from extender.core.model.labels import WRITTEN_AT_BIND
from extender.core.model.node_resources import Toleration
from extender.core.model.node_selection import NO_NODE_SELECTION, NodeRule, NodeTerm
from extender.core.model.objects import Pod, PodClass
from extender.core.model.workload import DAEMON_SET, STATEFUL_SET, STATIC, Identity

STAYING: Final = frozenset((DAEMON_SET, STATIC))
"""Controllers whose pods belong to their node, and are not made elsewhere."""
_KUBERNETES: Final = frozenset(("apps/v1", "v1", ""))
"""The versions of those that `kubectl drain` knows; "" where a manifest does not say."""


@dataclass(frozen=True, slots=True)
class KnownWorkload:
    """What the object of a workload says, where it is there."""

    labels: Collection[str] = ()
    """The keys of its template's labels."""
    replicas: int | None = None
    first: int = 0
    """Of a StatefulSet, the ordinal that it begins with."""
    in_order: bool = True
    """Of a StatefulSet: it makes a pod once those of lower ordinals are ready (OrderedReady)."""
    keeps_claims: bool = True
    """Of a StatefulSet: the claims of pods that go as it is scaled down stay (whenScaled)."""
    node: str | None = None
    """The node that its template names (spec.nodeName), whatever a scheduler would say."""
    tries_again: bool = True
    """Of a Job: it makes a pod in place of the next that is evicted or lost (backoffLimit)."""


KnownWorkloads: TypeAlias = Mapping[Identity, KnownWorkload]
UNKNOWN: Final = KnownWorkload()


def belongs_to_node(pod: Pod) -> bool:
    return pod.spec.owner is not None and pod.spec.owner.kind in STAYING


def is_of_stateful_set(pod: Pod) -> bool:
    return pod.spec.owner is not None and pod.spec.owner.kind == STATEFUL_SET


def is_drained(pod: Pod) -> bool:
    """Return whether `kubectl drain` evicts a pod.

    Pods of DaemonSets of other groups are evicted, though their controllers make them there again.
    """
    owner = pod.spec.owner
    others = owner is not None and owner.api_version not in _KUBERNETES
    return others or not belongs_to_node(pod)


def is_lost(pod: Pod, workload: KnownWorkload) -> bool:
    """Return whether a pod goes for good, and had not been deleted before."""
    for_good = pod.spec.owner is None or not workload.tries_again
    return for_good and not pod.status.deleting


def successor(pod: Pod, workload: KnownWorkload = UNKNOWN) -> Pod | None:
    """Return the pod that a controller makes once another is gone; None where none does.

    It has the other's name here, so that one can tell where it was. Controllers make a pod in place
    of one that is being deleted at once, so it is there already; a StatefulSet has to wait for the
    name.
    """
    if pod.spec.owner is None or belongs_to_node(pod) or not workload.tries_again:
        return None
    if is_of_stateful_set(pod):
        wanted = workload.replicas
        if wanted is not None and ordinal(pod) >= workload.first + wanted:
            return None
    elif pod.status.deleting:
        return None
    return structs.replace(made_by(workload, pod), uid=f"{pod.uid}'")


def made_by(workload: KnownWorkload, pod: Pod) -> Pod:
    """Return a pod as its workload made it."""
    made = as_made(pod, workload.labels)
    return made if workload.node is None else named_to(made, workload.node)


_UNASKED: Final = Toleration("", None, "NoSchedule")


def named_to(pod: Pod, node: str) -> Pod:
    """Return a pod whose spec.nodeName passes the scheduler by: the kubelet minds no NoSchedule."""
    asks = pod.spec.requirements
    asks = replace(asks, tolerations=(*asks.tolerations, _UNASKED))
    return structs.replace(kept_to(pod, node), spec=structs.replace(pod.spec, requirements=asks))


def ordinal(pod: Pod) -> int:
    """Return the number at the end of a StatefulSet's pod; 0 where there is none."""
    number = pod.key.rpartition("-")[2]
    return int(number) if number.isdecimal() and len(number) <= MOST_DIGITS else 0


def as_made(pod: Pod, kept: Collection[str] = ()) -> Pod:
    """Return a pod as its controller made it, before it had a node.

    `kept` are the labels of its template, where they are known.
    """
    labels = pod.pod_class.labels
    written = {each for each in WRITTEN_AT_BIND if each in labels and each not in kept}
    return structs.replace(
        pod.with_status(
            deleting=False, preempted=False, victim_of=None, ready=False, starting=False
        ),
        pod_class=_without(pod.pod_class, written) if written else pod.pod_class,
        node=None,
        started=None,
    )


def _without(of: PodClass, labels: Collection[str]) -> PodClass:
    return PodClass(
        of.namespace,
        {key: value for key, value in of.labels.items() if key not in labels},
        of.affinity,
        of.written,
        of.size,
        annotated=of.annotated,
        of_spec=None if of.of_spec is of else _without(of.of_spec, labels),
    )


def awaited(pod: Pod, known: KnownWorkload, pods: Mapping[str, Pod]) -> Key | None:
    """Return what a StatefulSet waits for before it makes a pod; O(its ordinal)."""
    owner = pod.spec.owner
    if owner is None or not (is_of_stateful_set(pod) and known.in_order):
        return None
    namespace = pod.pod_class.namespace
    lower = (key_of(namespace, f"{owner.name}-{n}") for n in range(known.first, ordinal(pod)))
    there = (pods.get(key) for key in lower)
    unready = (each for each in there if each and (each.status.deleting or not each.status.ready))
    return next((each.key for each in unready), None)


def kept_to(pod: Pod, node: str) -> Pod:
    """Return a pod that waits and may go to one node alone."""
    named = frozenset((node,))
    rule = NodeRule.required([NodeTerm(names=named)])
    affinity = replace(pod.node_selection or NO_NODE_SELECTION, required=rule, named=named)
    return structs.replace(pod, node=None, node_selection=affinity)
