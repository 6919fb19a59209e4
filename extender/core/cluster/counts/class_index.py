"""Finds the placed classes that a pod selector may match without trying them all."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Final, TypeAlias

from extender.core.cluster.counts.matching_pods import PlacedClass
from extender.core.model.labels import Operator, Requirement
from extender.core.model.pod_affinity import PodSelector

_Bag: TypeAlias = "PlacedClass | dict[PlacedClass, None]"
"""One class on its own, for a dictionary for each of a StatefulSet's pods would be expensive."""


MOST_LABELS: Final = 1_024
"""Of a class that is filed by its labels. One with 70,000, 1.5 MiB, held the event loop up for
100 ms with each change, and 15 MiB of memory: with more it is tried whatever is sought."""


class ClassIndex:
    """Placed classes by namespace and by label.

    The other direction is SelectorIndex: there a class looks for selectors, here a selector looks
    for classes. A change costs the labels of the class, or MOST_LABELS.
    """

    def __init__(self) -> None:
        self._in: dict[str, dict[PlacedClass, None]] = {}
        self._labelled: dict[str, dict[str, _Bag]] = {}
        self._having: dict[str, int] = {}
        self._wide: dict[PlacedClass, None] = {}
        """Those with more than MOST_LABELS labels."""
        self._classes = 0

    def __len__(self) -> int:
        return self._classes

    def in_namespace(self, namespace: str) -> Iterable[PlacedClass]:
        return self._in.get(namespace, ())

    def add(self, placed: PlacedClass) -> None:
        self._classes += 1
        self._in.setdefault(placed.pod_class.namespace, {})[placed] = None
        if len(placed.pod_class.labels) > MOST_LABELS:
            self._wide[placed] = None
            return
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
        self._classes -= 1
        namespace = placed.pod_class.namespace
        del self._in[namespace][placed]
        if not self._in[namespace]:
            del self._in[namespace]
        if placed in self._wide:
            del self._wide[placed]
            return
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

    def candidates(self, pods: PodSelector) -> tuple[int, Iterator[PlacedClass]]:
        """Return a superset of the classes that a selector matches, the smallest at hand.

        With their number. Only a selector of nothing but negative requirements, over all
        namespaces, has to look at every class. O(values and namespaces that it names). Classes may
        come and go while they are gone through; those that do may be left out, or yielded.
        """
        if pods.selector.matches_nothing:
            return 0, iter(())
        best = self._classes, _each_in(self._in.values())
        if pods.namespace_selector is None:
            found = [classes for each in pods.namespaces if (classes := self._in.get(each))]
            best = sum(map(len, found)), _each_in(found)
        for requirement in pods.selector.requirements:
            size = self._size(requirement)
            if size is not None and size < best[0]:
                best = size, self._having_value(requirement)
        return best

    def _size(self, requirement: Requirement) -> int | None:
        """Return how many classes may meet a requirement, None for one not worth a look."""
        match requirement.operator:
            case Operator.IN:
                values = self._labelled.get(requirement.key, {})
                found = sum(_size(values[value]) for value in values.keys() & requirement.values)
                return found + len(self._wide)
            case Operator.EXISTS:
                return self._having.get(requirement.key, 0) + len(self._wide)
            case _:
                return None

    def _having_value(self, requirement: Requirement) -> Iterator[PlacedClass]:
        values = self._labelled.get(requirement.key, {})
        bags: Iterable[_Bag] = values.values()
        if requirement.operator is Operator.IN:
            bags = (values[value] for value in requirement.values if value in values)
        return _each_in(chain(bags, (self._wide,)))


def _each_in(bags: Iterable[_Bag]) -> Iterator[PlacedClass]:
    """Go through bags that may change meanwhile, each as it is when its turn comes."""
    for bag in list(bags):
        if isinstance(bag, PlacedClass):
            yield bag
        else:
            yield from list(bag)


def _size(bag: _Bag) -> int:
    return 1 if isinstance(bag, PlacedClass) else len(bag)
