"""Pods that the scheduler preempts for: their nomination is the scheduler's, not ours.

A hint and a preemption write the same field, status.nominatedNodeName. When both name the same
node, the scheduler patches nothing, because the field already says what it wants to say: from
kube-scheduler's updatePod, which compares with its own copy of the pod. Nothing in the object then
tells the two apart, and whoever removed the field would make the scheduler look for other victims.
But it asks /preempt first: before it evicts anybody and before it nominates.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Collection
from dataclasses import dataclass

from extender.model.objects import Pod

CLAIM_SECONDS = 30.0
"""From the answer to /preempt until we may point the pod somewhere again. By then the scheduler has
asked for all evictions, or has failed to, and the watch has shown its nomination."""
MOST_CLAIMS = 1024
"""Pods remembered. A claim that was forgotten early is still covered by the victims that are on
their way out, and by the test in every patch."""


@dataclass(frozen=True, slots=True)
class _Claim:
    pod: Pod
    nodes: frozenset[str]
    until: float


class Claims:
    """Remembers which pods /preempt was answered for, and the nodes that it was answered."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._claims: OrderedDict[str, _Claim] = OrderedDict()

    def __len__(self) -> int:
        return len(self._claims)

    def add(self, pod: Pod, nodes: Collection[str]) -> None:
        """Note that the scheduler is about to nominate one of these nodes for a pod."""
        self._claims.pop(pod.uid, None)
        self._claims[pod.uid] = _Claim(pod, frozenset(nodes), self._clock() + CLAIM_SECONDS)
        while len(self._claims) > MOST_CLAIMS or self._oldest_is_over():
            self._claims.popitem(last=False)

    def until(self, uid: str) -> float | None:
        """Return when a pod may be pointed somewhere again, None when it may be now."""
        claim = self._claims.get(uid)
        return None if claim is None or claim.until <= self._clock() else claim.until

    def outranks(self, pod: Pod, node: str) -> bool:
        """Tell whether a more important pod is about to be nominated for a node.

        The scheduler then clears the nominations of less important ones there.
        """
        now = self._clock()
        return any(
            claim.until > now and node in claim.nodes and claim.pod.priority > pod.priority
            for claim in self._claims.values()
        )

    def _oldest_is_over(self) -> bool:
        return next(iter(self._claims.values())).until <= self._clock()
