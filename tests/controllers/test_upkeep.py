"""What goes on in the state while the program runs: reservations expire, the rest is tidied up."""

from __future__ import annotations

import asyncio

import pytest

from extender.core.cluster.state import ClusterState
from extender.core.controllers.upkeep import (
    EXPIRED_LOG_BURST,
    FORGET_SECONDS,
    keep_expiring,
    keep_forgetting,
)
from tests.builders import HOST, model_pod, pod, selector, term
from tests.kube.virtual_loop import run_virtually


async def test_hundreds_of_expired_reservations_are_a_few_lines(
    caplog: pytest.LogCaptureFixture,
) -> None:
    state = ClusterState()
    for number in range(300):
        state.reserve(model_pod(pod(f"lost-{number}")), "a", deadline=0.0)
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.01):
            await keep_expiring(state, clock=lambda: 1.0)
    assert len(state.reservations) == 0
    assert len(caplog.records) == EXPIRED_LOG_BURST
    assert caplog.messages[0] == (
        "reservation of default/lost-0 on a expired: the watch never showed the pod there"
    )


def test_what_no_question_asks_for_any_more_is_given_up() -> None:
    state = ClusterState()
    terms = [
        model_pod(pod("x").anti_affinity(term(HOST, selector(app=app)))).pod_class.affinity
        for app in "ab"
    ]

    async def run() -> None:
        keeping = asyncio.create_task(keep_forgetting(state))
        for each in terms:
            state.matched(each.required_anti[0])
        await asyncio.sleep(FORGET_SECONDS + 1)
        assert len(state.matching_sets) == 2, "they were asked for since the start"
        kept = state.matched(terms[0].required_anti[0])
        await asyncio.sleep(FORGET_SECONDS)
        assert [each.table for each in state.matching_sets] == [kept]
        keeping.cancel()

    run_virtually(run())
