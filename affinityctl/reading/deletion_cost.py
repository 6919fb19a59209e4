"""By what a ReplicaSet controller scales down, among ready pods: the lowest cost goes first."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from extender.core.model.facets import Facet, read_number

COST_ANNOTATION: Final = "controller.kubernetes.io/pod-deletion-cost"


class DeletionCostFacet(Facet[int]):
    """What it costs to delete a pod, by whatever wrote it."""

    annotations = frozenset((COST_ANNOTATION,))

    def read(self, annotations: Mapping[str, bytes]) -> int:
        """Read it as upstream's GetDeletionCostFromPodAnnotations."""
        return read_number(annotations[COST_ANNOTATION])


DELETION_COST: Final = DeletionCostFacet()
