"""A picture that nobody confirms any more, and what is still answered from it."""

from __future__ import annotations

import logging
import time

import pytest

from extender.core.cluster.state import ClusterState
from extender.core.controllers.staleness import (
    CATCH_UP_SECONDS,
    LOOK_SECONDS,
    OVERTAKEN_SECONDS,
    STEP_DOWN_SECONDS,
    STILL_SECONDS,
    Freshness,
)
from extender.core.verbs.filtering import indeterminate
from extender.core.verbs.inter_pod_affinity import InterPodAffinity
from tests.builders import ZONE, Pod, model_pod, node, pod, selector, state_of, term

NODES = [node("a", {ZONE: "a"})]
LONER = pod("loner").labels(app="web").anti_affinity(term(ZONE, selector(app="web")))
VITAL = ("namespaces", "nodes", "pods")


class Silence:
    """A source that says when it was last heard."""

    def __init__(self) -> None:
        self.seconds: dict[str, float | None] = {"pods": 0.0, "poddisruptionbudgets": 0.0}
        self.state = ClusterState()
        self.now = 0.0
        self.freshness = Freshness(
            lambda: self.seconds, 180, self.state, VITAL, clock=lambda: self.now
        )


@pytest.mark.parametrize(
    ("seconds", "passes"),
    [
        pytest.param(None, True, id="not even listed, which another check tells"),
        pytest.param(179.9, True, id="just fresh"),
        pytest.param(180.0, False, id="stale"),
    ],
)
def test_readiness_fails_after_the_limit(seconds: float | None, passes: bool) -> None:
    silence = Silence()
    silence.seconds["pods"] = seconds
    why = silence.freshness.check("pods")()
    assert (why is None) is passes
    assert why is None or "nothing of it for 180 s" in why
    assert silence.freshness.check("poddisruptionbudgets")() is None


def test_staleness_and_its_end_are_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    silence = Silence()
    for seconds in (0.0, 200.0, 201.0, 1.0, 2.0):
        silence.seconds["pods"] = seconds
        silence.freshness.look()
    assert [record.getMessage() for record in caplog.records] == [
        (
            "pods: stale: the API server said nothing of it for 200 s, 180 is the limit; "
            "not ready until something is received"
        ),
        "pods: something was received, no longer stale",
    ]


def test_only_what_rules_are_judged_by_casts_doubt() -> None:
    silence = Silence()
    said = []
    for resource, seconds in (("poddisruptionbudgets", 500.0), ("pods", 500.0), ("pods", 0.0)):
        silence.seconds[resource] = seconds
        silence.freshness.look()
        said.append(silence.state.stale)
    assert said == [None, "nothing received about pods for too long", None]


@pytest.mark.parametrize("looks_first", [False, True])
@pytest.mark.parametrize(
    ("pause", "rest"),
    [
        pytest.param(LOOK_SECONDS + STILL_SECONDS, CATCH_UP_SECONDS, id="until it has caught up"),
        pytest.param(OVERTAKEN_SECONDS, STEP_DOWN_SECONDS, id="until its scheduler has ended"),
    ],
)
def test_a_process_that_stood_still_gives_no_verdict_for_a_while(
    pause: float, rest: float, *, looks_first: bool
) -> None:
    silence = Silence()
    assert silence.freshness.behind() is None
    silence.now += pause
    if looks_first:
        silence.freshness.look()
    said = [silence.freshness.behind()]
    for _ in range(int(rest)):
        silence.now += LOOK_SECONDS
        silence.freshness.look()
        said.append(silence.freshness.behind())
    assert [why is None for why in said] == [False] * int(rest) + [True]


@pytest.mark.skipif(not hasattr(time, "CLOCK_BOOTTIME"), reason="no such clock here")
def test_the_time_in_which_the_machine_was_suspended_counts(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # Of the two clocks, Linux stops the first meanwhile.
    monkeypatch.setattr(time, "monotonic", lambda: 1000.0)
    seconds = {time.CLOCK_MONOTONIC: 1000.0, time.CLOCK_BOOTTIME: 1000.0}
    monkeypatch.setattr(time, "clock_gettime", seconds.__getitem__)
    freshness = Freshness(dict, 180, ClusterState(), VITAL)
    assert freshness.behind() is None
    seconds[time.CLOCK_BOOTTIME] += 3600
    assert freshness.behind() is not None


@pytest.mark.parametrize(
    ("placed", "incoming", "waits"),
    [
        pytest.param([], LONER, True, id="with a hard rule of its own"),
        pytest.param([LONER.on("a")], pod("web").labels(app="web"), True, id="of others"),
        pytest.param([], pod("plain"), False, id="that no rule is about"),
    ],
)
def test_where_a_picture_is_stale_a_pod_waits(
    placed: list[Pod], incoming: Pod, waits: bool
) -> None:
    state = state_of(NODES, [], placed)
    state.stale = "too old"
    plugins = (InterPodAffinity(),)
    assert indeterminate(state, model_pod(incoming), plugins) == ("too old" if waits else None)
