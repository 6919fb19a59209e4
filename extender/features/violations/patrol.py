"""Keeps looking for placed pods that break required rules, and says what it finds."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterator
from itertools import islice
from typing import NoReturn, TypeAlias

from extender.core.cluster.counts.existing_term import Role
from extender.core.cluster.state import ClusterState
from extender.core.metrics.series import GaugeRow
from extender.core.model.pod_affinity import LimitedTerm, Term
from extender.core.model.wording import plural, pods_of
from extender.core.ports import Check
from extender.diagnosis.verbs.violations import (
    STEP_ENTRIES,
    STEP_LOOKS,
    News,
    Violation,
    Watch,
    Witnesses,
    patrol,
)

STEP_PAUSE_SECONDS = 0.05
"""A round takes half a minute with 50,000 pods that are all different, at a thirtieth of a core,
and with 150,000 replicas of 500 apps, at a thousandth."""
ROUND_PAUSE_SECONDS = 5.0
MOST_LINES = 10
"""Lines at a time: a changed label of a node can break a thousand rules at once."""

_ByRule: TypeAlias = dict[tuple[Role, Term], tuple[News, int]]
"""What is news first of each rule, and in how many topology domains."""

RULES = {Role.REQUIRED_ANTI: "antiAffinity", Role.REQUIRED: "affinity"}

_log = logging.getLogger(__name__)


async def keep_patrolling(
    state: ClusterState,
    gauge: GaugeRow,
    plugin: str,
    unready: Check,
    *,
    watch: Watch,
    step_pause: float = STEP_PAUSE_SECONDS,
    round_pause: float = ROUND_PAUSE_SECONDS,
) -> NoReturn:
    """Log what breaks and what is met again, a line a rule in each round, and keep the metric.

    What is known is kept in `watch`, for others to read.

    While parts of the cluster are not known yet, pods lack matching pods that they do have: then
    nothing is looked at.
    """
    while True:
        found: set[Violation] = set()
        begun: _ByRule = {}
        ended: _ByRule = {}
        for step in patrol(state, STEP_ENTRIES) if unready() is None else ():
            found |= step
            await _take(begun, watch.take(step), step_pause)
            _publish(watch, gauge, plugin)
            await asyncio.sleep(step_pause)
        if unready() is None:
            await _take(ended, watch.drop_ended(found), step_pause)
        _say(logging.WARNING, _begun, begun)
        _say(logging.INFO, _ended, ended)
        _publish(watch, gauge, plugin)
        await asyncio.sleep(round_pause)


def _publish(watch: Watch, gauge: GaugeRow, plugin: str) -> None:
    for role, rule in RULES.items():
        gauge.set(watch.count(role), plugin, rule)


async def _take(told: _ByRule, news: Iterator[News | None], pause: float) -> None:
    for looks, item in enumerate(news, start=1):
        if item is not None:
            rule = item[0].role, item[0].term
            first, domains = told.get(rule, (item, 0))
            told[rule] = first, domains + 1
        if looks % STEP_LOOKS == 0:
            await asyncio.sleep(pause)


def _say(level: int, put: Callable[[Violation, Witnesses], str], told: _ByRule) -> None:
    for first, domains in islice(told.values(), MOST_LINES):
        more = f", and so in {plural(domains - 1, 'more domain')}" if domains > 1 else ""
        _log.log(level, "%s%s", put(*first), more)
    if len(told) > MOST_LINES:
        _log.log(level, "and %d more rules; /page/violations has all", len(told) - MOST_LINES)


def _begun(violation: Violation, shown: Witnesses) -> str:
    where, term = place(violation), pods_of(violation.term.pods)
    if isinstance(violation.term, LimitedTerm):
        return (
            f"maxMatchingPods is exceeded: in {where}, where {shown.owner} is, are more than "
            f"{plural(violation.term.most, 'pod')}, {shown.other} among them ({term})"
        )
    if violation.role is Role.REQUIRED_ANTI:
        return (
            f"required anti-affinity is broken: {shown.owner} must not share {where} "
            f"with {shown.other} ({term})"
        )
    return f"required affinity is broken: {shown.owner} has no matching pod in {where} ({term})"


def _ended(violation: Violation, shown: Witnesses) -> str:
    kind = "anti-affinity" if violation.role is Role.REQUIRED_ANTI else "affinity"
    return (
        f"required {kind} is met again in {place(violation)}: it was broken for {shown.owner} "
        f"({pods_of(violation.term.pods)})"
    )


def place(violation: Violation) -> str:
    key, value = violation.term.topology_key, violation.domain
    return f"a node without the label {key}" if value is None else f"{key}={value}"
