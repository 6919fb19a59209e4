"""Bugs of what is reported, planted in the simulation to see whether they are found."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, NoReturn

from extender.core.kube.calls import pod_path
from extender.core.parts import Task
from extender.diagnosis.verbs.violations import Watch
from extender.features.violations.found import Found
from extender.features.violations.part import Patrol
from simulation.invariants.reports import FALSE
from simulation.themes import REPORTS
from tests.simulation.planting import Planted as AnyPlanted

if TYPE_CHECKING:
    import pytest


def _ends_no_rule(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Watch, "drop_ended", lambda *_: iter(()))


def _finds_no_rule(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Watch, "take", lambda *_: iter(()))


def _evicts_who_breaks_a_rule(patch: pytest.MonkeyPatch) -> None:
    tasks = Patrol.tasks

    async def evict(patrol: Patrol) -> NoReturn:
        while True:
            await asyncio.sleep(1.0)
            api = patrol._context.source.api
            if patrol.found.watch.known and api is not None:
                key = next(iter(patrol.found.state.placed_pods)).key
                await api.client.post(f"{pod_path(key)}/eviction", b"{}")

    def more(self: Patrol) -> Iterator[Task]:
        yield from tasks(self)
        yield "evictions", evict(self)

    patch.setattr(Patrol, "tasks", more)


def _answers_at_once(patch: pytest.MonkeyPatch) -> None:
    init = Found.__init__

    def ready(self: Found, state: Any, watch: Any, _: object, findings: Any) -> None:
        init(self, state, watch, lambda: None, findings)

    patch.setattr(Found, "__init__", ready)


Planted = partial(AnyPlanted, runs=lambda plan: plan.setup.theme == REPORTS)

PLANTED: Mapping[str, AnyPlanted] = {
    "reports rules that are met again": Planted(_ends_no_rule, {FALSE, "reported more than once"}),
    "evicts who breaks a rule": Planted(
        _evicts_who_breaks_a_rule, {"evicted by one that only looks"}
    ),
    "reports before it has listed": Planted(_answers_at_once, {"reported before all was listed"}),
    "finds no broken rule": Planted(_finds_no_rule, {"broken rule not reported"}),
}
