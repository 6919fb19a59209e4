"""Selectors in words."""

from __future__ import annotations

import pytest

from extender.model.wording import pods_of
from tests.builders import ZONE, Json, model_pod, pod, requirement, selector, term


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        pytest.param(
            term(ZONE, selector(app="web")), "pods with app in (web) in namespace own", id="plain"
        ),
        pytest.param(
            term(
                ZONE,
                selector(
                    requirement("app", "NotIn", "b", "a"),
                    requirement("old", "DoesNotExist"),
                    requirement("tier", "Exists"),
                ),
                namespaces=["y", "x"],
            ),
            "pods with app notin (a,b),!old,tier in namespaces x, y",
            id="every operator",
        ),
        pytest.param(
            term(ZONE, selector(), namespaceSelector=selector(team="red")),
            "pods with any labels in namespaces with team in (red)",
            id="namespaces by their labels",
        ),
        pytest.param(
            term(ZONE, selector(), namespaces=["x"], namespaceSelector=selector()),
            "pods with any labels in namespace x and namespaces with any labels",
            id="namespaces by both",
        ),
        pytest.param(term(ZONE), "no pods, without a labelSelector", id="no selector"),
    ],
)
def test_the_pods_of_a_term_are_described(raw: Json, expected: str) -> None:
    (found,) = model_pod(pod("p", "own").anti_affinity(raw)).pod_class.affinity.required_anti
    assert pods_of(found.pods) == expected
