"""For how long a refused pod is remembered that the watch does not show."""

from __future__ import annotations

import pytest

from extender.controllers.refused_pods.refusals import GONE_SECONDS, Refusal
from extender.timing import LONGEST_PAUSE_SECONDS
from tests.builders import model_pod, pod

HEARD = 100.0


def refusal() -> Refusal:
    return Refusal(model_pod(pod("one")), HEARD)


def seconds_of_looking(refused: Refusal, start: float) -> float:
    """Return for how long after `start` somebody goes on to look for a pod that is not shown."""
    now = start
    while (wait := refused.wait_for_watch(now, known=False)) is not None:
        assert wait <= (now - HEARD) / 8, "it is found soon after it is shown"
        now += wait
    return now - start


def test_nobody_waits_for_a_pod_that_is_shown() -> None:
    assert refusal().wait_for_watch(HEARD + 0.03, known=True) is None


def test_a_pod_that_was_never_shown_is_looked_for_until_the_scheduler_comes_back() -> None:
    looked = seconds_of_looking(refusal(), HEARD + 0.03)
    assert looked == pytest.approx(LONGEST_PAUSE_SECONDS, rel=0.15)


def test_a_pod_that_was_shown_and_is_gone_is_soon_forgotten() -> None:
    refused = refusal()
    refused.wait_for_watch(HEARD + 0.03, known=True)
    looked = seconds_of_looking(refused, HEARD + 0.1)
    assert looked == pytest.approx(GONE_SECONDS, rel=0.15)


def test_a_pod_that_is_refused_anew_is_looked_for_anew() -> None:
    refused = refusal()
    later = HEARD + LONGEST_PAUSE_SECONDS
    assert refused.wait_for_watch(later, known=False) is None
    refused.heard = later
    assert refused.wait_for_watch(later + 0.1, known=False) == pytest.approx(0.1 / 8)
