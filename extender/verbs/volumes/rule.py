"""One thing about a pod's volumes for which nodes are refused."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from extender.cluster.counts.nodes import NodeList
from extender.cluster.state import ClusterState
from extender.model.objects import Pod
from extender.model.verdict import Reason
from extender.verbs.filtering import holding
from extender.verbs.rules import Rule

Allows: TypeAlias = Callable[[str], bool]
"""Whether one thing about a node, by its name, suits the volumes of the pod."""


@dataclass(slots=True, eq=False)
class VolumeRule(Rule):
    """One thing that a node may lack for a pod's volumes."""

    reason: Reason
    allows: Allows
    what: str
    event: str = ""
    of_node = True
    looks = 9

    def __post_init__(self) -> None:
        self.event = self.event or self.reason.value

    def split(self, asked: NodeList) -> tuple[NodeList, Sequence[str]]:
        """Return the nodes that have it, and the names of those that lack it."""
        hit = [name for name in asked.names if not self.allows(name)]
        return asked.without(hit), hit


def nowhere(node: str) -> bool:
    """Allow no node."""
    del node
    return False


def unless(before: Sequence[VolumeRule]) -> Allows:
    """Refuse all nodes but those that are refused before: the plugin says one thing of a node."""
    return lambda node: not all(each.allows(node) for each in before)


def nominated(state: ClusterState, pod: Pod, node: str) -> Sequence[Pod]:
    """Return the pods nominated to a node that the pod has to leave their places."""
    return holding(state, pod, node) if state.nominated else ()
