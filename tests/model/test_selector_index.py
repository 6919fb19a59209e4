"""The index finds exactly the selectors that match."""

from __future__ import annotations

from collections.abc import ItemsView, Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from extender.core.model.labels import NOTHING, Operator, Requirement, Selector
from extender.core.model.pod_affinity import PodSelector
from extender.core.model.selector_index import SelectorIndex
from tests.model.drawn import labels, requirements

NAMESPACES = ("red", "blue")


def in_values(values: frozenset[str]) -> Requirement:
    """Build app In values."""
    return Requirement("app", Operator.IN, values)


class Consulted(dict[str, str]):
    """Labels that count how often one of them is looked at."""

    looks = 0

    def get(self, key: str, default: str | None = None) -> str | None:  # type: ignore[override]
        self.looks += 1
        return super().get(key, default)

    def __iter__(self) -> Iterator[str]:
        self.looks += len(self)
        return super().__iter__()

    def items(self) -> ItemsView[str, str]:  # type: ignore[override]
        self.looks += len(self)
        return super().items()


class Item:
    """What is filed: told apart by identity alone."""


selectors = st.one_of(st.just(NOTHING), st.lists(requirements, max_size=3).map(Selector.of))
pod_selectors = st.builds(
    PodSelector,
    selectors,
    st.frozensets(st.sampled_from(NAMESPACES)),
    st.one_of(st.none(), selectors),
)


@given(
    filed=st.lists(pod_selectors, max_size=8),
    gone=st.sets(st.integers(0, 7)),
    namespace=st.sampled_from(NAMESPACES),
    namespace_labels=labels,
    pod_labels=labels,
)
def test_it_finds_each_matching_item_once(
    filed: list[PodSelector],
    gone: set[int],
    namespace: str,
    namespace_labels: dict[str, str],
    pod_labels: dict[str, str],
) -> None:
    index: SelectorIndex[Item] = SelectorIndex()
    items = [(pods, Item()) for pods in filed]
    for pods, item in items:
        index.add(pods, item)
    for position, (pods, item) in enumerate(items):
        if position in gone:
            index.remove(pods, item)
    expected = [
        item
        for position, (pods, item) in enumerate(items)
        if position not in gone and pods.matches(namespace, namespace_labels, pod_labels)
    ]
    found = list(index.matching(namespace, namespace_labels, pod_labels))
    assert sorted(map(id, found)) == sorted(map(id, expected))


def test_a_selector_over_very_many_namespaces_and_values_is_still_found() -> None:
    index: SelectorIndex[str] = SelectorIndex()
    everywhere = frozenset(f"ns-{number}" for number in range(500))
    index.add(PodSelector(Selector((in_values(everywhere),)), everywhere), "wide")
    assert list(index.matching("ns-499", {}, {"app": "ns-7"})) == ["wide"]
    assert list(index.matching("elsewhere", {}, {"app": "ns-7"})) == []


@pytest.mark.parametrize(
    ("labels", "selectors"),
    [
        pytest.param(5000, 3, id="a pod with very many labels"),
        pytest.param(3, 5000, id="selectors over very many keys"),
    ],
)
def test_a_look_up_costs_the_labels_of_the_pod_or_the_keys_of_selectors(
    labels: int, selectors: int
) -> None:
    index: SelectorIndex[int] = SelectorIndex()
    for number in range(selectors):
        condition = Requirement(f"key-{number}", Operator.IN, frozenset(("v",)))
        index.add(PodSelector(Selector((condition,)), frozenset(("red",))), number)
        index.add(PodSelector(Selector((condition,)), frozenset(), Selector()), -1 - number)
    worn = Consulted({f"key-{number}": "v" for number in range(labels)})
    found = list(index.matching("red", {}, worn))
    fewer = min(labels, selectors)
    assert sorted(found) == [*range(-fewer, fewer)]
    # Once each for red and for all namespaces, and once to be compared with what is found there.
    assert worn.looks <= 8 * fewer


@pytest.mark.parametrize(
    ("labels", "selectors"),
    [
        pytest.param(5000, 3, id="a namespace with very many labels"),
        pytest.param(3, 5000, id="selectors over very many keys"),
    ],
)
def test_a_look_up_costs_the_labels_of_the_namespace_or_the_keys_of_selectors(
    labels: int, selectors: int
) -> None:
    index: SelectorIndex[int] = SelectorIndex()
    for number in range(selectors):
        chosen = Selector((Requirement(f"key-{number}", Operator.IN, frozenset(("v",))),))
        some = Selector((Requirement(f"key-{number}", Operator.EXISTS),))
        index.add(PodSelector(Selector(), frozenset(), chosen), number)
        index.add(PodSelector(Selector(), frozenset(), some), -1 - number)
    worn = Consulted({f"key-{number}": "v" for number in range(labels)})
    found = list(index.matching("red", worn, {}))
    fewer = min(labels, selectors)
    assert sorted(found) == [*range(-fewer, fewer)]
    assert worn.looks <= 8 * fewer
