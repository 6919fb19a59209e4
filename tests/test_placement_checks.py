"""What bench.scheduler.annotated says of placements: it finds those that break a rule."""

from __future__ import annotations

from functools import partial

import pytest

from bench.scheduler.annotated import alone, exclusive_racks, limits, within_limits
from tests.e2e.objects import JSON

RACKS = partial(exclusive_racks, 0.008)
"""Two jobs, two racks."""


def placed(pods: list[JSON], nodes: list[str]) -> list[JSON]:
    return [
        each | {"spec": each["spec"] | {"nodeName": node}}
        for each, node in zip(pods, nodes, strict=True)
    ]


@pytest.mark.parametrize(
    ("side", "most"), [("replace, anti-affinity", 1), ("replace, maxMatchingPods", 3)]
)
def test_one_more_of_an_app_than_its_pods_allow_is_found(side: str, most: int) -> None:
    case = limits(0.1)
    every = next(each for each in case.sides if each.name == side).pods()
    app = [each for each in every if each["metadata"]["labels"]["app"] == "app-1"][: most + 1]
    nodes = ["b"] * most
    assert within_limits([], placed(app, ["a", *nodes]))[0] == 0
    assert within_limits([], placed(app, ["b", *nodes]))[0] == 1


def test_there_are_as_many_pods_with_a_maximum_as_the_two_traces_have_in_that_share() -> None:
    made = limits(1.0)
    plain, limited = (each.pods() for each in made.sides[:2])
    assert len(made.nodes) == 6000
    assert len(plain) == len(limited) == pytest.approx(33_000, rel=0.01)


def test_a_job_in_two_racks_and_a_rack_with_two_jobs_are_found() -> None:
    case = RACKS()
    (first, *_, other) = (each["metadata"]["name"] for each in case.nodes)
    pods = case.sides[2].pods()
    half = len(pods) // 2
    assert alone(case.nodes, placed(pods, [first] * half + [other] * half)) == (
        0,
        "2 jobs in 2 racks",
    )
    assert alone(case.nodes, placed(pods, [first] * len(pods)))[0] == 1
    assert alone(case.nodes, placed(pods, [other] + [first] * (half - 1) + [other] * half))[0] == 2
