"""A selector and its parts match the same pods, each of them one part."""

from __future__ import annotations

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from extender.core.model.conjunctions import (
    MOST_ENTRIES,
    NAME,
    Conjunction,
    conjunctions,
    is_conjunction,
    is_too_wide,
)
from extender.core.model.labels import EVERYTHING, NOTHING, Labels, Operator, Requirement, Selector
from extender.core.model.pod_affinity import PodSelector
from extender.core.model.workload import OWN, REVISION, REVISIONS, WORKLOAD, OtherRevisions
from tests.model.drawn import labels, requirements

NAMESPACES = ("red", "blue", "green")

selectors = st.one_of(
    st.just(NOTHING), st.just(EVERYTHING), st.lists(requirements, max_size=4).map(Selector.of)
)
spared = st.builds(
    OtherRevisions,
    workload=st.just("red/Deployment/web"),
    revision=st.sampled_from("12"),
    own=st.booleans(),
    of_spec=st.just(value=False),
)
pod_selectors = st.builds(
    PodSelector,
    selectors,
    st.frozensets(st.sampled_from(NAMESPACES)),
    st.one_of(st.none(), selectors),
    st.one_of(st.none(), st.none(), spared),
)
marks = st.sampled_from(
    [{}, *({WORKLOAD: "red/Deployment/web", REVISION: revision} for revision in "12")]
)


def has_unwanted(part: Conjunction, namespace: str, spaces: Labels, worn: Labels) -> bool:
    sides = (part.unwanted, worn), (part.unwanted_spaces, {**spaces, NAME: namespace})
    return any(
        key in found and value in (None, found[key])
        for unwanted, found in sides
        for key, value in unwanted
    )


@given(
    pods=pod_selectors,
    namespace=st.sampled_from(NAMESPACES),
    spaces=labels,
    worn=labels,
    marked=marks,
)
def test_a_pod_matches_one_part_if_it_matches_the_whole(
    pods: PodSelector,
    namespace: str,
    spaces: dict[str, str],
    worn: dict[str, str],
    marked: dict[str, str],
) -> None:
    spaces, worn = {REVISIONS: OWN, **spaces}, {**worn, **marked}
    assume(not is_too_wide(pods))
    parts = conjunctions(pods)
    matching = [
        part
        for part in parts
        if part.wanted.matches(namespace, spaces, worn)
        and not has_unwanted(part, namespace, spaces, worn)
    ]
    # What is spared is named by its workload, and the index has to look.
    named = any((WORKLOAD, worn.get(WORKLOAD)) in part.spared for part in matching)
    spares = named and pods.spared is not None and pods.spared.has(spaces, worn)
    assert len(matching) - spares == pods.matches(namespace, spaces, worn)
    assert all(is_conjunction(part.wanted) for part in parts)
    every = (pods.selector, pods.namespace_selector or EVERYTHING)
    values = [len(each.values) or 1 for one in every for each in one.requirements]
    most = max(MOST_ENTRIES, sum(values) + len(pods.namespaces) + 2)
    assert sum(map(entries, parts)) <= most


def entries(part: Conjunction) -> int:
    return 1 + len(part.unwanted) + len(part.unwanted_spaces) + len(part.spared)


@given(pods=pod_selectors)
def test_what_is_a_conjunction_is_its_only_part(pods: PodSelector) -> None:
    if is_conjunction(pods):
        for part in conjunctions(pods):
            assert part == Conjunction(part.wanted, [], part.unwanted_spaces, ())
            assert {*part.wanted.selector.requirements} <= {*pods.selector.requirements}


MANY = frozenset(f"v{number}" for number in range(1_000))
FEW = frozenset(f"v{number}" for number in range(4))


@pytest.mark.parametrize(
    ("requirements", "kept"),
    [
        pytest.param([Requirement("app", Operator.IN, MANY)], False, id="many values"),
        pytest.param([Requirement("app", Operator.NOT_IN, MANY)], False, id="many to refuse"),
        pytest.param(
            [Requirement("app", Operator.IN, FEW), Requirement("tier", Operator.IN, FEW)],
            False,
            id="few of few",
        ),
        pytest.param(
            [Requirement("app", Operator.IN, MANY), Requirement("tier", Operator.IN, FEW)],
            True,
            id="many of few",
        ),
        pytest.param(
            [Requirement("app", Operator.IN, FEW), Requirement("tier", Operator.NOT_IN, MANY)],
            True,
            id="few with many to refuse",
        ),
    ],
)
def test_a_selector_has_a_bounded_number_of_entries(
    requirements: list[Requirement], *, kept: bool
) -> None:
    pods = PodSelector(Selector.of(requirements), frozenset(("red",)))
    assert is_too_wide(pods) is kept
