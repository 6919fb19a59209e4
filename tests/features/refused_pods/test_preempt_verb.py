"""Victims of the scheduler's choice, where pods are evicted by the extender as well."""

from __future__ import annotations

import json
from typing import Any

from extender.core.callbacks.preempting import Preemptions
from tests.answering import requests_of
from tests.features.refused_pods.preempting import PreemptionRig
from tests.important_pods import MIDDLE, important, plain, server
from tests.verbs.judging import AFFINITY


async def asked(cluster: PreemptionRig, victims: dict[str, Any]) -> Any:
    """Ask which of the scheduler's victims are to go."""
    preemptions = Preemptions(
        requests_of(cluster.state),
        AFFINITY,
        may_be_empty=False,
        clock=lambda: cluster.now,
        preemption=cluster.controller,
    )
    body = {"Pod": important(), "NodeNameToMetaVictims": victims}
    return json.loads(await preemptions.answer(json.dumps(body).encode()))["NodeNameToMetaVictims"]


async def test_where_no_rule_of_ours_is_about_any_pod_the_victims_are_the_schedulers() -> None:
    """By room alone a less important one would do."""
    there = [plain("web-1", "a", MIDDLE), plain("other", "a")]
    cluster = PreemptionRig([server("a", pods="2")], *there, important())
    victims = {"a": {"Pods": [{"UID": "default-web-1"}], "NumPDBViolations": 0}}
    assert await asked(cluster, victims) == victims


async def test_a_group_that_the_scheduler_named_goes_as_a_whole() -> None:
    there = [plain(name, "a").in_group("gang") for name in ("one", "two")]
    cluster = PreemptionRig([server("a", pods="2")], *there, important())
    pods = [{"UID": "default-one"}, {"UID": "default-two"}]
    victims = {"a": {"Pods": pods, "NumPDBViolations": 1}}
    assert await asked(cluster, victims) == victims
