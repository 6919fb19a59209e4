"""The pods that wait, by cause: what the page says, and that nobody can make it expensive."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable
from typing import Any

import pytest
from aiohttp.test_utils import TestClient

from extender.core.cluster.state import ClusterState
from extender.core.model.objects import Pod
from extender.core.wire.objects import PodReader
from extender.diagnosis.verbs.explain import explanation_of
from extender.diagnosis.verbs.explanation import Explanation, Question
from extender.features.explain import waiting
from tests.beside import RULES
from tests.builders import HOST, ZONE, model_node, node, pod, selector, term
from tests.features.every import has_pages
from tests.features.explain.showing import shown as part_over_shown
from tests.web.reading import Reader
from tests.web.showing import Seen, app_of, shown

pytestmark = pytest.mark.skipif(not has_pages(), reason="no feature shows pages")

NODES = [node(name, {HOST: name, ZONE: name[0]}) for name in ("a1", "a2", "b1")]
WEB, DB = selector(app="web"), selector(app="db")
MINUTE = 60


def seen_of(*pods: Any, **changed: Any) -> Seen:
    """Show pods in mode assist, as they are read from a watch."""
    reader = PodReader(waiting=True, rules=RULES)
    state = ClusterState()
    for each in NODES:
        state.upsert_node(model_node(each))
    for each in pods:
        state.upsert_pod(reader.read(json.dumps(each).encode()))
    return shown(state, refused=None, status=lambda: {"mode": "assist"}, **changed)


def aged(made: Any, seconds: float) -> Any:
    at = time.gmtime(time.time() - seconds)
    made["metadata"]["creationTimestamp"] = time.strftime("%Y-%m-%dT%H:%M:%SZ", at)
    return made


def apart(name: str, app: str, key: str) -> Any:
    return pod(name, "shop").labels(app=app).anti_affinity(term(key, selector(app=app)))


@pytest.fixture
def read(aiohttp_client: Any) -> Callable[..., Any]:
    async def reading(seen: Seen, path: str = "/page/explain") -> str:
        app = app_of(seen, parts=[part_over_shown(seen)])
        client: TestClient[Any, Any] = await aiohttp_client(app)
        return Reader(await (await client.get(path)).text()).text

    return reading


def rows_of(text: str) -> str:
    """Return what stands in the table of causes."""
    return text.partition("In detail ")[2].partition(" Pod Priority")[0]


async def test_they_stand_by_cause_with_age_and_owner(read: Any) -> None:
    made = {f"web-5d-{i}": 2 * MINUTE + 3600 * i for i in range(2)}
    webs = [
        aged(apart(name, "web", HOST).labels(**{"pod-template-hash": "5d"}), age)
        for name, age in made.items()
    ]
    placed = [apart(f"web-{host}", "web", HOST).on(host) for host in ("a1", "a2", "b1")]
    dbs = [apart(f"db-{zone}", "db", ZONE).on(f"{zone}1") for zone in "ab"]
    text = rows_of(
        await read(
            seen_of(
                *(each.owned_by("ReplicaSet/web-5d") for each in webs),
                *placed,
                *dbs,
                apart("db-9", "db", ZONE),
                aged(pod("easy", "shop"), 7 * MINUTE),
            )
        )
    )
    first, rest = text.partition(" fits now")[::2]
    assert text.startswith("your anti-affinity on hostname 2 1 h 2 min deployment shop/web ")
    assert "shop/web-5d-1 3 of 3 nodes: your anti-affinity on hostname" in first
    assert "waiting for the scheduler to retry 1 7 min" in rest
    assert "shop/easy 3 of 3 nodes fit" in rest
    assert "your anti-affinity on zone 1 shop/db-9 3 of 3 nodes: your anti-affinity on zone" in text


async def test_the_oldest_stand_first_one_by_one(read: Any) -> None:
    pods = [aged(pod(name), age) for name, age in (("new", 5), ("old", 500), ("older", 1000))]
    text = await read(seen_of(*pods))
    assert "3 pods without a node, the oldest first" in text
    listed = text.partition("without a node")[2]
    assert listed.index("default/older") < listed.index("default/old ") < listed.index("/new")


async def test_a_search_looks_into_those_that_it_finds(read: Any) -> None:
    seen = seen_of(*(pod(f"p{i}", f"ns-{i}").labels(app=f"a{i}") for i in range(30)))
    text = await read(seen)
    assert "20 pods, for 1 cause" in text
    assert "And 10 pods of 10 more kinds, which are not looked into." in text
    found = rows_of(await read(seen, "/page/explain?q=ns-7/"))
    assert (found.count("ns-7/p7"), found.count("ns-")) == (1, 1)


async def test_the_overview_leads_there(read: Any) -> None:
    text = await read(seen_of(pod("p")), "/")
    assert "not tried yet 1 default/p Which rules and pods are behind that?" in text
    assert "1 waiting for a node" in text


async def test_nothing_is_explained_of_a_cluster_that_is_not_known(read: Any) -> None:
    text = await read(seen_of(pod("p"), unready=lambda: "nodes not synced yet"))
    assert "What they wait for is not known yet: nodes not synced yet." in text
    assert "1 pod without a node" in text


@pytest.mark.parametrize(
    ("seconds", "told"),
    [pytest.param(0.2, 1, id="there is no time"), pytest.param(60.0, 20, id="there is")],
)
async def test_a_tenant_s_thousands_of_pods_cost_no_more_than_twenty(
    read: Any, monkeypatch: pytest.MonkeyPatch, seconds: float, told: int
) -> None:
    asked = []
    usual = explanation_of

    def counted(state: ClusterState, question: Question) -> Explanation:
        asked.append(question.pod.key)
        until = time.perf_counter() + (0.05 if told == 1 else 0.0)
        while time.perf_counter() < until:
            pass
        return usual(state, question)

    # With its rest, one takes half a second.
    monkeypatch.setattr("extender.features.explain.answer.explanation_of", counted)
    monkeypatch.setattr(waiting, "SECONDS", seconds)
    seen = seen_of(*(pod("p", f"tenant-{i}").labels(i=str(i)) for i in range(2_000)))
    text = await read(seen)
    assert len(asked) == told
    assert rows_of(text).count("tenant-") == told
    assert f"And {2_000 - told:,} pods of {2_000 - told:,} more kinds" in text


async def test_a_tenant_s_long_rules_hide_no_pod_of_another(
    read: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("extender.features.explain.answer.MOST_COMPARISONS", 0)
    placed, heavy = apart("db-1", "db", ZONE).on("a1"), apart("db-2", "db", ZONE)
    # Pods of a template, so that theirs are looked into first.
    heavier = [apart(f"db-{i}", "db", ZONE) for i in (3, 4)]
    text = rows_of(await read(seen_of(placed, heavy, *heavier, pod("easy", "shop"))))
    assert "shop/easy 3 of 3 nodes fit" in text
    assert "not looked into 3 shop/db-2 rules that take too long to compare" in text


async def test_others_have_turns_while_many_pods_are_told_apart(
    read: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    turns: list[int] = []
    told: list[int] = []

    def kind_of(of: Pod) -> str:
        told.append(len(turns))
        return of.pod_class.namespace

    async def others() -> None:
        while True:
            turns.append(0)
            await asyncio.sleep(0)

    monkeypatch.setattr(waiting, "STEP", 2)
    monkeypatch.setattr(waiting, "kind_of", kind_of)
    beside = asyncio.create_task(others())
    await read(seen_of(*(pod(f"p{number}") for number in range(6))))
    beside.cancel()
    assert [told.count(each) for each in dict.fromkeys(told)] == [2, 2, 2]
