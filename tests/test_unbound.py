"""Filter calls that no bind follows leave nothing behind: simulators make them by the thousand."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Any, Final

import pytest

from extender.core.callbacks import in_flight, wait_budget
from extender.core.cluster.counts.node_rules import FIRST_CAPACITY
from extender.core.cluster.view import MOST_MATCHING_SETS
from extender.core.config.features import Help, enabled, features
from extender.core.model import memory
from tests.beside import needs_rules
from tests.builders import HOST, pod, selector, term
from tests.features.every import remembered
from tests.kube.virtual_loop import run_virtually
from tests.unbound import Program, everything, kept, kinds, simulate

if TYPE_CHECKING:
    from extender.core.web.app import Callback

MODES: Final = ("replace", "assist", "shadow")
CALLS: Final = (1_000, pytest.param(4_000, marks=pytest.mark.thorough))
SETTLED_S: Final = 10.0
ENOUGH: Final = 2_500
"""Calls of which more are refused than refused pods are remembered."""
HELPED: Final = any(Help.NODE in each.gives for each in features())
"""Whether a feature leads refused pods to nodes."""
COLUMNS: Final = memory.NODE_RULES // FIRST_CAPACITY
BOUNDS: Final = {
    # In assist, filter and prioritize each have their own.
    "InFlightPods._pods": 2 * in_flight.MOST_PODS,
    "InFlightPods._rows": in_flight.MOST_PODS,
    "WaitBudget._resting": 2 * wait_budget.MOST_PODS,
    "WaitBudget._debts": 2 * wait_budget.MOST_NAMESPACES,
    # What questions asked for lately, each within a budget.
    "MatchingPodSets._filed": MOST_MATCHING_SETS,
    "PodSet.weights": MOST_MATCHING_SETS,
    "SelectorIndex._filed": 3 * MOST_MATCHING_SETS,
    "NodeRule.terms": COLUMNS,
    **remembered(),
}
"""How many entries about such pods a registry may have; caches with a budget of their own apart."""


@pytest.fixture(autouse=True)
def quiet(caplog: pytest.LogCaptureFixture) -> None:
    """Log nothing of thousands of pods."""
    caplog.set_level(logging.CRITICAL)


def test_every_feature_is_on_in_some_mode() -> None:
    found = {each.name for mode in MODES for each in enabled(everything(mode))}
    assert found == {each.name for each in features()}


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("calls", CALLS)
def test_nothing_is_kept_of_them_for_long(mode: str, calls: int) -> None:
    async def ask() -> None:
        async with Program.running(everything(mode)) as program:
            await simulate(program, calls)
            await asyncio.sleep(SETTLED_S)
            assert not {
                name: number
                for name, number in kept(program.roots).items()
                if number > BOUNDS.get(name, 0)
            }

    run_virtually(ask())


class Leaking:
    """Remembers each pod that it was asked about."""

    def __init__(self, callback: Callback) -> None:
        self._callback = callback
        self._asked: dict[str, bytes] = {}

    async def answer(self, body: bytes) -> bytes:
        self._asked[str(len(self._asked))] = body
        return await self._callback.answer(body)

    def fault(self, error: Exception, seconds: float) -> bytes:
        return self._callback.fault(error, seconds)


def test_a_registry_that_nobody_knows_of_is_found() -> None:
    async def ask() -> None:
        async with Program.running(everything("replace")) as program:
            program.callbacks = {
                **program.callbacks,
                "filter": Leaking(program.callbacks["filter"]),
            }
            await simulate(program, 100)
            assert kept(program.roots)["Leaking._asked"] == 100

    run_virtually(ask())


async def told(mode: str, calls: int) -> dict[str, Any]:
    """Return what pods that the watch shows are told and get, before and after so many such calls.

    Of each kind, the verdicts, the scores and the seconds that these took; and what is written.
    """
    async with Program.running(everything(mode)) as program:
        found: dict[str, Any] = {}
        waits = pod("waits").affinity(term(HOST, selector(app="late")))
        with program.known(waits):
            found["before"] = await program.schedule(waits)
            await simulate(program, calls, preempts=False)
            await asyncio.sleep(SETTLED_S)
            for name, make in kinds(program.config).items():
                raw = make(f"real-{len(found)}")
                with program.known(raw):
                    found[name] = await program.timed(raw)
                    await asyncio.sleep(1.0)
            with program.known(pod("late").labels(app="late").on("n4")):
                await asyncio.sleep(1.0)
        found["written"] = [each for each in program.taken if "lastProbeTime" not in each[-1]]
        return found


@pytest.mark.parametrize("mode", MODES)
def test_pods_that_exist_get_what_they_would_get_without_them(mode: str) -> None:
    without = run_virtually(told(mode, 0))
    assert bool(without["written"]) is (mode == "replace" and HELPED)
    assert run_virtually(told(mode, ENOUGH)) == without


@pytest.mark.parametrize(
    ("mode", "kind", "seconds"),
    [
        pytest.param("replace", "in the way of others", in_flight.HOLD_SECONDS),
        pytest.param("assist", "likewise by a wish", in_flight.SCORE_HOLD_SECONDS),
        pytest.param(
            *("assist", "likewise by its annotation", in_flight.UNSEEN_HOLD_SECONDS),
            marks=needs_rules,
        ),
    ],
)
def test_only_a_pod_that_comes_right_after_one_waits(mode: str, kind: str, seconds: float) -> None:
    async def ask() -> None:
        async with Program.running(everything(mode)) as program:
            make = kinds(program.config)[kind]
            hold = seconds
            if mode == "replace" and not any(part.in_flight for part in program.parts):
                hold = in_flight.UNSEEN_HOLD_SECONDS
            with program.known(make("real")):
                alone = await program.timed(make("real"))
                await asyncio.sleep(SETTLED_S)
                await program.schedule(make("unbound"))
                verdicts, scores, waited = await program.timed(make("real"))
                assert (verdicts, scores, 0.0) == alone
                assert waited == pytest.approx(hold)
                await program.schedule(make("unbound-too"))
                await asyncio.sleep(hold)
                assert await program.timed(make("real")) == alone

    run_virtually(ask())
