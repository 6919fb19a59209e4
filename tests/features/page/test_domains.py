"""/domains shows rules as they are in force, a page at a time."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from extender.core.cluster.state import ClusterState
from tests.builders import HOST, ZONE, namespace, node, pod, requirement, selector, state_of, term
from tests.web.showing import app_of, shown

NODES = [
    node("a1", {HOST: "a1", ZONE: "a"}),
    node("a2", {HOST: "a2", ZONE: "a"}),
    node("b1", {HOST: "b1", ZONE: "b"}),
    node("bare"),
]
WEB = selector(app="web")
RED = {"matchLabels": {"team": "red"}}
WEB_V1 = {
    "matchExpressions": [
        requirement("app", "In", "web"),
        requirement("version", "In", "1"),
    ]
}
KEYS = {"matchLabelKeys": ["version"]}
PODS = [
    pod("w1").labels(app="web", version="1").anti_affinity(term(ZONE, WEB, **KEYS)).on("a1"),
    pod("w2").labels(app="web", version="1").anti_affinity(term(ZONE, WEB, **KEYS)).on("b1"),
    pod("w3").labels(app="web", version="2").on("a2"),
    pod("db", "shop").prefers(7, term(HOST, selector(), namespaceSelector=RED)).on("a1"),
    pod("db-2", "shop").prefers(7, term(HOST, selector(), namespaceSelector=RED)).on("a1"),
    pod("near").affinity(term(HOST, WEB)).on("bare"),
]
NAMESPACES = [namespace("default", {"team": "red"}), namespace("shop")]

Ask = Callable[[str], Awaitable[Any]]


@pytest.fixture
def ask(aiohttp_client: Any) -> Callable[..., Awaitable[Ask]]:
    """Serve /domains of a cluster; what comes back asks it."""

    async def serving(state: ClusterState, unready: str | None = None) -> Ask:
        client = await aiohttp_client(app_of(shown(state, unready=lambda: unready)))

        async def asking(path: str) -> Any:
            response = await client.get(path)
            if response.status == 200:
                return await response.json()
            return response.status, await response.text()

        return asking

    return serving


ANTI = {
    "term": 1,
    "rule": "antiAffinity",
    "topologyKey": ZONE,
    "labelSelector": WEB_V1,
    "namespaces": ["default"],
}
PREFERRED = {
    "term": 2,
    "rule": "preferred",
    "topologyKey": HOST,
    "labelSelector": {},
    "namespaces": [],
    "namespaceSelector": {"matchExpressions": [requirement("team", "In", "red")]},
}
NEAR = {
    "term": 3,
    "rule": "affinity",
    "topologyKey": HOST,
    "labelSelector": {"matchExpressions": [requirement("app", "In", "web")]},
    "namespaces": ["default"],
}


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        pytest.param(
            "/domains",
            {
                "topologies": [
                    {"key": HOST, "domains": 3, "terms": 2},
                    {"key": ZONE, "domains": 2, "terms": 1},
                ],
                "terms": [
                    ANTI | {"owners": 2, "domainsWithOwners": 2},
                    PREFERRED | {"weight": 14, "domainsWithOwners": 1},
                    NEAR | {"owners": 0, "domainsWithOwners": 0},
                ],
                "brokenAnnotations": {"pods": 0, "examples": []},
                "ignoredAnnotations": {"pods": 0, "namespaces": []},
                "next": None,
            },
            id="everything, with label keys merged",
        ),
        pytest.param(
            f"/domains?key={ZONE}",
            {
                "key": ZONE,
                "count": 2,
                "domains": [
                    {"value": "a", "nodes": {"count": 2, "names": ["a1", "a2"]}},
                    {"value": "b", "nodes": {"count": 1, "names": ["b1"]}},
                ],
                "next": None,
            },
            id="the domains of a topology key",
        ),
        pytest.param(
            "/domains?key=rack",
            {"key": "rack", "count": 0, "domains": [], "next": None},
            id="a key that no node has",
        ),
        pytest.param(
            f"/domains?key={HOST}&value=a1",
            {
                "key": HOST,
                "value": "a1",
                "nodes": {"count": 1, "names": ["a1"]},
                "terms": [PREFERRED | {"weight": 14}],
                "next": None,
            },
            id="one domain, with what is carried there",
        ),
        pytest.param(
            "/domains?term=1",
            ANTI
            | {
                "owners": 2,
                "domainsWithOwners": 2,
                "matched": 2,
                "namespacesNow": {"count": 1, "names": ["default"]},
                "domains": [
                    {"value": "a", "owners": 1, "matched": 1},
                    {"value": "b", "owners": 1, "matched": 1},
                ],
                "next": None,
            },
            id="one term, with its domains",
        ),
        pytest.param(
            "/domains?term=2",
            PREFERRED
            | {
                "weight": 14,
                "domainsWithOwners": 1,
                "matched": 3,
                "namespacesNow": {"count": 1, "names": ["default"]},
                "domains": [
                    {"value": "a1", "weight": 14, "matched": 1},
                    {"value": "a2", "weight": 0, "matched": 1},
                    {"value": "b1", "weight": 0, "matched": 1},
                ],
                "next": None,
            },
            id="a preferred term, with weights",
        ),
    ],
)
async def test_what_is_shown(
    ask: Callable[..., Awaitable[Ask]], path: str, expected: dict[str, Any]
) -> None:
    asking = await ask(state_of(NODES, NAMESPACES, PODS))
    assert await asking(path) == expected


@pytest.mark.parametrize(
    ("path", "status", "text"),
    [
        pytest.param(
            "/domains?zone=a",
            400,
            "no parameter 'zone'; there are key, value, term, after, limit",
            id="a parameter that there is not",
        ),
        pytest.param(
            "/domains?limit=0", 400, "limit: '0' is not a whole number in 1..1000", id="no entries"
        ),
        pytest.param(
            "/domains?limit=1001",
            400,
            "limit: '1001' is not a whole number in 1..1000",
            id="too many entries",
        ),
        pytest.param(
            "/domains?term=x", 400, "term: 'x' is not a whole number", id="a term that is no number"
        ),
        pytest.param(
            "/domains?after=-1", 400, "after: '-1' is not a whole number", id="a negative number"
        ),
        pytest.param(
            f"/domains?term={'9' * 5000}",
            400,
            f"term: '{'9' * 317}... (5000 characters)' is not a whole number",
            id="endless digits",
        ),
        pytest.param(
            f"/domains?limit={'0' * 5000}7",
            400,
            f"limit: '{'0' * 317}... (5001 characters)' is not a whole number in 1..1000",
            id="endless zeros",
        ),
        pytest.param(
            f"/domains?after={1 << 63}",
            400,
            "after: '9223372036854775808' is not a whole number",
            id="a number beyond all terms",
        ),
        pytest.param(
            "/domains?after=٣",
            400,
            "after: '٣' is not a whole number",
            id="digits of another script",
        ),
        pytest.param(
            f"/domains?{'k' * 5000}=1",
            400,
            f"no parameter '{'k' * 317}... (5000 characters)'; "
            "there are key, value, term, after, limit",
            id="an endless name of a parameter",
        ),
        pytest.param(
            f"/domains?key=zone&value={'v' * 5000}",
            404,
            f"no node has the label zone={'v' * 317}... (5000 characters)",
            id="an endless value",
        ),
        pytest.param(
            "/domains?value=a",
            400,
            "value needs key, the label that it is a value of",
            id="a value without its key",
        ),
        pytest.param(
            "/domains?term=1&key=zone",
            400,
            "term goes without key and value",
            id="two questions at once",
        ),
        pytest.param(
            "/domains?term=99",
            404,
            "no term 99; terms go with the last placed pod that carries them",
            id="a term that is gone",
        ),
        pytest.param(
            "/domains?key=rack&value=r1",
            404,
            "no node has the label rack=r1",
            id="a domain without nodes",
        ),
    ],
)
async def test_questions_that_cannot_be_answered(
    ask: Callable[..., Awaitable[Ask]], path: str, status: int, text: str
) -> None:
    asking = await ask(state_of(NODES, NAMESPACES, PODS))
    assert await asking(path) == (status, f"{text}\n")


async def test_nothing_is_shown_before_everything_is_known(
    ask: Callable[..., Awaitable[Ask]],
) -> None:
    asking = await ask(state_of(NODES, NAMESPACES, PODS), "pods not synced yet")
    assert await asking("/domains") == (503, "pods not synced yet\n")


@pytest.mark.parametrize(
    ("path", "entries", "sizes"),
    [
        pytest.param("/domains?limit=2", "terms", [2, 2, 1], id="terms"),
        pytest.param(f"/domains?key={HOST}&limit=1", "domains", [1] * 5, id="domains of a key"),
        pytest.param(
            f"/domains?key={HOST}&value=n1&limit=2", "terms", [2, 2, 1], id="terms of a domain"
        ),
        pytest.param("/domains?term=1&limit=2", "domains", [2, 2, 1], id="domains of a term"),
    ],
)
async def test_pages_follow_each_other(
    ask: Callable[..., Awaitable[Ask]], path: str, entries: str, sizes: list[int]
) -> None:
    # A label may have an empty value.
    values = ["", "n1", "n2", "n3", "n4"]
    nodes = [node(f"n{n}", {HOST: value}) for n, value in enumerate(values)]
    everywhere = [
        pod(f"w{n}").anti_affinity(term(HOST, selector(app="x"))).on(f"n{n}") for n in range(5)
    ]
    on_one = [
        pod(f"v{n}").anti_affinity(term(HOST, selector(app=f"v{n}"))).on("n1") for n in range(4)
    ]
    asking = await ask(state_of(nodes, [], [*everywhere, *on_one]))
    whole = (await asking(path.rpartition("=")[0] + "=100"))[entries]

    pages: list[Any] = []
    following = path
    while following and len(pages) <= len(sizes):
        answer = await asking(following)
        pages.append(answer[entries])
        following = answer["next"]

    assert [len(page) for page in pages] == sizes
    assert [each for page in pages for each in page] == whole


async def test_a_page_of_many_hostnames_stays_readable(
    ask: Callable[..., Awaitable[Ask]],
) -> None:
    nodes = [node(f"n{n:04}", {HOST: f"n{n:04}", ZONE: "a"}) for n in range(5000)]
    asking = await ask(state_of(nodes, [], PODS))
    answer = await asking(f"/domains?key={HOST}")
    assert (answer["count"], len(answer["domains"])) == (5000, 100)
    assert answer["next"] == f"/domains?key={HOST}&after=n0099"
    (zone,) = (await asking(f"/domains?key={ZONE}"))["domains"]
    assert zone["nodes"] == {"count": 5000, "names": [f"n000{n}" for n in range(10)]}
