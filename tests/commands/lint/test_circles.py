"""Workloads whose required affinity goes in a circle are found, and each circle is named."""

from __future__ import annotations

from typing import Any

import pytest

from tests.builders import HOST, Json, Pod, namespace, pod, selector, term, workload
from tests.commands.lint.asking import linted


def near(name: str, *others: str, space: str = "default") -> Pod:
    return pod("t", space).labels(app=name).affinity(*(term(HOST, selector(app=e)) for e in others))


def made(name: str, *others: str, **spec: Any) -> Json:
    return workload("Deployment", name, near(name, *others), **spec)


A_B, B_A, B_C, C_A = made("a", "b"), made("b", "a"), made("b", "c"), made("c", "a")
OF_TWO = {
    "a": "waits for Deployment default/b, which waits for this one",
    "b": "waits for Deployment default/a, which waits for this one",
}


@pytest.mark.parametrize(
    ("things", "said"),
    [
        pytest.param([A_B, B_A], OF_TWO, id="two"),
        pytest.param(
            [A_B, B_C, C_A],
            {
                "a": "waits for Deployment default/b, which waits for Deployment default/c, which "
                "waits for this one",
                "b": "waits for Deployment default/c, which waits for Deployment default/a, which "
                "waits for this one",
                "c": "waits for Deployment default/a, which waits for Deployment default/b, which "
                "waits for this one",
            },
            id="three",
        ),
        pytest.param([A_B, B_A, made("d", "a")], OF_TWO, id="another one waits for the circle"),
        pytest.param([A_B, made("b")], {}, id="a chain with a beginning"),
        pytest.param([A_B, made("b", "b")], {}, id="a group that begins with its first pod"),
        pytest.param([A_B, made("b", "b", "a")], {}, id="terms that no single pod meets"),
        pytest.param([A_B, B_A, near("b").on("n")], {}, id="a pod that is placed"),
        pytest.param([A_B, B_A, near("b")], {}, id="a pod of something else that waits for none"),
        pytest.param([A_B, B_C], {}, id="pods that are not known"),
        pytest.param(
            [A_B, workload("Deployment", "b", near("b", "a", space="shop"))],
            {},
            id="another namespace",
        ),
    ],
)
@pytest.mark.parametrize("whole", [True, False], ids=["a cluster", "manifests"])
def test_a_circle_is_named(things: list[Json], said: dict[str, str], *, whole: bool) -> None:
    report = linted(namespace("default"), *things, whole=whole)
    circles = [each for each in report.findings if each.rule.id == "affinity-circle"]
    assert {each.place.object.rpartition("/")[2]: each.message for each in circles} == said
