"""Which pods a disruption budget is about, and what the mark of a victim says."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest

from extender.core.cluster.ledgers.budgets import BudgetLedger
from extender.core.model.disruption import mark_message, preemptor_in
from extender.core.wire.objects import PodReader, read_budget
from tests.builders import Pod, model_pod, pod, requirement, selector

DB = pod("db").labels(app="db")
NOT_WEB = selector(requirement("app", "NotIn", "web"))


@pytest.mark.parametrize(
    ("chosen", "victim", "charged"),
    [
        pytest.param(selector(app="db"), DB, True, id="its label"),
        pytest.param(selector(app="web"), DB, False, id="another label"),
        pytest.param(NOT_WEB, DB, True, id="a label that must not be web"),
        pytest.param(NOT_WEB, pod("db").labels(tier="1"), True, id="a label that is not there"),
        pytest.param(NOT_WEB, pod("db"), False, id="a pod without any label is in no budget"),
        pytest.param(
            selector(requirement("app", "DoesNotExist")), pod("db"), False, id="nor by its absence"
        ),
        pytest.param(selector(), DB, False, id="an empty selector"),
        pytest.param(None, DB, False, id="no selector"),
        pytest.param(selector(app="db"), pod("db", "far").labels(app="db"), False, id="elsewhere"),
        pytest.param(selector(app="db"), pod("gone").labels(app="db"), False, id="granted already"),
    ],
)
def test_which_pods_are_charged(chosen: Any, victim: Pod, charged: bool) -> None:
    raw = {
        "metadata": {"name": "b", "namespace": "default"},
        "spec": {"selector": chosen},
        "status": {"disruptionsAllowed": 0, "disruptedPods": {"gone": "2026-01-01T00:00:00Z"}},
    }
    ledger = BudgetLedger()
    ledger.upsert(read_budget(json.dumps(raw).encode()))
    assert bool(ledger.violated_by([model_pod(victim)])) is charged


def test_the_preemptor_is_read_from_what_was_written() -> None:
    assert preemptor_in(mark_message("default-scheduler", "0b-1")) == "0b-1"


@pytest.mark.parametrize(
    "message",
    [
        "",
        "default-scheduler: preempting to accommodate a higher priority pod",
        "x (uid 1",
        "uid 1)",
    ],
)
def test_others_do_not_say_for_whom(message: str) -> None:
    assert preemptor_in(message) is None


@pytest.mark.parametrize(
    ("status", "reason", "victim_of"),
    [
        pytest.param("True", "PreemptionByScheduler", "1", id="a mark"),
        pytest.param("False", "PreemptionByScheduler", None, id="one that was taken back"),
        pytest.param("True", "EvictionByEvictionAPI", None, id="of somebody else"),
    ],
)
def test_a_pod_is_marked_by_its_condition(status: str, reason: str, victim_of: str | None) -> None:
    condition = {
        "type": "DisruptionTarget",
        "status": status,
        "reason": reason,
        "message": mark_message("s", "1"),
    }
    pod = {
        "metadata": {"name": "a", "namespace": "default", "uid": "u"},
        "spec": {"nodeName": "n"},
        "status": {"conditions": [condition]},
    }
    read = PodReader().read(msgspec.Raw(msgspec.json.encode(pod)))
    assert (read.status.victim_of, read.status.preempted) == (victim_of, False), (
        "it is not deleted yet"
    )
