"""A pod that fits nowhere says why, in the scheduler's own words."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.e2e.api import key_of
from tests.e2e.extending import REPLACE
from tests.e2e.objects import HOSTNAME, JSON, ZONE, node, pod, term
from tests.e2e.sandbox import refusal
from tests.e2e.scheduling import STOCK
from tests.e2e.selecting import in_e2e_all

if TYPE_CHECKING:
    from tests.e2e.sandbox import Sandbox

WEB = {"app": "web"}
NODES = [node("a1", "a"), node("a2", "a"), node("b1", "b")]
EVENTS = "/apis/events.k8s.io/v1/namespaces/default/events"


@pytest.mark.parametrize("mode", [in_e2e_all(STOCK), REPLACE])
@pytest.mark.parametrize(
    ("there", "coming", "reasons"),
    [
        pytest.param(
            [],
            pod("lonely", near=[term(ZONE, {"app": "nobody"})]),
            ["3 node(s) didn't match pod affinity rules"],
            id="nobody to be near",
        ),
        pytest.param(
            [pod(f"w-{n}", labels=WEB, on=n) for n in ("a1", "b1")],
            pod("hermit", apart=[term(ZONE, WEB)]),
            ["3 node(s) didn't match pod anti-affinity rules"],
            id="somebody to avoid in every zone",
        ),
        pytest.param(
            [pod(f"guard-{n}", apart=[term(ZONE, WEB)], on=n) for n in ("a1", "b1")],
            pod("repelled", labels=WEB),
            ["3 node(s) didn't satisfy existing pods anti-affinity rules"],
            id="guards in every zone",
        ),
        pytest.param(
            [
                pod("db", labels={"app": "db"}, on="a1"),
                pod("w", labels=WEB, on="a1"),
                pod("guard", apart=[term(HOSTNAME, WEB)], on="a2"),
            ],
            pod("torn", labels=WEB, near=[term(ZONE, {"app": "db"})], apart=[term(HOSTNAME, WEB)]),
            [
                "1 node(s) didn't match pod affinity rules",
                "1 node(s) didn't match pod anti-affinity rules",
                "1 node(s) didn't satisfy existing pods anti-affinity rules",
            ],
            id="another reason on each node",
        ),
    ],
)
async def test_the_refusal_is_told_on_the_pod_and_in_an_event(
    sandbox: Sandbox, mode: str, there: list[JSON], coming: JSON, reasons: list[str]
) -> None:
    await sandbox.add(*NODES, *there)
    async with sandbox.scheduled_by(mode), sandbox.api.mirror(EVENTS) as events:
        assert set((await sandbox.settle(coming)).values()) == {None}
        about = key_of(coming)
        refused = sandbox.pods.objects[about]

        def notes() -> list[str]:
            # By uid: the Events of earlier tests are still there.
            return [
                event["note"]
                for event in events.objects.values()
                if event["reason"] == "FailedScheduling"
                and event["regarding"]["uid"] == refused["metadata"]["uid"]
            ]

        await events.until(lambda: bool(notes()), 10, f"a FailedScheduling event about {about}")

    for told in (str(refusal(refused)), notes()[-1]):
        assert told.startswith("0/3 nodes are available: ")
        assert [reason for reason in reasons if reason not in told] == []
