"""Pods that contain all that fits into an annotation, sound and broken: see `bench.hostile`."""

from __future__ import annotations

import json
from typing import Final

from bench.workloads import AFFINITY_ANNOTATION, HOST, Json
from extender.core.wire.limits import OF_RULES

DURING: Final = "requiredDuringSchedulingRequiredDuringExecution"
PREFERRED: Final = "preferredDuringSchedulingIgnoredDuringExecution"
OWNER: Final = {"kind": "ReplicaSet", "name": "hostile", "uid": "owner", "controller": True}


def in_annotations(plain: Json) -> dict[str, Json]:
    """Return pods like a plain one, by what they have in an annotation."""

    def having(text: str) -> Json:
        annotations = {AFFINITY_ANNOTATION: text}
        metadata = {**plain["metadata"], "annotations": annotations, "ownerReferences": [OWNER]}
        return {**plain, "metadata": metadata}

    def rules(kind: str, strength: str, terms: object) -> str:
        return json.dumps({kind: {strength: terms}}, separators=(",", ":"))

    weighted = [{"weight": 1, "podAffinityTerm": each} for each in _unlike(OF_RULES.terms)]
    nodes = {"nodeSelectorTerms": [_above(10_000 + n) for n in range(250)]}
    sound = rules("podAntiAffinity", DURING, _unlike(OF_RULES.terms))
    return {
        "64 terms in an annotation": having(sound),
        "64 affinity terms in an annotation": having(
            rules("podAffinity", DURING, _unlike(OF_RULES.terms))
        ),
        "64 preferred terms in an annotation": having(
            rules("podAntiAffinity", PREFERRED, weighted)
        ),
        "250 node terms in an annotation": having(rules("nodeAffinity", DURING, nodes)),
        "an annotation of 1.5 MiB": having(rules("podAntiAffinity", DURING, _unlike(12_000))),
        "an annotation that is broken at its end": having(sound[:-1] + ',"podAffinity":{}'),
        "an annotation of 256 KiB of brackets": having("[" * (256 << 10)),
    }


def _unlike(count: int) -> list[Json]:
    """Return terms that speak of nearly every pod."""
    return [
        {
            "labelSelector": {
                "matchExpressions": [{"key": "app", "operator": "NotIn", "values": [f"x{number}"]}]
            },
            "namespaceSelector": {},
            "topologyKey": HOST,
        }
        for number in range(count)
    ]


def _above(number: int) -> Json:
    return {"matchExpressions": [{"key": "number", "operator": "Gt", "values": [str(number)]}]}
