"""Pods with rules that may stop to hold while they run, by their spec or by an annotation."""

from __future__ import annotations

import json
from random import Random
from typing import Any, Final, TypeAlias

from simulation import templates

Json: TypeAlias = dict[str, Any]

DISK: Final = "disk"
SSD: Final = "ssd"
AFFINITY: Final = "affinity-extender.io/affinity"
REQUIRED: Final = "requiredDuringSchedulingIgnoredDuringExecution"
DURING: Final = "requiredDuringSchedulingRequiredDuringExecution"

SORTS: Final = (
    "plain",
    "plain",
    "plain",
    "near another",
    "apart by zone",
    "apart by host",
    "away from a team",
    "together",
)
"""Of their rules about pods."""


def movable(chance: Random, app: str, apps: list[str]) -> Json:
    """Build what the pods of a workload are made of.

    Most ask for a disk. A rule by annotation is in the spec as well, or the scheduler and those who
    judge it would have to be told; one for a disk may be in the annotation alone.
    """
    sort = chance.choice(SORTS)
    made_of = templates.template(sort, app, chance.choice(apps or [app]), chance.choice((0, 0, 5)))
    about_pods: Json = made_of["affinity"]
    on_ssd: Json = {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": [_wants(SSD)]}}}
    about_nodes = on_ssd if sort == "plain" or chance.random() < 0.4 else {}
    by_annotation = chance.random() < 0.6
    in_spec = {**about_pods, **about_nodes}
    annotations: Json = {}
    if by_annotation:
        annotations = {AFFINITY: json.dumps(_during({**about_pods, **about_nodes}))}
        if chance.random() < 0.3:
            in_spec = about_pods
    grace = chance.choice((0, 1, 3, 3, 30))
    return made_of | {"affinity": in_spec, "annotations": annotations, "grace": grace}


def budget(app: str, unavailable: int) -> Json:
    """Build a disruption budget that somebody looks after: so many pods may be missing."""
    made = templates.budget(app, 0)
    return {**made, "spec": {**made["spec"], "maxUnavailable": unavailable}}


def _during(affinity: Json) -> Json:
    """Return rules of a spec as those that hold during execution."""
    return {
        kind: {DURING if name == REQUIRED else name: terms for name, terms in rules.items()}
        for kind, rules in affinity.items()
    }


def _wants(disk: str) -> Json:
    return {"matchExpressions": [{"key": DISK, "operator": "In", "values": [disk]}]}
