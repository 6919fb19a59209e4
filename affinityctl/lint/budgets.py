"""PodDisruptionBudgets, with how many pods each is about."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, NamedTuple

import msgspec

from affinityctl.applied import share
from affinityctl.lint.reading import spared_by
from extender.model.labels import Labels, Selector
from extender.wire.affinity import read_selector
from extender.wire.decoding import Int32, Json, decode
from extender.wire.manifests import BudgetManifest, BudgetSpec, NamespacedMetadata

_COUNTED: Final = frozenset(("Deployment", "ReplicaSet", "StatefulSet", "ReplicationController"))


class _BudgetMetadata(NamespacedMetadata):
    annotations: dict[str, str] | None = None


class _WrittenSpec(BudgetSpec, rename="camel"):
    min_available: Int32 | str | None = None
    max_unavailable: Int32 | str | None = None


class LintedBudget(BudgetManifest):
    """With what somebody wrote of it."""

    metadata: _BudgetMetadata
    spec: _WrittenSpec | None = None


_BUDGET = msgspec.json.Decoder(LintedBudget)


class WrittenBudget(NamedTuple):
    """A budget as its manifest has it."""

    namespace: str
    name: str
    selector: Selector
    spec: _WrittenSpec
    ignored: frozenset[str]
    """Rules that it asks to be spared."""


class Made(NamedTuple):
    """A workload with what tells its pods, or a pod that nothing makes."""

    kind: str
    name: str
    labels: Labels
    replicas: int | None
    """None where its manifest leaves that to others."""


class Budget(NamedTuple):
    """A budget, and the workloads whose pods it is about."""

    written: WrittenBudget
    pods: int
    """That there are to be; 0 where nobody knows."""
    workloads: tuple[str, ...]

    @property
    def wanted(self) -> int:
        """Return how many of the pods have to be there, as the disruption controller does."""
        spec = self.written.spec
        if spec.max_unavailable is not None:
            return self.pods - share(spec.max_unavailable, self.pods, "", up=True)
        return share(spec.min_available, self.pods, "0", up=True)


def read_budget(raw: Json) -> WrittenBudget:
    """Read a budget; ObjectError names the field that is broken."""
    budget = decode(_BUDGET, raw)
    metadata, spec = budget.metadata, budget.spec or _WrittenSpec()
    selector = read_selector(spec.selector, "spec.selector")
    ignored = spared_by(metadata.annotations or {})
    return WrittenBudget(metadata.namespace or "default", metadata.name, selector, spec, ignored)


def budget_of(written: WrittenBudget, workloads: Iterable[Made]) -> Budget:
    """Return a budget with the workloads of its namespace that it is about."""
    about = [each for each in workloads if written.selector.matches(each.labels)]
    known = all(each.kind in _COUNTED and each.replicas is not None for each in about)
    pods = sum(each.replicas or 0 for each in about) if known else 0
    return Budget(written, pods, tuple(each.name for each in about))
