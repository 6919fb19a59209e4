"""Finds the pod selectors that match a pod without trying them all."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain, product
from typing import Generic, TypeAlias, TypeVar

from extender.cluster.counts.placed_classes import PlacedClass
from extender.model.labels import Labels, Operator, Requirement
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
        for where in (namespace, None):
            keys = self._filed.get(where)
            if keys is None:
                continue
            for key in keys if len(keys) <= len(labels) else (None, *labels):
                # Under no key, and so without a value, are those that name no label.
                value = None if key is None else labels.get(key)
                items = keys.get(key, {}).get(value, {})
                self.compared += len(items)
                for pods, item in items.values():
                    if pods.matches(namespace, namespace_labels, labels):
                        yield item

    def trying(
        self, namespace: str, namespace_labels: Labels, labels: Labels
    ) -> Iterator[tuple[T | None, int]]:
        """Yield the same, and None for each that is tried in vain; the index may change meanwhile.

        Each with its conditions. An item that comes meanwhile may be left out, and one that goes
        may still be yielded.
        """
        for where in (namespace, None):
            keys = self._filed.get(where, {})
            for key in list(keys) if len(keys) <= len(labels) else (None, *labels):
                value = None if key is None else labels.get(key)
                for pods, item in list(keys.get(key, {}).get(value, {}).values()):
                    met = pods.matches(namespace, namespace_labels, labels)
                    yield (item if met else None), pods.conditions


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


_Bag: TypeAlias = "PlacedClass | dict[PlacedClass, None]"
"""One class on its own, for a dictionary for each of a StatefulSet's pods would be dear."""


class ClassIndex:
    """Placed classes by namespace and by label.

    The other direction is SelectorIndex: there a class looks for selectors, here a selector looks
    for classes. A change costs the labels of the class.
    """

    def __init__(self) -> None:
        self._in: dict[str, dict[PlacedClass, None]] = {}
        self._labelled: dict[str, dict[str, _Bag]] = {}
        self._having: dict[str, int] = {}
        self._classes = 0

    def __len__(self) -> int:
        return self._classes

    def in_namespace(self, namespace: str) -> Iterable[PlacedClass]:
        """Return the classes of a namespace."""
        return self._in.get(namespace, ())

    def add(self, placed: PlacedClass) -> None:
        """File a class."""
        self._classes += 1
        self._in.setdefault(placed.pod_class.namespace, {})[placed] = None
        for key, value in placed.pod_class.labels.items():
            values = self._labelled.setdefault(key, {})
            self._having[key] = self._having.get(key, 0) + 1
            bag = values.get(value)
            if bag is None:
                values[value] = placed
            elif isinstance(bag, PlacedClass):
                values[value] = {bag: None, placed: None}
            else:
                bag[placed] = None

    def remove(self, placed: PlacedClass) -> None:
        """Take a class out again."""
        self._classes -= 1
        namespace = placed.pod_class.namespace
        del self._in[namespace][placed]
        if not self._in[namespace]:
            del self._in[namespace]
        for key, value in placed.pod_class.labels.items():
            values = self._labelled[key]
            bag = values[value]
            if isinstance(bag, PlacedClass):
                del values[value]
            else:
                del bag[placed]
                if not bag:
                    del values[value]
            self._having[key] -= 1
            if not self._having[key]:
                del self._having[key], self._labelled[key]

    def candidates(self, pods: PodSelector) -> tuple[int, Iterable[PlacedClass]]:
        """Return a superset of the classes that a selector matches, the smallest at hand.

        With their number. Only a selector of nothing but negative requirements, over all
        namespaces, has to look at every class. O(values and namespaces that it names).
        """
        if pods.selector.matches_nothing:
            return 0, ()
        best: tuple[int, Iterable[PlacedClass]] = (
            self._classes,
            chain.from_iterable(self._in.values()),
        )
        if pods.namespace_selector is None:
            found = [classes for each in pods.namespaces if (classes := self._in.get(each))]
            best = sum(map(len, found)), chain.from_iterable(found)
        for requirement in pods.selector.requirements:
            size = self._size(requirement)
            if size is not None and size < best[0]:
                best = size, self._having_value(requirement)
        return best

    def _size(self, requirement: Requirement) -> int | None:
        """Return how many classes meet a requirement, None for one that is not worth a look."""
        match requirement.operator:
            case Operator.IN:
                values = self._labelled.get(requirement.key, {})
                return sum(_size(values[value]) for value in requirement.values & values.keys())
            case Operator.EXISTS:
                return self._having.get(requirement.key, 0)
            case _:
                return None

    def _having_value(self, requirement: Requirement) -> Iterator[PlacedClass]:
        values = self._labelled.get(requirement.key, {})
        wanted = requirement.values if requirement.operator is Operator.IN else values
        for value in wanted:
            bag = values.get(value, {})
            yield from (bag,) if isinstance(bag, PlacedClass) else bag


def _size(bag: _Bag) -> int:
    return 1 if isinstance(bag, PlacedClass) else len(bag)
