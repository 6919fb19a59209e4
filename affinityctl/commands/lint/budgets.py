"""PodDisruptionBudgets, with how many pods each is about."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Final, NamedTuple

import msgspec

from affinityctl.commands.lint.reading import spared_by
from affinityctl.reading.rollouts import desired_healthy
from extender.core.model.labels import Labels, Selector
from extender.core.model.workload import DAEMON_SET, JOB
from extender.core.wire.affinity import read_selector
from extender.core.wire.decoding import Json, decode
from extender.core.wire.manifests import BudgetManifest, BudgetMetadata, BudgetSpec

_COUNTED: Final = frozenset(("Deployment", "ReplicaSet", "StatefulSet", "ReplicationController"))
_WITHOUT_SCALE: Final = frozenset((DAEMON_SET, JOB, "CronJob"))
"""Whose number of pods the disruption controller cannot tell, so that it lets none go."""


class _BudgetMetadata(BudgetMetadata):
    annotations: dict[str, str] | None = None


class LintedBudget(BudgetManifest):
    """With the rules that it asks to be spared."""

    metadata: _BudgetMetadata


_BUDGET = msgspec.json.Decoder(LintedBudget)


class WrittenBudget(NamedTuple):
    namespace: str
    name: str
    selector: Selector
    spec: BudgetSpec
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
    """That there are to be; 0 where that is unknown."""
    workloads: tuple[str, ...]
    uncounted: tuple[str, ...] = ()
    """Of these, those whose number of pods the disruption controller would need and cannot tell."""
    shared: Mapping[str, Sequence[str]] = MappingProxyType({})
    """By workload, the budgets before this one that are about it as well."""

    @property
    def wanted(self) -> int:
        """Return how many of the pods have to be there."""
        spec = self.written.spec
        return desired_healthy(spec.minAvailable, spec.maxUnavailable, self.pods)


def read_budget(raw: Json) -> WrittenBudget:
    """Read a budget; ObjectError names the field that is broken."""
    budget = decode(_BUDGET, raw)
    metadata, spec = budget.metadata, budget.spec or BudgetSpec()
    selector = read_selector(spec.selector, "spec.selector")
    ignored = spared_by(metadata.annotations or {})
    return WrittenBudget(metadata.namespace or "default", metadata.name, selector, spec, ignored)


def budget_of(written: WrittenBudget, workloads: Iterable[Made]) -> Budget:
    about = [each for each in workloads if written.selector.matches(each.labels)]
    known = all(each.kind in _COUNTED and each.replicas is not None for each in about)
    pods = sum(each.replicas or 0 for each in about) if known else 0
    by_scale = written.spec.maxUnavailable is not None or isinstance(written.spec.minAvailable, str)
    uncounted = [each.name for each in about if by_scale and each.kind in _WITHOUT_SCALE]
    return Budget(written, pods, tuple(each.name for each in about), tuple(uncounted))
