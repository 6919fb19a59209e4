"""Labels of a namespace that change between calls, or during one, are seen by a call as a whole."""

from __future__ import annotations

import asyncio
from itertools import cycle
from typing import Any

import pytest
from aiohttp.test_utils import TestClient
from aiohttp.web import Application, Request

from extender.core.metrics import Metrics
from extender.core.web.app import callbacks_app
from simulation.invariants.recount import mismatches
from tests.answering import Answering
from tests.builders import (
    ZONE,
    Pod,
    model_namespace,
    namespace,
    node,
    pod,
    requirement,
    selector,
    state_of,
    term,
)

Client = TestClient[Request, Application]

ZONES = [f"z{n}" for n in range(20)]
NODES = [node(zone, {ZONE: zone}) for zone in ZONES]

IN_RED = {"namespaceSelector": selector(team="red")}
NOT_IN_BLUE = {
    "namespaceSelector": selector(
        requirement("team", "Exists"), requirement("team", "NotIn", "blue")
    )
}
DB = selector(app="db")


def everywhere(built: Pod) -> list[Pod]:
    """Place a pod like this in each zone."""
    name = built["metadata"]["name"]
    copies = [built.on(zone).uid(f"{name}-{zone}") for zone in ZONES]
    return [
        Pod({**each, "metadata": {**each["metadata"], "name": each["metadata"]["uid"]}})
        for each in copies
    ]


THERE = everywhere(pod("db", "shop").labels(app="db"))
GUARDS = everywhere(pod("guard").anti_affinity(term(ZONE, selector(), **IN_RED)))
LIKES = everywhere(pod("likes").prefers(9, term(ZONE, selector(), **NOT_IN_BLUE)))[:7]


def team(colour: str) -> Any:
    """Return the namespace shop with this label."""
    return model_namespace(namespace("shop", {"team": colour}))


@pytest.mark.parametrize(
    ("placed", "incoming", "verb"),
    [
        pytest.param(
            THERE,
            pod("x").anti_affinity(term(ZONE, DB, **IN_RED)),
            "filter",
            id="own anti-affinity",
        ),
        pytest.param(
            THERE, pod("x").affinity(term(ZONE, DB, **IN_RED)), "filter", id="own affinity"
        ),
        pytest.param(
            [*THERE, *GUARDS],
            pod("x", "shop"),
            "filter",
            id="anti-affinity of placed pods against the pod's namespace",
        ),
        pytest.param(
            THERE[:7],
            pod("x").prefers(9, term(ZONE, DB, **IN_RED)),
            "prioritize",
            id="own preference",
        ),
        pytest.param(
            LIKES,
            pod("x", "shop"),
            "prioritize",
            id="a preference of placed pods for the namespace",
        ),
    ],
)
async def test_an_answer_knows_one_moment(
    aiohttp_client: Any, placed: list[Pod], incoming: Pod, verb: str
) -> None:
    state = state_of(NODES, [namespace("shop", {"team": "red"})], placed)
    metrics = Metrics()
    app = callbacks_app(Answering(state, metrics).callbacks, metrics, 1 << 20)
    client: Client = await aiohttp_client(app)

    async def ask() -> Any:
        body = {"Pod": incoming, "Nodes": None, "NodeNames": ZONES}
        answer = await (await client.post(f"/{verb}", json=body)).json()
        return answer["NodeNames"] if verb == "filter" else answer

    red = await ask()
    state.upsert_namespace(team("blue"))
    blue = await ask()
    assert red != blue

    seen = []
    # Calls are decoded and judged in the same rhythm each time, so that the beat has to change.
    for colours in (cycle(("red", "blue")), cycle(("blue", "red"))) * 5:
        asking = [asyncio.create_task(ask()) for _ in range(4)]
        while not all(task.done() for task in asking):
            state.upsert_namespace(team(next(colours)))
            await asyncio.sleep(0)
        seen += [task.result() for task in asking]
    assert all(answer in (red, blue) for answer in seen)
    assert red in seen
    assert blue in seen
    assert mismatches(state) == []
