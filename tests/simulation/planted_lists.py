"""Runs in which pods are listed from a server that lags: a bug takes such lists for proof."""

from __future__ import annotations

from simulation.actions import Action
from simulation.plan import Plan, Setup

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
)
LONG_PODS_AND_SHORT = [
    Action(
        round(40.1 + 0.3 * number, 3),
        ("burst of pods", "wave")[number % 2],
        number=200 + 7 * number,
    )
    for number in range(6)
]
"""More pods than there are places for, and jobs whose ends have the scheduler try those again."""
LISTS = [
    Action(42.0 + 2.0 * number + later, what, number=1)
    for number in range(4)
    for later, what in ((0.0, "compact"), (0.01, "close watches"))
]
LAGGING = Action(40.0, "lagging server", 20.0, 1)


def old_lists(seed: int) -> Plan:
    """Have pods listed again and again while one of two servers does not know the latest.

    In runs that are drawn, a list in such a moment is rare: one server has to lag, the history of
    the other to be compacted, and watches to end after that.
    """
    actions = sorted((LAGGING, *LONG_PODS_AND_SHORT, *LISTS), key=lambda each: each.at)
    return Plan(seed, SETUP, tuple(actions), 52.0)
