"""The placed pods of each controller, and the deletion costs that they have from us."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import chain, islice
from typing import Final, NamedTuple

from extender.core.cluster.ledgers.ledger import Ledger
from extender.core.cluster.view import ClusterView
from extender.core.model.keys import Key
from extender.core.model.labels import Labels
from extender.core.model.objects import Controller, Pod
from extender.core.model.signed import shift
from extender.core.model.workload import DAEMON_SET, JOB, STATEFUL_SET, STATIC
from extender.features.scale_down.cost import COST

NOT_BY_COST: Final = frozenset((STATEFUL_SET, DAEMON_SET, JOB, STATIC))
"""The kinds that do not look at deletion costs. ReplicaSets do, and others than Kubernetes' may."""
AUDITED_PODS: Final = 1_000
"""Pods, or replicas, that are compared in one step of the audit."""


class Replica(NamedTuple):
    """A placed pod among those of its controller."""

    key: Key
    uid: str
    node: str
    cost: int | None
    """None where it has none yet."""


class Replicas(Ledger):
    """Pods with rules about other pods that are deleted by cost, by controller.

    A controller is told as in `PodsByOwner`. Pods that are on their way out do not count, and
    those with a cost of their user's own are none of ours. O(1) for each event; some 150 bytes a
    pod.
    """

    def __init__(self, state: ClusterView) -> None:
        self.state: Final = state
        self._in: dict[str, dict[Controller, dict[Replica, int]]] = {}
        """By namespace."""
        self._changed: dict[Controller, None] = {}

    def __iter__(self) -> Iterator[Controller]:
        return chain.from_iterable(self._in.values())

    def of(self, controller: Controller) -> Mapping[Replica, int]:
        """Return the pods of a controller; a reserved one for each node that it may turn up on."""
        return self._in.get(controller.namespace, _NOBODY).get(controller, {})

    def placed(self, pod: Pod, node: str, sign: int) -> None:
        """Count a pod that is placed (1), or is not as it was any more (-1).

        0 changes no count: the pod's node is in other domains now.
        """
        replica, controller = replica_of(pod, node), pod.controller
        if replica is not None and controller is not None:
            beside = self._in.setdefault(controller.namespace, {})
            replicas = beside.setdefault(controller, {})
            shift(replicas, replica, sign)
            self._changed[controller] = None
            if not replicas:
                del beside[controller], self._changed[controller]
            if not beside:
                del self._in[controller.namespace]

    def relabelled(self, node: str, before: Labels) -> None:
        """Note the controllers of the pods on a node that is in other domains now."""
        if self.state.nodes.moves(node, before):
            for pod in self.state.pods_on(node):
                self.placed(pod, node, 0)

    def rematched(self, namespace: str, before: Labels | None, *, scope: bool) -> None:
        """Note the controllers of a namespace: terms may be about other pods of theirs."""
        del scope
        if before is not None:
            self.note_all(namespace)

    def take_changed(self) -> Iterator[Controller]:
        """Take the controllers whose pods or domains have changed since they were taken last."""
        while self._changed:
            yield self._changed.popitem()[0]

    def note_all(self, namespace: str | None = None) -> None:
        """Take the pods of every controller (of a namespace) for changed; O(those)."""
        every = self if namespace is None else self._in.get(namespace, _NOBODY)
        self._changed.update(dict.fromkeys(every))

    def audit(self) -> Iterator[str | None]:
        """Look for each placed pod among its controller's, and the other way round."""
        for key in self.mismatches():
            yield None if key is None else f"{key} among the pods of its controller"

    def mismatches(self) -> Iterator[str | None]:
        """Yield the pods that are not known as they are, after each step one or None."""
        state = self.state
        keys = iter(list(state.pods))
        while some := list(islice(keys, AUDITED_PODS)):
            placed = (state.pods[key] for key in some if key in state.pods)
            yield next((pod.key for pod in placed if not self._knows(pod)), None)
        reserved = (each.pod for each in state.reservations)
        yield next((pod.key for pod in reserved if not self._knows(pod)), None)
        known = ((owner, each) for owner in list(self) for each in list(self.of(owner)))
        while pairs := list(islice(known, AUDITED_PODS)):
            gone = (
                each.key
                for owner, each in pairs
                if each in self.of(owner) and not self._is_placed(owner, each)
            )
            yield next(gone, None)

    def _knows(self, pod: Pod) -> bool:
        owner, node = pod.controller, pod.node
        replica = None if node is None else replica_of(pod, node)
        return replica is None or owner is None or replica in self.of(owner)

    def _is_placed(self, owner: Controller, replica: Replica) -> bool:
        known = self.state.pod(replica.key, replica.uid)
        reserved = [each.pod for each in self.state.reservations.of(replica.key, replica.uid)]
        pods = reserved if known is None or known.node is None else [known, *reserved]
        there = [each for each in pods if each.controller == owner and each.node == replica.node]
        number = sum(replica_of(each, replica.node) == replica for each in there)
        return self.of(owner)[replica] == number


_NOBODY: Final[Mapping[Controller, Mapping[Replica, int]]] = {}


def replica_of(pod: Pod, node: str) -> Replica | None:
    """Return how a pod counts on a node; None when it does not."""
    owner, cost = pod.spec.owner, pod.facet(COST)
    if owner is None or owner.kind in NOT_BY_COST or pod.status.deleting or pod.status.terminal:
        return None
    if not len(pod.pod_class.affinity) or (cost is not None and not cost.given):
        return None
    return Replica(pod.key, pod.uid, node, None if cost is None else cost.value)
