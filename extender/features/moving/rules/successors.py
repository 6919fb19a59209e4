"""Pods that were moved, and those that their controllers make in their place."""

from __future__ import annotations

from dataclasses import dataclass

from extender.core.cluster.ledgers.ledger import Ledger
from extender.core.cluster.state import ClusterState
from extender.core.model.objects import Controller, Pod
from extender.core.model.workload import STATEFUL_SET


@dataclass(slots=True, eq=False)
class Succession:
    """A pod that was evicted so that its successor may be elsewhere."""

    pod: Pod
    """The pod that is evicted, or gone."""
    steered: bool = False
    """Whether only the nodes that suit the successor best get points: preferred rules moved it."""
    successor: Pod | None = None
    """The first pod that its controller has made since, as the watch showed it last."""
    turned_away: bool = False
    """Whether the successor was kept from a node that is no better once; it is not kept again."""

    def may_be(self, pod: Pod) -> bool:
        """Return whether another pod of the controller may be made in place of the one that goes.

        The pods of a StatefulSet keep their names, and one of a lower ordinal may come first.
        """
        owner = self.pod.spec.owner
        in_place = owner is None or owner.kind != STATEFUL_SET or pod.key == self.pod.key
        return in_place and pod.uid != self.pod.uid


class Successors(Ledger):
    """Expected successors; one at a time for each controller."""

    def __init__(self, state: ClusterState) -> None:
        self._state = state
        self._expected: dict[Controller, Succession] = {}
        self._likely: frozenset[Controller] = frozenset()
        """Controllers whose pods another replica may move at any moment, unannounced."""

    def __len__(self) -> int:
        return len(self._expected) + len(self._likely)

    def expects(self, pod: Pod) -> bool:
        """Return whether a pod that waits is the successor of one that was moved, or may be it."""
        if pod.controller in self._expected:
            return self.of(pod) is not None
        return pod.controller in self._likely

    def of(self, pod: Pod) -> Succession | None:
        """Return what a pod that waits is, or may be, the successor in, as far as is known here."""
        found = self._expected.get(pod.controller) if pod.controller is not None else None
        if found is None or not found.steered or not found.may_be(pod):
            return None
        is_other = found.successor is not None and found.successor.uid != pod.uid
        return None if is_other else found

    def expect(self, pod: Pod, *, steered: bool = True) -> Succession:
        """Note that a pod goes and its controller makes another one; ValueError without one.

        One that is `steered` goes for a better place by preferences.
        """
        if pod.controller is None:
            raise ValueError(f"nobody makes another {pod.key}")
        self._state.version += steered
        found = self._expected[pod.controller] = Succession(pod, steered)
        return found

    def expect_of(self, owners: frozenset[Controller]) -> None:
        """Note the controllers whose pods another replica may move at any moment."""
        self._state.version += owners != self._likely
        self._likely = owners

    def end(self, owner: Controller) -> None:
        """Note that nobody is expected of a controller any more."""
        self._expected.pop(owner, None)

    def shown(self, pod: Pod | None, before: Pod | None) -> None:
        """Take over a pod that is new or has changed."""
        if not self._expected or pod is None or pod.controller is None:
            return
        found = self._expected.get(pod.controller)
        if found is None:
            return
        known = found.successor
        is_new = (before is None or before.uid != pod.uid) and found.may_be(pod)
        if (known is None and is_new) or (known is not None and known.uid == pod.uid):
            found.successor = pod
