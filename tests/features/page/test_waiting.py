"""The pods that wait, as their scheduler speaks of them: on the first page, and in the metric."""

from __future__ import annotations

import asyncio
import json
import time
from typing import Any

import pytest
from prometheus_client import CollectorRegistry

from extender.core.cluster.state import ClusterState
from extender.core.metrics.series import Collectors
from extender.core.model.verdict import Reason
from extender.core.wire.objects import PodReader
from extender.features.page import waiting
from extender.features.page.part import PagesForPeople
from extender.features.page.waiting import (
    GATES,
    NOT_TRIED,
    OTHER,
    REASONS,
    Cause,
    count,
    main_reason,
)
from tests.builders import pod
from tests.web.reading import read_page
from tests.web.showing import app_of, shown

APART = Reason.ANTI_AFFINITY.value
OF_APART = f"0/9 nodes are available: 3 Insufficient cpu, 6 {APART}. preemption: not helpful"


def state_of(**messages: str | None) -> ClusterState:
    """Return a state with pods that wait, each with what the scheduler said; None: nothing."""
    state, reader = ClusterState(), PodReader(waiting=True)
    for age, (name, message) in enumerate(messages.items(), start=1):
        made: Any = pod(name.replace("_", "-"), "shop")
        at = time.gmtime(time.time() - 3600 * age)
        made["metadata"]["creationTimestamp"] = time.strftime("%Y-%m-%dT%H:%M:%SZ", at)
        if message is not None:
            said = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable"}
            made["status"] = {"conditions": [said | {"message": message}]}
        state.upsert_pod(reader.read(json.dumps(made).encode()))
    return state


@pytest.mark.parametrize(
    ("message", "reason"),
    [
        pytest.param(OF_APART, APART, id="most nodes count"),
        pytest.param(f"0/3 nodes are available: 3 {APART}.", APART, id="nothing after it"),
        pytest.param(
            "0/4 nodes are available: 1 Too many pods, 3 Insufficient nvidia.com/gpu. no new "
            "claims to deallocate, preemption: 0/4 nodes are available: 4 No preemption victims.",
            "Insufficient nvidia.com/gpu",
            id="a dot in a name ends nothing",
        ),
        pytest.param(
            "0/2 nodes are available: 2 not here, or there.", "not here, or there", id="a comma"
        ),
        pytest.param(
            '0/3 nodes are available: persistentvolumeclaim "x" not found. preemption: 0/3 nodes '
            "are available: 3 Preemption is not helpful for scheduling.",
            'persistentvolumeclaim "x" not found',
            id="refused before any node is looked at",
        ),
        pytest.param("running Bind plugin: boom", "running Bind plugin: boom", id="no count"),
        pytest.param("0/2 nodes are available: ", "0/2 nodes are available: ", id="cut short"),
    ],
)
def test_what_refuses_most_nodes(message: str, reason: str) -> None:
    assert main_reason(message) == reason


async def test_they_stand_by_cause_those_of_most_pods_first(aiohttp_client: Any) -> None:
    state = state_of(new=None, web_1=OF_APART, db="boom", web_2=OF_APART)
    seen = shown(state, refused=None, status=lambda: {"mode": "assist"})
    text = await read_page(await aiohttp_client(app_of(seen)), "/")
    found = text.partition("The scheduler says of it ")[2]
    assert found.startswith(f"{APART} 2 4 h 0 min shop/web-2 {OF_APART} boom 1 3 h 0 min shop/db")
    assert f"{NOT_TRIED} 1 1 h 0 min shop/new" in found
    assert text.index("The scheduler says of it") < text.index("waiting for a node")


async def test_no_more_causes_than_fit_on_a_screen(aiohttp_client: Any) -> None:
    seen = shown(state_of(**{f"p{i:02}": f"boom {i:02}" for i in range(13)}))
    text = await read_page(await aiohttp_client(app_of(seen)), "/")
    assert ("boom 09" in text, "boom 10" in text) == (True, False)
    assert "Causes of fewer pods are left out: 3." in text


async def test_a_tenant_s_pods_are_counted_up_to_a_bound(
    aiohttp_client: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(waiting, "MOST_PODS", 2)
    monkeypatch.setattr("extender.features.page.overview.MOST_PODS", 2)
    seen = shown(state_of(a=None, b=None, c=None))
    text = await read_page(await aiohttp_client(app_of(seen)), "/")
    assert f"{NOT_TRIED} 2 2 h 0 min shop/b " in text
    assert "Pods beyond the first 2 are not counted: 1." in text


async def test_no_text_of_a_pod_becomes_a_series() -> None:
    state = state_of(
        a=None, b=OF_APART, c="0/1 nodes are available: 1 Insufficient x.", d="boom", e="bang"
    )
    gated: Any = pod("g")
    gated["spec"]["schedulingGates"] = [{"name": "example.com/quota"}]
    state.upsert_pod(PodReader(waiting=True).read(json.dumps(gated).encode()))
    registry = CollectorRegistry()
    await count(state, PagesForPeople.metrics(Collectors(registry)))
    (metric,) = registry.collect()
    found = {each.labels["reason"]: each.value for each in metric.samples}
    assert found.keys() == set(REASONS)
    assert {reason: pods for reason, pods in found.items() if pods} == {
        APART: 1,
        NOT_TRIED: 1,
        Reason.RESOURCES.value: 1,
        OTHER: 2,
        GATES: 1,
    }


async def test_calls_are_answered_between_any_few_causes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each pod may have a cause of its own, such as a claim that is missing, by its name."""
    monkeypatch.setattr(waiting, "STEP", 1)
    state = state_of(
        **{f"p{i}": f'0/9 nodes are available: claim "c{i}" is not here.' for i in range(20)}
    )
    turns = 0
    between: list[int] = []

    def seen(_: Cause) -> str:
        between.append(turns)
        return OTHER

    monkeypatch.setattr(Cause, "known", property(seen))
    counting = asyncio.create_task(
        count(state, PagesForPeople.metrics(Collectors(CollectorRegistry())))
    )
    while not counting.done():
        turns += 1
        await asyncio.sleep(0)
    await counting
    assert len(between) == len(set(between)) == 20


@pytest.mark.parametrize(
    ("message", "reason"),
    [
        pytest.param(
            "0/3 nodes are available: 3 node(s) had untolerated taint {dedicated: db}.",
            Reason.TAINT,
            id="a taint, as up to 1.34",
        ),
        pytest.param(
            "0/3 nodes are available: 3 node(s) had volume node affinity conflict.",
            Reason.VOLUME_ELSEWHERE,
            id="a volume elsewhere, as of old",
        ),
        pytest.param(
            "0/3 nodes are available: 3 Too many pods.", Reason.RESOURCES, id="full kubelets"
        ),
        pytest.param(
            "0/3 nodes are available: pod has unbound immediate PersistentVolumeClaims. preemption:"
            " 0/3 nodes are available: 3 Preemption is not helpful for scheduling.",
            Reason.UNBOUND_CLAIM,
            id="a claim that is not bound",
        ),
        pytest.param(
            '0/3 nodes are available: persistentvolumeclaim "x" not found.',
            Reason.NO_CLAIM,
            id="a claim that is missing",
        ),
    ],
)
async def test_what_releases_spell_otherwise_is_one_series(message: str, reason: Reason) -> None:
    registry = CollectorRegistry()
    await count(state_of(a=message), PagesForPeople.metrics(Collectors(registry)))
    (metric,) = registry.collect()
    assert [each.labels["reason"] for each in metric.samples if each.value] == [reason.value]
