"""Required rules that annotations alone say, and annotations that are broken."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Any, Final

from simulation.invariants.execution import AFFINITY, APART, NEAR, REQUIRED
from simulation.invariants.rules import Json, weighted_terms
from simulation.templates import BROKEN, BROKEN_FIELDS

MOST: Final = "maxMatchingPods"
RECORD: Final = "affinity-extender.io/RulesAtPlacement"
"""The condition that a pod has once the rules in its annotations count for others."""
_FIELDS: Final = dict(zip(BROKEN, BROKEN_FIELDS, strict=True))
EDITED: Final = "simulated/edited"
"""Stands beside an annotation that was edited when its pod had a node."""


def edited(pod: Json) -> bool:
    return EDITED in (pod["metadata"].get("annotations") or {})


def anti_of(pod: Json) -> Sequence[Json]:
    """Return the terms by which a pod was placed, none once they were edited."""
    return _anti(counting(pod))


def affinity_of(pod: Json) -> Sequence[Json]:
    """Return the terms that annotations add to the required affinity of a pod's spec."""
    terms: Sequence[Json] = said(counting(pod)).get(NEAR, {}).get(REQUIRED, ())
    return terms


def preferred_of(pod: Json) -> Iterable[tuple[Json, int]]:
    """Return the terms that the annotation of a pod prefers, as `weighted_terms` does."""
    return weighted_terms({"spec": {"affinity": said(counting(pod))}})


def has_record(pod: Json) -> bool:
    return any(each["type"] == RECORD for each in pod["status"].get("conditions", ()))


def unannotated(pod: Json) -> dict[str, Any]:
    """Return a pod whose annotations are not on record."""
    return {**pod, "metadata": {**pod["metadata"], "annotations": {}}}


def is_broken(pod: Json) -> bool:
    return annotation_of(pod) in BROKEN


def counting(pod: Json) -> str:
    """Return the annotation of a pod if it counts: "" where it is broken or was edited."""
    annotation = annotation_of(pod)
    return "" if annotation in BROKEN or edited(pod) else annotation


def annotation_of(pod: Json) -> str:
    return str((pod["metadata"].get("annotations") or {}).get(AFFINITY, ""))


@lru_cache(maxsize=1_000)
def _anti(annotation: str) -> Sequence[Json]:
    terms = said(annotation).get(APART, {}).get(REQUIRED, ())
    return tuple(each for each in terms if MOST not in each)


@lru_cache(maxsize=1_000)
def said(annotation: str) -> dict[str, Any]:
    affinity: dict[str, Any] = json.loads(annotation) if annotation else {}
    return affinity


def unnamed(pod: Json, texts: Iterable[str]) -> str | None:
    """Return what a scheduler's event says of a broken annotation if it does not name the field."""
    field = _FIELDS.get(annotation_of(pod))
    if field is None:
        return None
    return next((each for each in texts if AFFINITY not in each or field not in each), None)
