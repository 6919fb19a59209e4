"""Who uses cross-namespace affinity, and what the quotas say."""

from __future__ import annotations

from collections.abc import Collection, Generator
from dataclasses import dataclass

from extender.core.cluster.state import ClusterState
from extender.core.model.keys import namespace_of
from extender.core.model.objects import Pod
from extender.features.quota.ledger import QuotaInUse, charge_in_force, quotas_of
from extender.features.quota.rules import Cause, Shortfall, shortfall


@dataclass(frozen=True, slots=True)
class Refusal:
    pod: Pod
    shortfall: Shortfall


def in_words(why: Shortfall) -> str:
    resources = ", ".join(why.resources)
    said = {
        Cause.EXCEEDED: f"{resources}: no room",
        Cause.UNSET: f"{resources}: not set for every container",
        Cause.UNCOVERED: "no quota speaks of affinity across namespaces",
    }
    return said[why.cause]


@dataclass(slots=True)
class NamespaceUse:
    """How one namespace uses cross-namespace affinity, in numbers."""

    name: str
    quotas: Collection[QuotaInUse]
    placed: int
    """Pods in scope that are on a node; these count."""
    waiting: int = 0
    refused: int = 0
    """Waiting pods that the quotas do not allow as things are."""
    example: Refusal | None = None
    """One of the refused pods."""


def counting_use(
    state: ClusterState, *, limited: bool
) -> Generator[None, None, list[NamespaceUse]]:
    """Count who uses it in each namespace, a waiting pod at a step, in the order of names.

    Assumed pods are among those that are placed. The state may change between two steps.
    """
    known = quotas_of(state)
    names = {each for each in known.namespaces if known.charges(each)}
    names.update(namespace_of(key) for key in known)
    found = {name: _use_of(state, name) for name in names}
    for pod in list(state.waiting_pods):
        if charge_in_force(state, pod) is not None:
            name = pod.pod_class.namespace
            if name not in found:
                found[name] = _use_of(state, name)
            use = found[name]
            use.waiting += 1
            why = shortfall(state, pod, limited=limited)
            if why is not None:
                use.refused += 1
                use.example = use.example or Refusal(pod, why)
        yield
    return sorted(found.values(), key=lambda each: each.name)


def _use_of(state: ClusterState, name: str) -> NamespaceUse:
    quotas = quotas_of(state)
    return NamespaceUse(name, quotas.of(name), sum(quotas.charges(name).values()))
