"""The annotation by which controllers scale down, and the one that says that it is ours."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

from extender.core.model.facets import Facet, read_number
from extender.features.scale_down import COST_ANNOTATION, GIVEN_COST_ANNOTATION


class DeletionCost(NamedTuple):
    """By what a ReplicaSet controller scales down, among ready pods: the lowest cost goes first."""

    value: int
    given: bool
    """Whether we gave it, as another annotation with that value tells; else it is its user's own.
    A user who may edit a pod can pretend that, for the order among the pods of its owner alone."""


class CostFacet(Facet[DeletionCost]):
    """What it costs to delete a pod; None for a pod without a cost, which is as good as 0."""

    annotations = frozenset((COST_ANNOTATION, GIVEN_COST_ANNOTATION))

    def read(self, annotations: Mapping[str, bytes]) -> DeletionCost | None:
        """Read it as upstream's GetDeletionCostFromPodAnnotations."""
        raw = annotations.get(COST_ANNOTATION)
        if raw is None:
            return None
        return DeletionCost(read_number(raw), raw == annotations.get(GIVEN_COST_ANNOTATION))

    def written(self, value: DeletionCost) -> Mapping[str, str]:
        names = (COST_ANNOTATION, GIVEN_COST_ANNOTATION) if value.given else ()
        return dict.fromkeys(names, str(value.value))


COST: Final = CostFacet()
FACETS: Final = (COST,)
