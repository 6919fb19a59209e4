"""What the judge of reports takes a report to have to say."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest
from aiohttp import web

from extender.core.cluster.state import ClusterState
from extender.core.metrics import Metrics
from extender.core.parts import Part
from extender.core.web.offered import Route
from simulation import templates
from simulation.apiserver.store import Store, encode
from simulation.apiserver.verbs import delete
from simulation.invariants.broken import BrokenError
from simulation.invariants.counted import Stored
from simulation.invariants.reports import FALSE, PATH, ROUND_SECONDS, Report, Reports, differences
from simulation.loop import simulate
from simulation.movable import AFFINITY

ZONE = f"{templates.ZONE}=z0"
APART = {"rule": "antiAffinity", "domain": ZONE, "owner": "default/one", "other": "default/two"}
LONELY = {"rule": "affinity", "domain": ZONE, "owner": "default/near", "other": None}
UNLABELLED = {**LONELY, "domain": f"a node without the label {templates.ZONE}"}
SAID = {"antiAffinity": 1, "affinity": 1}


def place(store: Store, name: str, sort: str, app: str, about: str, **made_of: Any) -> None:
    template = {**templates.template(sort, app, about), **made_of}
    pod = templates.pod(name, "default", template, owner="", scheduler="", milli=10)
    store.create("pods", {**pod, "spec": {**pod["spec"], "nodeName": "a"}}, "users")


@pytest.fixture
def store() -> Store:
    """Return a cluster in which two pods of a zone exclude each other, and one lacks company."""
    store = Store()
    store.create("namespaces", templates.namespace("default", "blue"), "users")
    store.create("nodes", templates.node("a", "z0", 8), "users")
    for name in ("one", "two"):
        place(store, name, "apart by zone", "app", "app")
    place(store, "near", "near another", "near", "nothing")
    return store


def found(store: Store, *rules: dict[str, Any], **gauge: float) -> list[str]:
    report = Report(rules, len(rules), gauge)
    return [invariant for invariant, _ in differences(report, Stored(store))]


def test_a_report_is_right_whichever_pods_show_its_rules(store: Store) -> None:
    assert found(store, APART, LONELY, **SAID) == []
    swapped = {**APART, "owner": "default/two", "other": "default/one"}
    assert found(store, LONELY, swapped, **SAID) == []


@pytest.mark.parametrize(
    ("rules", "gauge", "broken"),
    [
        pytest.param([LONELY], {"affinity": 1}, "broken rule not reported", id="one too few"),
        pytest.param(
            [APART, LONELY, APART],
            {"affinity": 1, "antiAffinity": 2},
            "reported more than once",
            id="one too many",
        ),
        pytest.param(
            [APART, LONELY], {"affinity": 1}, "reports differ from each other", id="gauge"
        ),
        pytest.param([{**APART, "other": "default/near"}, LONELY], SAID, FALSE, id="other pod"),
        pytest.param([{**APART, "owner": "default/gone"}, LONELY], SAID, FALSE, id="no such owner"),
    ],
)
def test_a_report_may_be_wrong(
    store: Store, rules: list[dict[str, Any]], gauge: dict[str, float], broken: str
) -> None:
    assert broken in found(store, *rules, **gauge)


def test_a_count_is_that_of_all_rules(store: Store) -> None:
    report = Report([APART, LONELY], 1, SAID)
    broken = [invariant for invariant, _ in differences(report, Stored(store))]
    assert broken == ["reports differ from each other"]


def test_a_rule_that_is_met_is_not_to_be_reported(store: Store) -> None:
    place(store, "company", "plain", "nothing", "nothing")
    assert FALSE in found(store, APART, LONELY, **SAID)
    assert found(store, APART, antiAffinity=1) == []


def test_a_node_without_the_label_has_no_company(store: Store) -> None:
    store.update("nodes", "a", lambda node: {**node, "metadata": {"name": "a", "labels": {}}}, "u")
    assert found(store, UNLABELLED, affinity=1) == []


def test_of_rules_in_annotations_nothing_is_said(store: Store) -> None:
    place(store, "noted", "plain", "other", "other", annotations={AFFINITY: "{}"})
    noted = {**APART, "owner": "default/noted"}
    assert found(store, APART, LONELY, noted, affinity=1, antiAffinity=2) == []


class Told(Part):
    """Says the same whatever happens."""

    def __init__(self, rules: list[dict[str, Any]]) -> None:
        self._rules = rules
        self.routes = [Route(PATH, self._get)]

    async def _get(self, _: web.Request) -> web.Response:
        return web.Response(body=encode({"rules": self._rules, "rulesCount": len(self._rules)}))


class Reporter:
    name = "extender-1"
    metrics: Metrics | None = None
    awake = True

    def __init__(self, rules: list[dict[str, Any]], *, ready: bool) -> None:
        self.state = ClusterState()
        self.parts: Sequence[Part] = [Told(rules)]
        self.ready = ready


def looked(reporter: Reporter, store: Store, later: float = 0.0) -> str | None:
    """Return what breaks when a report is asked for, after a pod that it names is gone."""
    now = [0.0]
    reports = Reports(store, lambda: now[0], lambda _, at: at)

    async def look() -> None:
        delete(store, "default/two", "users", grace=0.0)
        now[0] += later
        reports.look([reporter])
        await asyncio.sleep(1.0)
        reports.look([reporter])

    try:
        simulate(look())
    except BrokenError as broken:
        return broken.invariant
    return None


def test_nothing_is_to_be_reported_before_all_is_listed(store: Store) -> None:
    broken = "reported before all was listed"
    assert looked(Reporter([], ready=False), store) == broken


@pytest.mark.parametrize(
    ("later", "broken"), [(ROUND_SECONDS - 1.0, None), (ROUND_SECONDS + 1.0, FALSE)]
)
def test_a_report_is_a_round_old_at_most(store: Store, later: float, broken: str | None) -> None:
    assert looked(Reporter([APART], ready=True), store, later) == broken
