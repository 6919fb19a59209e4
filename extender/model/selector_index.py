"""Finds the pod selectors that match a pod without trying them all."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Generic, TypeAlias, TypeVar

from extender.model.labels import Labels, Operator
from extender.model.pod_affinity import PodSelector

T = TypeVar("T")

Bucket: TypeAlias = tuple[str | None, str | None, str | None]
"""Namespace, label key, label value; None where the selector does not pin it down."""

_Filed: TypeAlias = dict[int, tuple[PodSelector, T]]

_MOST_BUCKETS = 64
"""A selector that would stand in more buckets than this is filed under its namespaces or, where
those are too many too, where every look-up passes."""


class SelectorIndex(Generic[T]):
    """Items under their pod selectors, found by namespace and labels.

    A selector is filed under one of its `In` requirements, so a look-up touches the selectors
    that name one of the pod's own labels, and those that name none. It looks for the keys that
    selectors name among the labels, or the other way round where a pod has fewer labels: a pod may
    have 20,000 of which nobody speaks. Items need identity only.
    """

    def __init__(self) -> None:
        self.compared = 0
        """Selectors that look-ups had to try so far."""
        self._filed: dict[str | None, dict[str | None, dict[str | None, _Filed[T]]]] = {}
        """By the parts of a bucket one after the other, so that keys can be gone through."""

    def add(self, pods: PodSelector, item: T) -> None:
        """File an item."""
        for where, key, value in _buckets(pods):
            values = self._filed.setdefault(where, {}).setdefault(key, {})
            values.setdefault(value, {})[id(item)] = (pods, item)

    def remove(self, pods: PodSelector, item: T) -> None:
        """Take an item out again."""
        for where, key, value in _buckets(pods):
            keys = self._filed[where]
            values = keys[key]
            del values[value][id(item)]
            if values[value]:
                continue
            del values[value]
            if not values:
                del keys[key]
            if not keys:
                del self._filed[where]

    def matching(self, namespace: str, namespace_labels: Labels, labels: Labels) -> Iterator[T]:
        """Yield the items whose selector matches a pod; O(those tried + keys or labels)."""
        for filed in self._near(namespace, labels):
            self.compared += len(filed)
            for pods, item in filed.values():
                if pods.matches(namespace, namespace_labels, labels):
                    yield item

    def conditions(self, namespace: str, labels: Labels, most: int) -> int:
        """Return how many conditions a look-up has to compare; beyond `most` it is not said."""
        found = 0
        for filed in self._near(namespace, labels):
            for pods, _ in filed.values():
                found += pods.conditions
                if found > most:
                    return found
        return found

    def trying(
        self, namespace: str, namespace_labels: Labels, labels: Labels
    ) -> Iterator[tuple[T | None, int]]:
        """Yield the same, and None for each that is tried in vain; the index may change meanwhile.

        Each with its conditions. An item that comes meanwhile may be left out, and one that goes
        may still be yielded.
        """
        for filed in self._near(namespace, labels):
            for pods, item in list(filed.values()):
                met = pods.matches(namespace, namespace_labels, labels)
                yield (item if met else None), pods.conditions

    def _near(self, namespace: str, labels: Labels) -> Iterator[_Filed[T]]:
        """Yield the buckets that a pod looks into; the index may change meanwhile."""
        for where in (namespace, None):
            keys = self._filed.get(where, {})
            for key in list(keys) if len(keys) <= len(labels) else (None, *labels):
                # Under no key, and so without a value, are those that name no label.
                value = None if key is None else labels.get(key)
                yield keys.get(key, {}).get(value, {})


def _buckets(pods: PodSelector) -> list[Bucket]:
    """Return where a selector is filed; a pod that it matches looks into exactly one of them."""
    if pods.selector.matches_nothing:
        return []
    namespaces: list[str | None] = [None]
    if pods.namespace_selector is None and len(pods.namespaces) <= _MOST_BUCKETS:
        namespaces = [*sorted(pods.namespaces)]
    labels: list[tuple[str | None, str | None]] = [(None, None)]
    narrow = [r for r in pods.selector.requirements if r.operator is Operator.IN]
    if narrow:
        best = min(narrow, key=lambda requirement: len(requirement.values))
        if len(best.values) * len(namespaces) <= _MOST_BUCKETS:
            labels = [(best.key, value) for value in sorted(best.values)]
    return [(where, key, value) for where, (key, value) in product(namespaces, labels)]
