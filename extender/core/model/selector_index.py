"""Finds the pod selectors that match a pod without trying them all."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import product
from typing import Generic, TypeAlias, TypeVar

from extender.core.model.labels import NO_LABELS, Labels, Operator, Selector
from extender.core.model.pod_affinity import PodSelector
from extender.core.model.signed import shift

_IN, _EXISTS = Operator.IN, Operator.EXISTS

T = TypeVar("T")

_Label: TypeAlias = tuple[str | None, str | None]
"""Key and value, None where the selector does not pin it down: a key without a value is one that
has to be there."""
_Where: TypeAlias = str | _Label | None
"""A namespace, or a label of namespaces."""
Bucket: TypeAlias = tuple[_Where, str | None, str | None]
"""Where, label key and value."""

_Filed: TypeAlias = dict[int, tuple[PodSelector, T]]

_MOST_CHOICES = 4
"""Requirements on pods, and as many on namespaces, that are looked at: a selector may have 500 of
each, so that to compare each with each took 0.4 s."""
_MOST_BUCKETS = 64
"""A selector that would stand in more buckets than this is filed under its namespaces or, where
those are too many too, where every look-up passes."""


class SelectorIndex(Generic[T]):
    """Items under their pod selectors, found by namespace and labels.

    A selector is filed under one of its `In` or `Exists` requirements on pods, and one on
    namespaces, those under which there is least by then: who files very many cannot choose what
    others have to look through. A look-up touches the selectors that are under labels of the pod
    and of its namespace, and those that ask for none. It looks for the keys that selectors name
    among these labels, or the other way round where there are fewer labels: a pod may have 20,000
    that no selector names, and so may a namespace. Items need identity only.
    """

    def __init__(self) -> None:
        self.compared = 0
        """Selectors that look-ups had to try so far."""
        self._filed: dict[_Where, dict[str | None, dict[str | None, _Filed[T]]]] = {}
        """By the parts of a bucket one after the other, so that keys can be gone through."""
        self._spaces: dict[str | None, int] = {}
        """How many places are labels of namespaces, by key."""

    @property
    def is_empty(self) -> bool:
        return not self._filed

    def add(self, pods: PodSelector, item: T) -> None:
        choices = _choices(pods)
        if not choices:
            return
        buckets = choices[0] if len(choices) == 1 else min(choices, key=self._held)
        for where, key, value in buckets:
            keys = self._filed.get(where)
            if keys is None:
                keys = self._filed[where] = {}
                if isinstance(where, tuple):
                    shift(self._spaces, where[0], 1)
            keys.setdefault(key, {}).setdefault(value, {})[id(item)] = (pods, item)

    def remove(self, pods: PodSelector, item: T) -> None:
        for where, key, value in self._buckets(pods, item):
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
                if isinstance(where, tuple):
                    shift(self._spaces, where[0], -1)

    def _held(self, buckets: Sequence[Bucket]) -> int:
        return sum(len(self._bucket(each)) for each in buckets)

    def _bucket(self, bucket: Bucket) -> _Filed[T]:
        where, key, value = bucket
        return self._filed.get(where, {}).get(key, {}).get(value, {})

    def _buckets(self, pods: PodSelector, item: T) -> Sequence[Bucket]:
        number = id(item)
        filed = (e for e in _choices(pods) if any(number in self._bucket(one) for one in e[:1]))
        return next(filed, ())

    def matching(self, namespace: str, namespace_labels: Labels, labels: Labels) -> Iterator[T]:
        """Yield the items whose selector matches a pod; O(those tried + keys or labels)."""
        for filed in self._near(namespace, namespace_labels, labels):
            self.compared += len(filed)
            for pods, item in filed.values():
                if pods.matches(namespace, namespace_labels, labels):
                    yield item

    def conditions(self, namespace: str, labels: Labels, most: int) -> int:
        """Return how many conditions a look-up has to compare; beyond `most` it is not said.

        Of selectors that name their namespaces.
        """
        found = 0
        for filed in self._near(namespace, NO_LABELS, labels):
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
        for filed in self._near(namespace, namespace_labels, labels):
            yield from trying(list(filed.values()), namespace, namespace_labels, labels)

    def near(self, namespace: str, namespace_labels: Labels, labels: Labels) -> int:
        """Return how many items a look-up has to try; O(keys or labels)."""
        return sum(map(len, self._near(namespace, namespace_labels, labels)))

    def _near(
        self, namespace: str, namespace_labels: Labels, labels: Labels
    ) -> Iterator[_Filed[T]]:
        """Yield the buckets that a pod looks into; the index may change meanwhile."""
        places: list[_Where] = [namespace, None]
        spaces = self._spaces
        for key in spaces if len(spaces) <= len(namespace_labels) else namespace_labels:
            if key is not None and (value := namespace_labels.get(key)) is not None:
                places += (key, value), (key, None)
        for where in places:
            keys = self._filed.get(where)
            if not keys:
                continue
            for key in list(keys) if len(keys) <= len(labels) else (None, *labels):
                # Under no key are those that ask for no label.
                value = None if key is None else labels.get(key)
                values = keys.get(key)
                if values is None or (value is None and key is not None):
                    continue
                if value in values:
                    yield values[value]
                if value is not None and None in values:
                    yield values[None]


def trying(
    filed: Iterable[tuple[PodSelector, T]], namespace: str, namespace_labels: Labels, labels: Labels
) -> Iterator[tuple[T | None, int]]:
    """Yield the items whose selector matches a pod, None for the others, each with its conditions.

    Each is taken when its turn comes.
    """
    for pods, item in filed:
        met = pods.matches(namespace, namespace_labels, labels)
        yield (item if met else None), pods.conditions


def _choices(pods: PodSelector) -> list[list[Bucket]]:
    """Return where a selector may be filed; a pod that it matches looks into one of each choice.

    Those of fewest buckets come first.
    """
    selector = pods.selector
    if selector.matches_nothing:
        return []
    places: list[list[_Where]] = [[None]]
    if pods.namespace_selector is None and len(pods.namespaces) <= _MOST_BUCKETS:
        places = [[*sorted(pods.namespaces)]]
    elif pods.namespace_selector is not None and not pods.namespaces:
        places = [[*each] for each in _pinned(pods.namespace_selector)] or places
    labels = _pinned(selector) or [[(None, None)]]
    found = [
        [(where, key, value) for where, (key, value) in product(some, alternatives)]
        for some, alternatives in product(places, labels)
        if len(some) * len(alternatives) <= _MOST_BUCKETS
    ]
    if len(found) > 1:
        found.sort(key=len)
    return found or [[(where, None, None) for where in places[0]]]


def _pinned(selector: Selector) -> list[list[_Label]]:
    """Return, for some requirements that pin labels down, the few labels; one must be there."""
    found: list[list[_Label]] = []
    for each in selector.requirements:
        if each.operator is _IN and len(each.values) <= _MOST_BUCKETS:
            found.append([(each.key, value) for value in sorted(each.values)])
        elif each.operator is _EXISTS:
            found.append([(each.key, None)])
    found.sort(key=len)
    return found[:_MOST_CHOICES]
