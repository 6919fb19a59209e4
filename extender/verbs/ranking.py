"""Which of several nodes the scheduler takes to preempt on: the order of its preferences."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import inf
from typing import TypeAlias

from extender.cluster.view import ClusterView
from extender.model.objects import Pod
from extender.verbs.preempting import Victims

Rank: TypeAlias = tuple[int, int, int, int, float]

LOWEST_PRIORITY = -(1 << 31)


def rank(victims: Sequence[Pod], violations: int) -> Rank:
    """Return how bad a set of victims is, the most important victim first; the lowest is taken.

    As in kube-scheduler's pickOneNodeForPreemption: violated disruption budgets, the highest
    priority, the sum of priorities (each taken as above the lowest there is, so that fewer are
    better), the number of victims, and the latest start of those with the highest priority. One
    that has not started counts as starting now.
    """
    top = max(pod.priority for pod in victims)
    starts = [inf if pod.started is None else pod.started for pod in victims if pod.priority == top]
    return (
        violations,
        victims[0].priority,
        sum(pod.priority - LOWEST_PRIORITY for pod in victims),
        len(victims),
        -min(starts),
    )


@dataclass(frozen=True, slots=True)
class Settled:
    """Candidates of which it is known which one the scheduler takes."""

    chosen: Mapping[str, Victims]
    taken: str | None
    """None where that cannot be told."""


def rank_of(state: ClusterView, node: str, victims: Victims) -> Rank | None:
    """Return how bad some victims on a node are; None where one of them is unknown."""
    there = {pod.uid: pod for pod in (*state.pods_on(node), *state.reservations.on(node))}
    pods = [there[uid] for uid in victims.uids if uid in there]
    if not pods or len(pods) < len(victims.uids):
        return None
    return rank(pods, victims.violations)


def settle(chosen: Mapping[str, Victims], ranks: Mapping[str, Rank | None]) -> Settled:
    """Leave out candidates that are as good as the best one, and say which that is.

    Of equal ones the scheduler takes any. With one left, its nomination counts before the watch
    shows it. Those that it likes less stay, for other extenders to choose from. A victim that is
    unknown has no rank: then nothing is left out.
    """
    if len(chosen) == 1:
        return Settled(chosen, next(iter(chosen)))
    known = {node: found for node in chosen if (found := ranks[node]) is not None}
    if not known or len(known) < len(chosen):
        return Settled(chosen, None)
    best = min(known, key=lambda node: known[node])
    left = {
        node: victims
        for node, victims in chosen.items()
        if node == best or known[node] != known[best]
    }
    return Settled(left, best)
