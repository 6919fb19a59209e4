"""Deletion costs, by which a scale-down leaves the other pods of a controller spread."""

from typing import Final

COST_ANNOTATION: Final = "controller.kubernetes.io/pod-deletion-cost"
GIVEN_COST_ANNOTATION: Final = "affinity-extender.io/deletion-cost"
"""The same value again tells that we gave it."""
