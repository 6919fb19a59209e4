"""Pods that come and go while a list of pods is awaited from an API server that lags."""

from __future__ import annotations

from simulation.actions import Action
from simulation.plan import Plan, Setup
from simulation.themes import CONTENTION
from simulation.world import run

SETUP = Setup(
    nodes=4,
    zones=1,
    cpu=8,
    workloads=0,
    streams_lists=True,
    page=500,
    least_sampled=2,
    schedulers=1,
    cache_lag=0.005,
    servers=2,
    replicas=1,
    network=0.002,
    theme=CONTENTION,
)
A_LIST_THAT_WAITS = (
    Action(2.0, "wave", number=201),
    Action(2.1, "wave", number=211),
    Action(2.2, "wave", number=221),
    Action(2.3, "wave", number=230),
    Action(3.0, "lagging server", 20.0, 1),
    Action(4.0, "compact", number=1),
    Action(4.01, "close watches", number=1),
)
"""Short jobs run while a server lags, and clients have to list once."""
BUSY_SECONDS = 12.0


def test_no_place_is_kept_for_a_pod_that_ended_while_a_list_was_awaited() -> None:
    outcome = run(Plan(1, SETUP, A_LIST_THAT_WAITS, BUSY_SECONDS))
    assert outcome.broken is None
    assert outcome.binds["contested"] > 0
