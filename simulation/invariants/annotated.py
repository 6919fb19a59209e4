"""Required anti-affinity that annotations alone say, and annotations that are broken."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, Final

from simulation.invariants.execution import AFFINITY, APART, REQUIRED
from simulation.invariants.rules import Json
from simulation.templates import BROKEN

MOST: Final = "maxMatchingPods"
EDITED: Final = "simulated/edited"
"""Stands beside an annotation that was edited when its pod had a node."""


def edited(pod: Json) -> bool:
    return EDITED in (pod["metadata"].get("annotations") or {})


def anti_of(pod: Json) -> Sequence[Json]:
    """Return the terms by which a pod was placed, none once they were edited."""
    annotation = annotation_of(pod)
    return () if annotation in BROKEN or edited(pod) else _anti(annotation)


def is_broken(pod: Json) -> bool:
    return annotation_of(pod) in BROKEN


def annotation_of(pod: Json) -> str:
    return str((pod["metadata"].get("annotations") or {}).get(AFFINITY, ""))


@lru_cache(maxsize=1_000)
def _anti(annotation: str) -> Sequence[Json]:
    affinity: dict[str, Any] = json.loads(annotation) if annotation else {}
    terms = affinity.get(APART, {}).get(REQUIRED, ())
    return tuple(each for each in terms if MOST not in each)
