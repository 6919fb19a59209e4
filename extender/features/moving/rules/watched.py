"""What the watch over rules keeps: terms with their owners, who has changed, pods by controller."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from sys import maxsize
from typing import NamedTuple, TypeAlias

from extender.core.cluster.counts.pod_sets import KeyedSet
from extender.core.model.keys import Identity
from extender.core.model.labels import Labels
from extender.core.model.objects import Controller, Pod
from extender.core.model.pod_affinity import PodSelector
from extender.core.model.signed import shift
from extender.features.moving.rules.execution import ExecutionRule, RuleKind

Domain: TypeAlias = "str | None"
"""A label value; None where the node lacks the key."""


@dataclass(slots=True, eq=False)
class WatchedTerm:
    """A term that running pods carry, and where they are."""

    rule: ExecutionRule
    pods: KeyedSet
    """The pods that count, and by which key."""
    filed: PodSelector
    """One selector that finds those pods, the narrowest there is."""
    owners: dict[Domain, dict[str, Identity]] = field(default_factory=dict)
    """By domain and uid."""
    levels: dict[str, int] = field(default_factory=dict)
    """By domain, how many pods counted when that was looked at last, up to where more is alike."""

    @property
    def key(self) -> str:
        return self.pods[1]

    @property
    def enough(self) -> int:
        """Return from how many pods on more of them make no difference to any owner.

        One keeps affinity. With one, anti-affinity is broken for all but that pod itself. Beyond a
        limit, each one more may be who has to go.
        """
        if self.rule.most is not None:
            return maxsize
        return 1 if self.rule.kind is RuleKind.AFFINITY else 2


@dataclass(frozen=True, slots=True)
class WatchedPod:
    """A placed pod with its rules, as they were entered."""

    identity: Identity
    node: str
    rules: tuple[ExecutionRule, ...]
    at: tuple[tuple[WatchedTerm, Domain], ...]
    """Its terms, each with the domain that it is filed under."""
    conditions: int
    """Comparisons that it takes, at most, to judge the pod by them."""
    since: int
    """When the pod has come there or its rules have changed, as in `OwnChanges`."""


class Mark(NamedTuple):
    """Something has changed for the owners of a term in a domain."""

    watched: WatchedTerm
    domain: str


class PodsByOwner:
    """Pods counted by their controller, where that is read; O(1) for each event.

    A controller is told by its uid *and* the namespace of its pods (`Pod.controller`):
    anybody may write the uid of somebody else's controller into a pod.
    """

    def __init__(self) -> None:
        self._placed: dict[Controller, int] = {}
        self._ready: dict[Controller, int] = {}
        self._waiting: dict[Controller, int] = {}
        self._leaving: dict[Controller, int] = {}

    def __len__(self) -> int:
        return len(self._placed.keys() | self._waiting.keys() | self._leaving.keys())

    def placed(self, owner: Controller) -> int:
        """Return how many pods of a controller have a node, and are not on their way out."""
        return self._placed.get(owner, 0)

    def ready(self, owner: Controller) -> int:
        """Return how many placed pods of a controller are ready."""
        return self._ready.get(owner, 0)

    def unsettled(self, owner: Controller) -> bool:
        """Return whether a pod of a controller has no node yet, or is on its way out."""
        return owner in self._waiting or owner in self._leaving

    def count(self, pod: Pod, amount: int) -> None:
        """Count a pod that is known (1), or is not as it was any more (-1).

        One that an extender has marked as a victim is deleted next: it is on its way out.
        """
        controller = pod.controller
        if controller is None or pod.status.terminal:
            return
        counts = self._waiting if pod.node is None else self._placed
        if pod.status.deleting or pod.status.victim_of is not None:
            counts = self._leaving
        elif pod.status.ready:
            shift(self._ready, controller, amount)
        shift(counts, controller, amount)


class OwnChanges:
    """When each object has changed last, in looks; 0 for what nobody has seen change.

    Two pods that exclude each other were apart once; one of them has come to the other, or was
    edited, or an operator has moved a node between topology domains. Which of these came last can
    be told for what was seen to happen, and is unknown for what was there before.

    What changes between two looks is taken for simultaneous. A label of a pod or a namespace is its
    own; another value of a label of a node is an operator's act. O(objects that changed).
    """

    def __init__(self) -> None:
        self.now = 0
        """The number of this look."""
        self._pods: dict[str, int] = {}
        self._namespaces: dict[str, int] = {}
        self._nodes: dict[str, dict[str, int]] = {}
        self._entered: dict[str, dict[str, int]] = {}
        """When nodes that had no value of a key got one."""

    def __len__(self) -> int:
        known = (self._pods, self._namespaces, self._nodes, self._entered)
        return sum(len(each) for each in known)

    def look(self) -> None:
        """Begin the next look. Before the first one, nothing is remembered."""
        self.now += 1

    def pod(self, pod: Pod, before: Pod | None) -> None:
        if before is not None and before.uid != pod.uid:
            self.forget_pod(before.uid)
            before = None
        if pod.status.terminal or pod.node is None:
            self.forget_pod(pod.uid)
            return
        if before is not None and before.node is not None:
            old, new = before.pod_class, pod.pod_class
            if old is new or old.labels == new.labels:
                return
        if self.now:
            self._pods[pod.uid] = self.now

    def forget_pod(self, uid: str) -> None:
        self._pods.pop(uid, None)

    def namespace(self, name: str, *, known: bool) -> None:
        if not known:
            self._namespaces.pop(name, None)
        elif self.now:
            self._namespaces[name] = self.now

    def node(self, name: str, keys: Iterable[str], before: Labels) -> None:
        """Note that a node has other values of some keys than before."""
        for key in keys if self.now else ():
            changes = self._nodes if key in before else self._entered
            changes.setdefault(name, {})[key] = self.now

    def forget_node(self, name: str) -> None:
        self._nodes.pop(name, None)
        self._entered.pop(name, None)

    def of_pod(self, pod: Pod, key: str) -> int:
        """Return when a pod has come to its domain, or has got its labels, or its namespace has.

        With a node that is new or had no value of `key`, its pods come: whoever may create pods
        can have them on such a node before it is in any domain.
        """
        return max(
            self._pods.get(pod.uid, 0),
            self._namespaces.get(pod.pod_class.namespace, 0),
            self._entered.get(pod.node or "", {}).get(key, 0),
        )

    def of_node(self, name: str | None, key: str) -> int:
        return 0 if name is None else self._nodes.get(name, {}).get(key, 0)
