"""Which binds count as contested."""

from __future__ import annotations

import pytest

from simulation import templates
from simulation.invariants.contention import Contention, Contest
from simulation.invariants.kinds import Kind, Kinds, Spaces

SPACES: Spaces = 0, {"default": {"team": "blue"}}


class Stage:
    """A clock, and pods of three apps."""

    def __init__(self) -> None:
        self.now = 0.0
        self.kinds = Kinds()
        self.contention = Contention(self.kinds, lambda: self.now)
        self.lone = self._kind("plain", "lone")
        self.apart = self._kind("apart by host", "apart")
        self.near = self._kind("near another", "near", "lone")

    def _kind(self, sort: str, app: str, other: str = "") -> Kind:
        made_of = templates.template(sort, app, other)
        return self.kinds.of(
            templates.pod(app, "default", made_of, owner=app, scheduler="", milli=1)
        )

    def judge(self, kind: Kind, *placed: Kind) -> Contest:
        """Judge a bind of the pod `it`, sent at this moment."""
        return self.contention.of("it", kind, self.now, placed, SPACES)


@pytest.fixture
def stage() -> Stage:
    return Stage()


def test_a_pod_alone_contests_nothing(stage: Stage) -> None:
    stage.contention.begin("it", stage.apart)
    stage.contention.end("it")
    stage.contention.begin("it", stage.apart)
    assert stage.judge(stage.apart) is Contest.NONE


def test_pods_that_have_nothing_to_do_with_each_other(stage: Stage) -> None:
    stage.contention.begin("other", stage.lone)
    assert stage.judge(stage.apart, stage.lone, stage.near) is Contest.NONE


def test_a_pod_on_a_node_contests(stage: Stage) -> None:
    assert stage.judge(stage.apart, stage.apart) is Contest.BOUND
    assert stage.judge(stage.near, stage.lone) is Contest.BOUND


def test_a_pod_in_flight_races(stage: Stage) -> None:
    stage.contention.begin("it", stage.apart)
    stage.contention.begin("other", stage.apart)
    assert stage.judge(stage.apart, stage.apart) is Contest.RACED


def test_a_pod_races_that_was_in_flight_for_a_part_of_the_time(stage: Stage) -> None:
    stage.contention.begin("other", stage.apart)
    stage.now = 1.0
    stage.contention.begin("it", stage.apart)
    stage.now = 2.0
    stage.contention.end("other")
    stage.now = 3.0
    assert stage.judge(stage.apart) is Contest.RACED


def test_a_pod_that_landed_before_does_not_race(stage: Stage) -> None:
    stage.contention.begin("other", stage.apart)
    stage.now = 1.0
    stage.contention.end("other")
    stage.now = 2.0
    stage.contention.begin("it", stage.apart)
    assert stage.judge(stage.apart) is Contest.NONE
