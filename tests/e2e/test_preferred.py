"""Preferred rules: where one node is clearly best, every scheduler run picks it.

Nodes are alike but for the rules and so large that pods do not weigh: no other scoring plugin
has a say, and the stock scheduler's choice is InterPodAffinity's.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import pytest

from tests.e2e.api import key_of
from tests.e2e.extending import ASSIST, REPLACE
from tests.e2e.objects import HOSTNAME, JSON, ZONE, namespace, node, pod, term
from tests.e2e.scheduling import MODES, STOCK
from tests.e2e.selecting import in_e2e_all

if TYPE_CHECKING:
    from tests.e2e.sandbox import Sandbox

WEB, DB, CACHE = {"app": "web"}, {"app": "db"}, {"app": "cache"}
THREE_ZONES = [node("a1", "a"), node("b1", "b"), node("c1", "c")]
TWO_BY_TWO = [node("a1", "a"), node("a2", "a"), node("b1", "b"), node("b2", "b")]

every_mode = pytest.mark.parametrize("mode", MODES)


@every_mode
@pytest.mark.parametrize(
    ("there", "coming", "winner"),
    [
        pytest.param(
            [*THREE_ZONES, pod("db", labels=DB, on="b1")],
            pod("web", prefer_near=[(100, term(ZONE, DB))]),
            "b1",
            id="near the pod it likes",
        ),
        pytest.param(
            [*THREE_ZONES, pod("w1", labels=WEB, on="a1"), pod("w2", labels=WEB, on="c1")],
            pod("w3", labels=WEB, prefer_apart=[(100, term(ZONE, WEB))]),
            "b1",
            id="away from its own kind",
        ),
        pytest.param(
            [*THREE_ZONES, pod("friend", prefer_near=[(10, term(ZONE, WEB))], on="c1")],
            pod("plain", labels=WEB),
            "c1",
            id="a pod that is there likes it, it has no rules itself",
        ),
        pytest.param(
            [
                *THREE_ZONES,
                *(
                    pod(f"foe-{n}", prefer_apart=[(10, term(ZONE, WEB))], on=n)
                    for n in ("a1", "b1")
                ),
            ],
            pod("plain", labels=WEB),
            "c1",
            id="pods that are there dislike it",
        ),
        pytest.param(
            [*THREE_ZONES, pod("needy", near=[term(ZONE, WEB)], on="b1")],
            pod("plain", labels=WEB),
            "b1",
            id="a pod that is there requires its like",
        ),
        pytest.param(
            [*THREE_ZONES, pod("db", labels=DB, on="a1"), pod("cache", labels=CACHE, on="b1")],
            pod("web", prefer_near=[(30, term(ZONE, DB)), (80, term(ZONE, CACHE))]),
            "b1",
            id="the heavier of two wishes",
        ),
        pytest.param(
            [
                *TWO_BY_TWO,
                pod("db", labels=DB, on="a1"),
                pod("w1", labels=WEB, on="a1"),
            ],
            pod(
                "w2",
                labels=WEB,
                prefer_near=[(50, term(ZONE, DB))],
                prefer_apart=[(40, term(HOSTNAME, WEB))],
            ),
            "a2",
            id="the zone it likes, but not the host it dislikes",
        ),
        pytest.param(
            [
                *THREE_ZONES,
                pod("db1", labels=DB, on="a1"),
                *(pod(f"db{n}", labels=DB, on="c1") for n in (2, 3)),
            ],
            pod("web", prefer_near=[(100, term(ZONE, DB))]),
            "c1",
            id="two pods attract more than one",
        ),
        pytest.param(
            [
                *THREE_ZONES,
                namespace("red", team="red"),
                namespace("blue", team="blue"),
                pod("db", "red", labels=DB, on="a1"),
                pod("db", "blue", labels=DB, on="b1"),
            ],
            pod(
                "web",
                prefer_near=[
                    (100, term(ZONE, DB, namespaceSelector={"matchLabels": {"team": "blue"}}))
                ],
            ),
            "b1",
            id="only pods of the namespaces that a selector chooses attract",
        ),
        pytest.param(
            [*TWO_BY_TWO, pod("w1", labels=WEB, on="b1"), pod("db", labels=DB, on="b2")],
            pod(
                "w2",
                labels=WEB,
                apart=[term(HOSTNAME, WEB)],
                prefer_near=[(100, term(ZONE, DB))],
            ),
            "b2",
            id="a required rule takes one of the two best nodes away",
        ),
    ],
)
async def test_the_clear_winner_is_picked(
    sandbox: Sandbox, mode: str, there: list[JSON], coming: JSON, winner: str
) -> None:
    await sandbox.add(*there)
    async with sandbox.scheduled_by(mode):
        outcomes = await sandbox.settle_repeatedly(coming)

        assert [list(placed.values()) for placed in outcomes] == [[winner]] * len(outcomes)
        if sandbox.extender:
            assert await sandbox.extender.calls("prioritize") > 0


@every_mode
async def test_pods_that_prefer_distance_spread_evenly(sandbox: Sandbox, mode: str) -> None:
    await sandbox.add(*TWO_BY_TWO, node("c1", "c"), node("c2", "c"))
    apart = [(100, term(ZONE, WEB)), (50, term(HOSTNAME, WEB))]
    async with sandbox.scheduled_by(mode):
        placed = await sandbox.settle(
            *(pod(f"w{n}", labels=WEB, prefer_apart=apart) for n in range(6))
        )

    # The first three take a zone each, the next three the other host of each zone.
    nodes = [str(each) for each in placed.values()]
    assert sorted(each[0] for each in nodes[:3]) == ["a", "b", "c"]
    assert sorted(nodes) == ["a1", "a2", "b1", "b2", "c1", "c2"]


@pytest.mark.parametrize("mode", [in_e2e_all(mode) for mode in (STOCK, ASSIST, REPLACE)])
async def test_replicas_that_come_at_once_spread_evenly_over_few_nodes(
    sandbox: Sandbox, mode: str
) -> None:
    await sandbox.add(node("a1", "a"), node("b1", "b"))
    replicas = [
        pod(f"w{n}", labels=WEB, prefer_apart=[(100, term(HOSTNAME, WEB))]) for n in range(6)
    ]
    async with sandbox.scheduled_by(mode):
        for _ in range(7):
            placed = await sandbox.settle_at_once(*replicas)
            assert Counter(placed.values()) == {"a1": 3, "b1": 3}
            await sandbox.remove(*map(key_of, replicas))
