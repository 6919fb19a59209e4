"""Whether the quotas of its namespace leave room for a pod with cross-namespace affinity."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import ClassVar

from extender.cluster.counts.nodes import NodeList
from extender.cluster.counts.topology import NO_DOMAIN
from extender.cluster.ledgers.quotas import QuotaInUse
from extender.cluster.state import ClusterState
from extender.model.objects import Pod, PodClass
from extender.model.quota import Charge
from extender.model.verdict import CROSS_NAMESPACE_POD_AFFINITY, Reason
from extender.verbs.interaction import Interaction
from extender.verbs.plugins import FilterResult


class Cause(Enum):
    """What is wrong between a pod and the quotas of its namespace."""

    EXCEEDED = "exceeded"
    """One more such pod would be beyond the limit."""
    UNSET = "unset"
    """A container leaves open how much it takes, where the quota counts that."""
    UNCOVERED = "uncovered"
    """No quota speaks of cross-namespace affinity, where such a one is needed."""


@dataclass(frozen=True, slots=True)
class Shortfall:
    """Why the quotas do not allow a pod."""

    cause: Cause
    quota: str | None = None
    """namespace/name of the quota; None when the lack of one is the cause."""
    resources: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class QuotaRule:
    """A quota that does not allow a pod, wherever it is to go."""

    shortfall: Shortfall
    reason: ClassVar[Reason] = Reason.QUOTA
    annotated: ClassVar[bool] = False

    def hits(self, asked: NodeList) -> Mapping[str, int]:
        """Return every node."""
        return dict.fromkeys(asked.names, NO_DOMAIN)


@dataclass(frozen=True, slots=True)
class CrossNamespacePodAffinity:
    """Quotas on pods with cross-namespace affinity; they refuse all nodes or none."""

    limited: bool = False
    """Such a pod needs a quota that allows it."""
    of_annotations: bool = False
    """Only pods that have it in an annotation alone, where the API server does not see it."""

    name: ClassVar[str] = CROSS_NAMESPACE_POD_AFFINITY
    compares_pods: ClassVar[bool] = False

    def concerns(self, state: ClusterState, pod: Pod) -> bool:
        """Return whether a pod is in scope."""
        return self._charge(state, pod) is not None

    def indeterminate(self, state: ClusterState, pod: Pod) -> str | None:
        """Say nothing: what a quota counts does not hang on where pods go."""
        del state, pod
        return None

    def filter(self, state: ClusterState, pod: Pod, asked: NodeList) -> FilterResult:
        """Refuse every node, or none."""
        if self._shortfall(state, pod) is None:
            return FilterResult(asked, ())
        return FilterResult(asked.only(()), ((Reason.QUOTA, asked.names),))

    def rules(self, state: ClusterState, pod: Pod) -> Iterator[QuotaRule]:
        """Yield the quota that does not allow the pod, or the lack of one."""
        found = self._shortfall(state, pod)
        if found is not None:
            yield QuotaRule(found)

    def _charge(self, state: ClusterState, pod: Pod) -> Charge | None:
        charge = state.in_force(pod).charge
        return None if charge is None or charge.by_annotation < self.of_annotations else charge

    def _shortfall(self, state: ClusterState, pod: Pod) -> Shortfall | None:
        if self._charge(state, pod) is None:
            return None
        return shortfall(state, pod, limited=self.limited)

    def interaction(
        self, state: ClusterState, pod: PodClass, other: PodClass
    ) -> Interaction | None:
        """Return None: where other pods are is no matter."""
        del state, pod, other
        return None

    def filter_beside(
        self, state: ClusterState, pod: Pod, asked: NodeList, others: Collection[Interaction]
    ) -> FilterResult:
        """Judge as without them: a pod that waits uses nothing of a quota yet."""
        del others
        return self.filter(state, pod, asked)


def shortfall(state: ClusterState, pod: Pod, *, limited: bool) -> Shortfall | None:
    """Return why a pod may not be placed, None when it may; O(quotas of the namespace).

    The pod has to be left out of the counts. With `limited`, cross-namespace affinity needs a quota
    that allows it.
    """
    charge = state.in_force(pod).charge
    if charge is None:
        return None
    return judge_charge(charge, state.quotas.of(pod.pod_class.namespace), limited=limited)


def judge_charge(
    charge: Charge, quotas: Iterable[QuotaInUse], *, limited: bool
) -> Shortfall | None:
    """Return why quotas do not allow a pod with this charge, None when they do."""
    covered = False
    for each in quotas:
        # As the API server sees it, a quota covers the scope even if other scopes of it keep it
        # from applying to this pod.
        covered = True
        if each.quota.applies_to(charge):
            found = _against(charge, each)
            if found is not None:
                return found
    return Shortfall(Cause.UNCOVERED) if limited and not covered else None


def _against(charge: Charge, in_use: QuotaInUse) -> Shortfall | None:
    quota, used = in_use.quota, in_use.used
    if unset := charge.unset.intersection(quota.hard):
        return Shortfall(Cause.UNSET, quota.key, tuple(sorted(unset)))
    # What a pod does not ask for is no matter, even where others have too much of it already.
    exceeded = [
        resource
        for resource, amount in charge.usage
        if resource in quota.hard and used.get(resource, 0) + amount > quota.hard[resource]
    ]
    return Shortfall(Cause.EXCEEDED, quota.key, tuple(exceeded)) if exceeded else None
