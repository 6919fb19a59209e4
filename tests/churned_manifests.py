"""Manifests of pods that are all different, some of them large."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import msgspec

from extender.core.cluster.counts.pod_sets import MANY_TERMS
from extender.core.wire.limits import OF_RULES

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
HOST, ZONE = "kubernetes.io/hostname", "topology.kubernetes.io/zone"
MOST_WORDS = OF_RULES.conditions - 24


@dataclass(frozen=True, slots=True)
class Sizes:
    """How many pods there are of each size: one in so many."""

    large: int = 100
    """With some 8 KiB of labels, or of rules."""
    huge: int = 1000
    """With 400 KiB of labels, or as many values in rules as a pod may have, nearly."""
    many: int | None = None
    """With so many preferred terms that they are counted as one set; a multiple of ten."""


class Manifests:
    """Writes one pod after the other."""

    def __init__(self, sizes: Sizes, node: str) -> None:
        self._sizes = sizes
        self.latest = node
        """Where a pod was placed last."""

    def describe(self, number: int) -> tuple[str, str, bytes]:
        """Return uid, namespace/name and manifest of a pod like no other."""
        uid, namespace, name = f"uid-{number:012}", f"space-{number % 1000}", f"pod-{number}"
        labels = {"app": f"app-{number}", "pod": name} | dict(self._padding(number, odd=0))
        manifest = {
            "metadata": {"name": name, "namespace": namespace, "uid": uid, "labels": labels},
            "spec": self._spec(number),
            "status": {},
        }
        return uid, f"{namespace}/{name}", msgspec.json.encode(manifest)

    def _spec(self, number: int) -> dict[str, object]:
        """Return rules for a third of the pods, requests and a priority for a fifth."""
        spec: dict[str, object] = {"schedulerName": "default-scheduler"}
        if number % 3 == 1 or number % 10 == 0:
            spec["affinity"] = self._rules(number)
        if number % 5 == 0:
            requests = {"cpu": "1m", "memory": str(number)}
            spec["containers"] = [{"resources": {"requests": requests}}]
            spec |= {"priority": number, "priorityClassName": f"class-{number}"}
        return spec

    def _rules(self, number: int) -> dict[str, object]:
        """Return rules about pods of that kind alone; every tenth pod finds no company at all."""
        own = {"matchLabels": {"app": f"app-{number}"}}
        words = [value for _, value in self._padding(number, odd=1)][:MOST_WORDS]
        among = [{"key": "pod", "operator": "NotIn", "values": words}] if words else []
        wide = {"matchExpressions": among, **own}
        lonely = {"matchLabels": {"app": f"nobody-{number}"}}
        required = [{"labelSelector": lonely, "topologyKey": ZONE}] if number % 20 == 10 else []
        preferred: dict[str, object] = {"labelSelector": own, "topologyKey": ZONE}
        if number % 20 == 0:
            preferred["namespaceSelector"] = {}
        others: dict[str, object] = {"labelSelector": {}, "topologyKey": HOST}
        alone = [{**others, "namespaceSelector": {}}] if number % 20 == 0 else []
        return {
            "nodeAffinity": self._nodes_wanted(number),
            "podAffinity": {
                REQUIRED: required,
                PREFERRED: [
                    {"weight": 1, "podAffinityTerm": preferred},
                    *self._many(number),
                ],
            },
            "podAntiAffinity": {
                REQUIRED: [
                    {"labelSelector": wide, "topologyKey": HOST, "matchLabelKeys": ["pod"]},
                    *alone,
                ]
            },
        }

    def _many(self, number: int) -> Iterator[dict[str, object]]:
        """Yield terms about nobody."""
        many = self._sizes.many
        for each in range(MANY_TERMS if many and number % many == 0 else 0):
            nobody = {"matchLabels": {"app": f"nobody-{number}-{each}"}}
            yield {"weight": 1, "podAffinityTerm": {"labelSelector": nobody, "topologyKey": ZONE}}

    def _nodes_wanted(self, number: int) -> dict[str, object]:
        """Return rules about nodes that all of them meet, and no other pod has.

        Every twentieth pod wants a node for itself that it can only have by preemption.
        """
        words = [value for _, value in self._padding(number, odd=0)]
        other = {"key": "odd", "operator": "NotIn", "values": [f"odd-{number}", *words]}
        there = [{"key": HOST, "operator": "In", "values": [self.latest]}]
        term = {"matchExpressions": [other, *(there if number % 20 == 0 else ())]}
        return {
            REQUIRED: {"nodeSelectorTerms": [term]},
            PREFERRED: [{"weight": 1, "preference": term}],
        }

    def _padding(self, number: int, *, odd: int) -> Iterator[tuple[str, str]]:
        """Yield what makes a pod large: labels of every other large one, rules of the rest."""
        if number % self._sizes.huge == 7:
            words, kind = 8000, number // self._sizes.huge
        elif number % self._sizes.large == 7:
            words, kind = 160, number // self._sizes.large
        else:
            return
        if kind % 2 == odd:
            for word in range(words):
                yield f"{number}-{word:024}", f"{word}-{number}"
