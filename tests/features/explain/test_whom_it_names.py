"""The operations port asks nobody for a name: it tells a tenant of no other tenant's pods."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given

from extender.diagnosis.verbs.explain import explanation_of
from extender.diagnosis.verbs.explanation import Question
from extender.diagnosis.verbs.notes import notes
from extender.diagnosis.wire.explanation import write_explanation
from tests.builders import HOST, ZONE, Pod, namespace, node, pod, selector, state_of, term
from tests.diagnosis.test_explaining import Case, cases
from tests.features.explain.showing import app_over

EVERYWHERE: dict[str, Any] = {"namespaceSelector": {}}
NODES = [node(f"n{n}", {HOST: f"n{n}", ZONE: "ab"[n % 2]}) for n in range(4)]
WEB = selector(app="web")


def victim(number: int | str) -> Pod:
    return pod(f"payroll-{number}", "victim").labels(app="web")


ASKED = (
    pod("mine", "tenant")
    .labels(app="web")
    .host_port(80)
    .anti_affinity(term(ZONE, WEB, **EVERYWHERE))
)
OWN = pod("own", "tenant").labels(app="web")
JEALOUS = victim(9).anti_affinity(term(ZONE, WEB, **EVERYWHERE))
LEAVING = pod("leaving", "victim").labels(app="web")

CLUSTERS: Mapping[str, list[Any]] = {
    "a rule of the pod's": [victim(0).on("n0"), victim(1).on("n1")],
    "several in a zone": [victim(n).on(f"n{n % 4}") for n in range(8)],
    "a rule of others'": [JEALOUS.on("n0"), victim(1).on("n1")],
    "one of its own as well": [OWN.on("n0"), victim(0).on("n0"), victim(1).on("n1")],
    "by host": [victim(n).anti_affinity(term(HOST, WEB, **EVERYWHERE)).on(f"n{n}") for n in "0123"],
    "a host port": [pod(f"payroll-{n}", "victim").host_port(80).on(f"n{n}") for n in range(4)],
    "less important ones": [victim(n).priority(-5).on(f"n{n}") for n in (0, 1)],
}


def served(placed: list[Any], *, names_all: bool = False) -> Any:
    state = state_of(NODES, [namespace("tenant"), namespace("victim")], [*placed, ASKED])
    return app_over(state, names_all=names_all)


PATHS = (
    "/explain?namespace=tenant&pod=mine",
    "/explain?namespace=tenant&pod=mine&node=n0",
    "/page/explain?namespace=tenant&pod=mine",
)


@pytest.mark.parametrize("placed", CLUSTERS.values(), ids=CLUSTERS.keys())
async def test_pods_of_other_namespaces_are_counted_and_not_named(
    placed: list[Any], aiohttp_client: Any
) -> None:
    client = await aiohttp_client(served(placed))
    answers = [await (await client.get(path)).text() for path in PATHS]
    answers.append(await (await client.post("/explain", json=ASKED)).text())
    for text in answers:
        assert "payroll" not in text
        assert re.search(r"pods? of other namespaces|tenant/own and \d more", text)


@pytest.mark.parametrize("placed", CLUSTERS.values(), ids=CLUSTERS.keys())
async def test_a_switch_has_all_of_them_named(placed: list[Any], aiohttp_client: Any) -> None:
    client = await aiohttp_client(served(placed, names_all=True))
    for path in PATHS:
        assert "victim/payroll" in await (await client.get(path)).text()


async def test_the_own_ones_come_first_and_the_number_is_that_of_all(aiohttp_client: Any) -> None:
    crowd = [victim(n).on("n0") for n in range(30)]
    client = await aiohttp_client(served([*crowd, OWN.on("n2"), victim(40).on("n1")]))
    told = await (await client.get(PATHS[0])).json()
    by_node = {each["node"]: (each["blockers"], each["blockerCount"]) for each in told["nodes"]}
    assert by_node == {
        "n0": (["tenant/own"], 31),
        "n1": ([], 1),
        "n2": (["tenant/own"], 31),
        "n3": ([], 1),
    }


async def test_so_it_is_on_a_node_with_many(aiohttp_client: Any) -> None:
    by_host = ASKED.anti_affinity(term(HOST, WEB, **EVERYWHERE))
    state = state_of(NODES, [], [*(victim(n).on("n0") for n in range(30)), OWN.on("n0"), by_host])
    client = await aiohttp_client(app_over(state))
    told = await (await client.get(f"{PATHS[0]}&node=n0")).json()
    (there,) = told["nodes"]
    assert (there["blockers"], there["blockerCount"]) == (["tenant/own"], 31)


@pytest.mark.thorough
@given(case=cases())
def test_nothing_else_depends_on_who_is_named(case: Case) -> None:
    state, asked, names, plugins, scoring = case

    def told(*, names_all: bool) -> Any:
        question = Question(asked, names, plugins, scoring, 20, names_all)
        found = explanation_of(state, question)
        return json.loads(b"".join(write_explanation(found, notes(state, found))))

    every, own = told(names_all=True), told(names_all=False)
    namespace_of = f"{asked.pod_class.namespace}/"
    for full, cut in zip(
        (*every["nodes"], *every["nearMisses"]), (*own["nodes"], *own["nearMisses"]), strict=True
    ):
        assert cut["blockers"] == [
            each for each in full["blockers"] if each.startswith(namespace_of)
        ]
        for each in (full, cut):
            del each["blockers"]
            each.pop("text", None)
        assert cut == full
    for each in (every, own):
        del each["summary"], each["notes"]
    assert own == every
