"""A call takes no more instructions than was accepted, beside a server that answers at once.

Times would say little: on a busy machine they differ by half from run to run.
"""

from __future__ import annotations

import platform

import pytest

from bench.instructions.callgrind import ARCHITECTURE, why_not
from bench.instructions.ratios import PYTHON, Ratios, accepted, grown, measure
from bench.workloads import Rules
from tests.missing import missing

pytestmark = pytest.mark.thorough

NOTHING_TO_DO = Rules.NONE.value
ONCE_MORE = 1
"""Readings of each request that are planted: an eighth of a cycle of a pod without rules."""


@pytest.fixture(scope="module")
def before() -> Ratios:
    ratios, python = accepted()
    if platform.machine() != ARCHITECTURE or python != PYTHON:
        pytest.skip(f"the accepted ratios are for Python {python} on {ARCHITECTURE}")
    reason = why_not()
    if reason is not None:
        missing(reason)
    return ratios


@pytest.fixture(scope="module")
def now(before: Ratios) -> Ratios:
    del before
    return measure()[0]


def test_no_cycle_takes_more_than_was_accepted(now: Ratios, before: Ratios) -> None:
    assert list(grown(now, before)) == []


def test_an_eighth_more_is_found(now: Ratios) -> None:
    slower = measure(again=ONCE_MORE)[0]
    assert slower[NOTHING_TO_DO] / now[NOTHING_TO_DO] == pytest.approx(1.135, abs=0.025)
    (found,) = (each for each in grown(slower, now) if each.startswith(NOTHING_TO_DO))
    assert "--accept" in found
