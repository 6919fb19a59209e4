"""How the scheduler runs: replicas, requests to the API server."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from affinityctl.lint.finding import Level, Rule, Spot
from affinityctl.lint.setup import Setup
from extender.config import Mode

_DEFAULT_QPS: Final = 50.0


def _slow(setup: Setup) -> Iterator[Spot]:
    client = setup.scheduler.client_connection
    qps = _DEFAULT_QPS if client is None or not client.qps else client.qps
    # Below zero: no limit.
    if setup.mode is not Mode.SHADOW and 0 < qps <= _DEFAULT_QPS:
        yield Spot("clientConnection.qps", f"{qps:g} requests a second")


def _two_leaders(setup: Setup) -> Iterator[Spot]:
    election = setup.scheduler.leader_election
    if election is not None and not election.leader_elect:
        yield Spot("leaderElection.leaderElect", "false")


RULES: Final = (
    Rule(
        "slow-api-client",
        Level.WARNING,
        "The scheduler's limit of requests to the API server is at its default.",
        "Each placement is a request, so the scheduler places 50 pods a second at most, however "
        "fast it decides.",
        "Set clientConnection.qps: 200 and burst: 400.",
        _slow,
    ),
    Rule(
        "no-leader-election",
        Level.WARNING,
        "Leader election is off.",
        "Two active replicas place the same pods, and each extender knows only the binds of its "
        "own scheduler.",
        "Set leaderElection.leaderElect: true, unless there is a single replica for certain.",
        _two_leaders,
    ),
)
