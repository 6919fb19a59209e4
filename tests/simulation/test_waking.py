"""When the judge of sleeping preemptors counts the seconds."""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from simulation.invariants.broken import BrokenError
from simulation.waking import PATIENCE_SECONDS, Waking


class Asleep(Waking):
    """Finds one preemptor asleep, whenever it looks."""

    def _sleeping(self) -> Iterator[tuple[str, str]]:
        yield "scheduler-1", "uid-1"


def world(*, behind: float) -> Any:
    """Return a world in which nothing is wrong, but that an API server lags."""
    calm = SimpleNamespace(is_disturbed=False)
    return SimpleNamespace(
        now=0.0,
        living=[SimpleNamespace(name="extender-1", ready=True, awake=True)],
        schedulers={"scheduler-1": None},
        server=SimpleNamespace(troubles=SimpleNamespace(any=lambda _: False), behind=behind),
        extender_link=calm,
        scheduler_link=calm,
        callback_link=calm,
        referee=SimpleNamespace(preemptions=SimpleNamespace(key_of=lambda _: "default/important")),
    )


def look_for(judge: Waking, there: Any, seconds: float) -> None:
    for _ in range(int(seconds)):
        judge.look()
        there.now += 1.0


def test_who_sleeps_while_an_api_server_lags_is_given_time_afterwards() -> None:
    there = world(behind=1.0)
    judge = Asleep(there)
    look_for(judge, there, 3 * PATIENCE_SECONDS)
    there.server.behind = 0.0
    look_for(judge, there, PATIENCE_SECONDS)
    with pytest.raises(BrokenError, match="default/important sleeps"):
        look_for(judge, there, 2.0)
