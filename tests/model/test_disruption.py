"""Which pods a disruption budget is about, as the scheduler's preemption sees it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from extender.cluster.ledgers.budgets import BudgetLedger
from extender.wire.objects import read_budget
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
