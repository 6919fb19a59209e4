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
    "together, over two keys",
    "revision apart by host",
    "of a tenant apart by host",
)
"""Of their rules about pods."""


def movable(chance: Random, app: str, apps: list[str]) -> Json:
    """Build what the pods of a workload are made of.

    Most ask for a disk, some for a model or for nodes by name. A rule by annotation is in the spec
    as well, or the scheduler and those who judge it would have to be told; one about nodes may be
    in the annotation alone.
    """
    sort = chance.choice(SORTS)
    made_of = templates.template(sort, app, chance.choice(apps or [app]), chance.choice((0, 0, 5)))
    about_pods: Json = made_of["affinity"]
    terms = [_wants(DISK, "In", SSD)]
    if chance.random() < 0.4:
        terms = chance.choice(NODE_TERMS)
    on_some: Json = {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": terms}}}
    about_nodes = on_some if sort == "plain" or chance.random() < 0.4 else {}
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


def _wants(key: str, operator: str, *values: str) -> Json:
    return {"matchExpressions": [{"key": key, "operator": operator, "values": [*values]}]}


def _named(operator: str, name: str) -> Json:
    return {"matchFields": [{"key": "metadata.name", "operator": operator, "values": [name]}]}


NODE_TERMS: Final = (
    [_wants(templates.MODEL, "Gt", "2")],
    [_wants(templates.MODEL, "Lt", "9223372036854775807")],
    [_wants(templates.MODEL, "Lt", "2"), _wants(templates.MODEL, "Gt", "9223372036854775806")],
    [_wants(templates.MODEL, "NotIn", "1", "v4"), _named("In", "n001")],
    [_wants(DISK, "In", SSD) | _named("NotIn", "n002")],
    [_wants(templates.MODEL, "Exists"), _wants(DISK, "DoesNotExist")],
    [_named("In", "n001"), _named("In", "n002"), _named("In", "n003"), {}],
)
"""Of node affinity; one of each has to match, and an empty one matches nothing."""
