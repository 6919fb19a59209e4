"""How pods of different kinds stand to each other; replicas need not be compared again."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TypeAlias

from simulation.invariants.annotated import affinity_of, anti_of
from simulation.invariants.quotas import crosses_namespaces
from simulation.invariants.rules import Json, Labels, affinity_terms, anti_terms, speaks_of

Spaces: TypeAlias = tuple[int, dict[str, Labels]]
"""The labels of all namespaces at some time, with a number that no other picture has."""


@dataclass(frozen=True, slots=True, eq=False)
class Kind:
    """Pods of one namespace with the same labels and rules."""

    number: int
    pod: Json
    """One of them."""
    needs: tuple[str, ...]
    """Topology keys of its required affinity."""
    crosses: bool = False
    """Whether quotas on affinity across namespaces count it."""


class Kinds:
    """All kinds there were in a run; nothing that concerns them ever changes on a pod."""

    def __init__(self) -> None:
        self._kinds: dict[object, Kind] = {}
        self._repels: dict[tuple[int, int, int], frozenset[str]] = {}
        self._joins: dict[tuple[int, int, int], bool] = {}

    def of(self, pod: Json) -> Kind:
        metadata, affinity = pod["metadata"], pod["spec"].get("affinity")
        annotations = tuple(sorted((metadata.get("annotations") or {}).items()))
        labels = tuple(sorted((metadata.get("labels") or {}).items()))
        # A kind keeps its rules alive, so no others come to have their identity.
        name = (id(affinity), metadata["namespace"], labels, annotations)
        if name not in self._kinds:
            needs = tuple(term["topologyKey"] for term in _needed(pod))
            self._kinds[name] = Kind(len(self._kinds), pod, needs, crosses_namespaces(pod))
        return self._kinds[name]

    def repels(self, one: Kind, other: Kind, spaces: Spaces) -> frozenset[str]:
        """Return the topology keys of domains that two pods must not share."""
        name = one.number, other.number, spaces[0]
        if name not in self._repels:
            self._repels[name] = frozenset(
                term["topologyKey"]
                for owner, pod in ((one.pod, other.pod), (other.pod, one.pod))
                for term in (*anti_terms(owner), *anti_of(owner))
                if speaks_of(term, owner, pod, spaces[1])
            )
        return self._repels[name]

    def joins(self, other: Kind, pod: Kind, spaces: Spaces) -> bool:
        """Return whether one pod matches all required affinity terms of another."""
        name = other.number, pod.number, spaces[0]
        if name not in self._joins:
            self._joins[name] = all(
                speaks_of(term, pod.pod, other.pod, spaces[1]) for term in _needed(pod.pod)
            )
        return self._joins[name]

    def concern(self, one: Kind, other: Kind, spaces: Spaces) -> bool:
        """Return whether one pod may not share a domain with another, or has to be near it."""
        return bool(self.repels(one, other, spaces)) or bool(
            one.needs and self.joins(other, one, spaces)
        )

    def exclude(
        self, one: tuple[Kind, Labels | None], other: tuple[Kind, Labels | None], spaces: Spaces
    ) -> bool:
        """Return whether the anti-affinity of either of two placed pods forbids the other."""
        (first, here), (second, there) = one, other
        if here is None or there is None:
            return False
        keys = self.repels(first, second, spaces)
        return any(key in here and here[key] == there.get(key) for key in keys)

    def has_company(
        self,
        one: tuple[Kind, Labels | None],
        others: Iterable[tuple[Kind, Labels | None]],
        spaces: Spaces,
    ) -> bool:
        """Return whether all required affinity is met, or nobody is there to meet it."""
        kind, here = one
        if not kind.needs:
            return True
        if here is None or any(key not in here for key in kind.needs):
            return False
        there = [
            labels
            for other, labels in others
            if labels is not None and self.joins(other, kind, spaces)
        ]
        if all(any(here[key] == labels.get(key) for labels in there) for key in kind.needs):
            return True
        starts = self.joins(kind, kind, spaces)
        return starts and not any(key in labels for labels in there for key in kind.needs)


def _needed(pod: Json) -> list[Json]:
    """Return the terms of required affinity; one pod has to meet all of them."""
    return [*affinity_terms(pod), *affinity_of(pod)]
