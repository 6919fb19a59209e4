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

_MOST_BUCKETS = 64
"""A selector that would stand in more buckets than this is filed under its namespaces or, where
those are too many too, where every look-up passes."""


class SelectorIndex(Generic[T]):
    """Items under their pod selectors, found by namespace and labels.

    A selector is filed under one of its `In` requirements, so a look-up touches the selectors
    that name one of the pod's own labels, and those that name none. Items need identity only.
    """

    def __init__(self) -> None:
        self.compared = 0
        """Selectors that look-ups had to try so far."""
        self._buckets: dict[Bucket, dict[int, tuple[PodSelector, T]]] = {}

    def add(self, pods: PodSelector, item: T) -> None:
        """File an item."""
        for bucket in _buckets(pods):
            self._buckets.setdefault(bucket, {})[id(item)] = (pods, item)

    def remove(self, pods: PodSelector, item: T) -> None:
        """Take an item out again."""
        for bucket in _buckets(pods):
            items = self._buckets[bucket]
            del items[id(item)]
            if not items:
                del self._buckets[bucket]

    def matching(self, namespace: str, namespace_labels: Labels, labels: Labels) -> Iterator[T]:
        """Yield the items whose selector matches a pod."""
        for where in (namespace, None):
            yield from self._matching((where, None, None), namespace, namespace_labels, labels)
            for key, value in labels.items():
                yield from self._matching((where, key, value), namespace, namespace_labels, labels)

    def _matching(
        self, bucket: Bucket, namespace: str, namespace_labels: Labels, labels: Labels
    ) -> Iterator[T]:
        items = self._buckets.get(bucket)
        if items is None:
            return
        self.compared += len(items)
        for pods, item in items.values():
            if pods.matches(namespace, namespace_labels, labels):
                yield item


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
