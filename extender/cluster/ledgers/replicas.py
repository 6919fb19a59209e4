"""The placed pods of each controller, and the deletion costs that they have from us."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import chain
from typing import Final, NamedTuple

from extender.model.keys import Key
from extender.model.objects import Controller, Pod
from extender.model.signed import shift
from extender.model.workload import NOT_BY_COST


class Replica(NamedTuple):
    """A placed pod among those of its controller."""

    key: Key
    uid: str
    node: str
    cost: int | None
    """None where it has none yet."""


class Replicas:
    """Pods with rules about other pods that are deleted by cost, by controller.

    A controller is told as in `PodsByOwner`. Pods that are on their way out do not count, and
    those with a cost of their user's own are none of ours. O(1) for each event; some 150 bytes a
    pod.
    """

    def __init__(self) -> None:
        self._in: dict[str, dict[Controller, dict[Replica, int]]] = {}
        """By namespace."""
        self._changed: dict[Controller, None] = {}

    def __iter__(self) -> Iterator[Controller]:
        return chain.from_iterable(self._in.values())

    def of(self, controller: Controller) -> Mapping[Replica, int]:
        """Return the pods of a controller; a reserved one for each node that it may turn up on."""
        return self._in.get(controller.namespace, _NOBODY).get(controller, {})

    def count(self, pod: Pod, node: str, amount: int) -> None:
        """Count a pod that is placed (1), or is not as it was any more (-1).

        0 changes no count: the pod's node is in other domains now.
        """
        replica, controller = replica_of(pod, node), pod.controller
        if replica is not None and controller is not None:
            beside = self._in.setdefault(controller.namespace, {})
            replicas = beside.setdefault(controller, {})
            shift(replicas, replica, amount)
            self._changed[controller] = None
            if not replicas:
                del beside[controller], self._changed[controller]
            if not beside:
                del self._in[controller.namespace]

    def take_changed(self) -> Iterator[Controller]:
        """Take the controllers whose pods or domains have changed since they were taken last."""
        while self._changed:
            yield self._changed.popitem()[0]

    def note_all(self, namespace: str | None = None) -> None:
        """Take the pods of every controller (of a namespace) for changed; O(those)."""
        every = self if namespace is None else self._in.get(namespace, _NOBODY)
        self._changed.update(dict.fromkeys(every))


_NOBODY: Final[Mapping[Controller, Mapping[Replica, int]]] = {}


def replica_of(pod: Pod, node: str) -> Replica | None:
    """Return how a pod counts on a node; None when it does not."""
    owner, cost = pod.spec.owner, pod.status.deletion_cost
    if owner is None or owner.kind in NOT_BY_COST or pod.status.deleting or pod.status.terminal:
        return None
    if not len(pod.pod_class.affinity) or (cost is not None and not cost.given):
        return None
    return Replica(pod.key, pod.uid, node, None if cost is None else cost.value)
