"""Pods with the affinity of their spec moved into an annotation, whole or in part."""

from __future__ import annotations

import json
from copy import deepcopy
from typing import TYPE_CHECKING, Any

from extender.core.wire.placement import RULES_AT_PLACEMENT
from tests.beside import AFFINITY_ANNOTATION
from tests.builders import Pod, model_pod

if TYPE_CHECKING:
    import random
    from collections.abc import Mapping

DURING = "requiredDuringSchedulingRequiredDuringExecution"
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"

Json = dict[str, Any]


def annotated(raw: Mapping[str, Any], affinity: Any) -> Json:
    """Return a pod with such an affinity in its annotation."""
    changed = deepcopy(dict(raw))
    annotations = changed["metadata"].setdefault("annotations", {})
    annotations[AFFINITY_ANNOTATION] = json.dumps(affinity)
    return changed


def moved(raw: Mapping[str, Any]) -> Json:
    """Move all into the annotation."""
    changed = deepcopy(dict(raw))
    affinity = changed["spec"].pop("affinity", None)
    return annotated(changed, affinity) if affinity else changed


def split(raw: Mapping[str, Any], dice: random.Random) -> Json:
    """Move some terms of the spec into the annotation, which is added; required ones in any way.

    Terms of required node affinity are alternatives, so they stay together.
    """
    changed = deepcopy(dict(raw))
    affinity = changed["spec"].get("affinity") or {}
    taken: Json = {}
    for side in ("podAffinity", "podAntiAffinity"):
        for strength in (REQUIRED, PREFERRED):
            found = (affinity.get(side) or {}).get(strength) or []
            chosen = [dice.random() < 0.5 for _ in found]
            into = dice.choice((REQUIRED, DURING)) if strength == REQUIRED else PREFERRED
            mine = [each for each, take in zip(found, chosen, strict=True) if take]
            if mine:
                taken.setdefault(side, {})[into] = mine
                affinity[side][strength] = [
                    each for each, take in zip(found, chosen, strict=True) if not take
                ]
    nodes = affinity.get("nodeAffinity") or {}
    for strength in (REQUIRED, PREFERRED):
        if nodes.get(strength) and dice.random() < 0.5:
            into = dice.choice((REQUIRED, DURING)) if strength == REQUIRED else PREFERRED
            taken.setdefault("nodeAffinity", {})[into] = nodes.pop(strength)
    return annotated(changed, taken) if taken else changed


def stored(raw: Mapping[str, Any], record: Mapping[str, Any] | None = None) -> Pod:
    """Return a pod as an API server has it; by `record` it was placed as that one is.

    Without, nothing is on record.
    """
    made = Pod(deepcopy(dict(raw))).stored_at("1")
    if record is not None:
        condition = {"type": RULES_AT_PLACEMENT, "status": "True", "message": digest_of(record)}
        made.setdefault("status", {})["conditions"] = [condition]
    return made


def digest_of(raw: Mapping[str, Any]) -> str:
    """Return what tells a pod's annotation from others."""
    rules = model_pod(raw).pod_class.annotated
    return "" if rules is None else rules.digest


def sound(raw: Mapping[str, Any], changed: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a changed pod, or the pod as it was if no API server would store such rules."""
    return raw if model_pod(changed).spec.broken_rules is not None else changed
