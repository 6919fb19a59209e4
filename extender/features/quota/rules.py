"""Whether the quotas of its namespace leave room for a pod with cross-namespace affinity."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import ClassVar

from extender.core.cluster.state import ClusterState
from extender.core.model.objects import Pod
from extender.core.model.pod_affinity import Term
from extender.core.model.verdict import AnyReason
from extender.core.model.wording import short, some
from extender.core.verbs.plugins import FilterPlugin
from extender.core.verbs.rules import Refusal, Rule
from extender.features.quota.ledger import QuotaInUse, charge_in_force, quotas_of
from extender.features.quota.quotas import CROSS_NAMESPACE, Charge


class QuotaReason(AnyReason):
    """Why a quota refuses nodes."""

    QUOTA = "namespace quota doesn't allow cross-namespace pod affinity"

    @property
    def may_pass(self) -> bool:
        """Pods that go leave the quota to others, though none is evicted for that."""
        return True

    @property
    def plugin(self) -> str:
        """Return the plugin's name."""
        return CROSS_NAMESPACE


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
    cause: Cause
    quota: str | None = None
    """namespace/name of the quota; None when the lack of one is the cause."""
    resources: tuple[str, ...] = ()

    def __str__(self) -> str:
        resources = ", ".join(self.resources)
        match self.cause:
            case Cause.EXCEEDED:
                return f"quota {self.quota} has no room for more {resources}"
            case Cause.UNSET:
                return f"quota {self.quota} needs {resources} set for every container"
            case Cause.UNCOVERED:
                return "no quota allows affinity across namespaces"


@dataclass(slots=True, eq=False)
class QuotaRule(Rule):
    """A quota that does not allow a pod, wherever it is to go."""

    what: str
    terms_in_scope: Sequence[str] = ()
    """For which of its terms the pod counts, in words, as far as they tell."""
    reason = QuotaReason.QUOTA
    advice = (
        "Have the quota raised, or leave namespaces and namespaceSelector out of the terms of the "
        "pod, preferred ones too"
    )

    def statement(self, refusal: Refusal) -> str:
        told = Rule.statement(self, refusal)
        terms = self.terms_in_scope
        return f"{told}; the pod counts for {some(terms, len(terms))}" if terms else str(told)

    def remedy(self, domain: str | None, nodes: int) -> str:
        del domain, nodes
        return " if the quota allowed it"


@dataclass(frozen=True, slots=True)
class CrossNamespacePodAffinity(FilterPlugin):
    """Quotas on pods with cross-namespace affinity; they refuse all nodes or none."""

    limited: bool = False
    """Such a pod needs a quota that allows it."""

    name: ClassVar[str] = CROSS_NAMESPACE
    reasons: ClassVar[Sequence[AnyReason]] = tuple(QuotaReason)

    def concerns(self, state: ClusterState, pod: Pod) -> bool:
        charge = charge_in_force(state, pod)
        return charge is not None and charge.by_annotation >= self.of_annotations

    def rules(self, state: ClusterState, pod: Pod) -> Sequence[Rule]:
        if not self.concerns(state, pod):
            return ()
        found = shortfall(state, pod, limited=self.limited)
        return () if found is None else (QuotaRule(str(found), _terms_in_scope(state, pod)),)


def _terms_in_scope(state: ClusterState, pod: Pod) -> list[str]:
    own, namespace = state.class_of(pod).affinity, pod.pod_class.namespace
    terms = (
        *(("affinity", term) for term in own.required),
        *(("anti-affinity", term) for term in own.required_anti),
        *((f"preferred {'anti-' * (e.weight < 0)}affinity", e.term) for e in own.preferred),
    )
    return [
        f"its {side} on {short(term.topology_key)}, which {_chooses(term)}"
        for side, term in terms
        if term.pods.namespace_selector is not None or {*term.pods.namespaces} != {namespace}
    ]


def _chooses(term: Term) -> str:
    selects = term.pods.namespace_selector is not None
    return "has a namespaceSelector" if selects else "names namespaces"


def shortfall(state: ClusterState, pod: Pod, *, limited: bool) -> Shortfall | None:
    """Return why a pod may not be placed, None when it may; O(quotas of the namespace).

    The pod has to be left out of the counts. With `limited`, cross-namespace affinity needs a quota
    that allows it.
    """
    charge = charge_in_force(state, pod)
    if charge is None:
        return None
    return judge_charge(charge, quotas_of(state).of(pod.pod_class.namespace), limited=limited)


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
