"""Pods that prefer places, by other pods or by labels of nodes."""

from __future__ import annotations

from random import Random
from typing import Any, Final, TypeAlias

from simulation import templates
from simulation.movable import DISK, SSD

Json: TypeAlias = dict[str, Any]

REQUIRED: Final = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED: Final = "preferredDuringSchedulingIgnoredDuringExecution"
STAYS: Final[tuple[Json, ...]] = (
    {"kind": "Job"},
    {"kind": "DaemonSet"},
    {"kind": ""},
    {"claim": "data"},
    {"annotations": {"cluster-autoscaler.kubernetes.io/safe-to-evict": "false"}},
    {"annotations": {"karpenter.sh/do-not-disrupt": "true"}},
    {"annotations": {"descheduler.alpha.kubernetes.io/prefer-no-eviction": ""}},
)
"""What keeps pods where they are; the kind is that of their owner, "" for none."""


def preferring(chance: Random, app: str, apps: list[str], *, required: bool) -> Json:
    """Build what the pods of a workload are made of; only with `required` some rules are."""
    own, other = (
        {"matchLabels": {"app": app}},
        {"matchLabels": {"app": chance.choice(apps or [app])}},
    )
    zone, host = templates.ZONE, templates.HOST
    apart = [_term(100, zone, own), _term(chance.choice((10, 50)), host, own)]
    sorts: tuple[Json, ...] = (
        {"podAntiAffinity": {PREFERRED: apart}},
        {"podAntiAffinity": {PREFERRED: apart}},
        {"podAntiAffinity": {PREFERRED: apart[:1]}},
        {"podAntiAffinity": {PREFERRED: apart[1:]}},
        {"podAntiAffinity": {PREFERRED: [_term(60, zone, other), *apart[1:]]}},
        {"podAffinity": {PREFERRED: [_term(20, zone, own)]}},
        {
            "podAffinity": {PREFERRED: [_term(60, zone, other)]},
            "podAntiAffinity": {PREFERRED: apart[1:]},
        },
        {},
    )
    affinity = chance.choice(sorts)
    if not affinity or chance.random() < 0.3:
        wish = {"matchExpressions": [{"key": DISK, "operator": "In", "values": [SSD]}]}
        weight = chance.choice((20, 70))
        affinity = {
            **affinity,
            "nodeAffinity": {PREFERRED: [{"weight": weight, "preference": wish}]},
        }
    if required and "podAntiAffinity" in affinity and chance.random() < 0.2:
        rule = {"topologyKey": host, "labelSelector": own}
        affinity = {
            **affinity,
            "podAntiAffinity": {**affinity["podAntiAffinity"], REQUIRED: [rule]},
        }
    if required and apps and chance.random() < 0.15:
        rule = {"topologyKey": zone, "labelSelector": other}
        near = {**affinity.get("podAffinity", {}), REQUIRED: [rule]}
        affinity = {**affinity, "podAffinity": near}
    grace = chance.choice((0, 1, 3, 3, 30))
    return {
        "labels": {"app": app},
        "affinity": affinity,
        "priority": 0,
        "apart": "",
        "grace": grace,
    }


def _term(weight: int, key: str, selector: Json) -> Json:
    return {"weight": weight, "podAffinityTerm": {"topologyKey": key, "labelSelector": selector}}
