"""Every question of the conformance cases, asked over HTTP as kube-scheduler asks.

With the in-tree numbers (scores up to 100) and the in-tree lists (`filter.resolvable`), answers
have to be equal to the last digit.
"""

from __future__ import annotations

import argparse
import json
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import pytest
from aiohttp import ClientSession

from extender.core import config
from extender.core.config import layers
from extender.runtime import running
from tests.conformance.cases import Case, load_cases, named

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping, Sequence
    from pathlib import Path

    from tests.conformance.cases import Question

LISTS = {
    "Unschedulable": "FailedNodes",
    "UnschedulableAndUnresolvable": "FailedAndUnresolvableNodes",
}
"""Where the scheduler's two ways to refuse a node stand in a filter result."""

PLUGINS = {"interPodAffinity": "InterPodAffinity", "nodeAffinity": "NodeAffinity"}
"""How the cases name the plugins, and how the configuration does."""


@asynccontextmanager
async def serving(case: Case, directory: Path, *plugins: str) -> AsyncIterator[ClientSession]:
    """Run plugins over the cluster and the arguments of a case; yield a client of the program."""
    cluster = directory / "cluster.json"
    items = [item for objects in case.cluster.values() for item in objects]
    cluster.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": items}))
    own = ("hardPodAffinityWeight", "ignorePreferredTermsOfExistingPods")
    added = case.args.get("addedAffinity") if "nodeAffinity" in plugins else None
    document = {
        "apiVersion": config.API_VERSION,
        "kind": config.KIND,
        "mode": "replace",
        "plugins": [PLUGINS[plugin] for plugin in plugins],
        "interPodAffinity": {
            name: case.args[name]
            for name in own
            if name in case.args and "interPodAffinity" in plugins
        },
        "nodeAffinity": {"addedAffinity": added or {}},
        "filter": {"resolvable": True},
        "prioritize": {"maxScore": 100},
        "serving": {"port": 0, "opsPort": 0},
    }
    flags = argparse.Namespace(config="config.yaml", cluster=[str(cluster)])
    loaded = layers.load(flags, lambda _: json.dumps(document))
    async with running(loaded) as program, ClientSession(program.callbacks_url) as client:
        yield client


async def post(client: ClientSession, path: str, body: Mapping[str, Any]) -> Any:
    # Compact, as Go writes: a list of names that comes back from filter is then recognised.
    async with client.post(path, data=json.dumps(body, separators=(",", ":")).encode()) as response:
        assert response.status == 200
        assert "Content-Length" in response.headers
        return json.loads(await response.read())


def by_name(question: Question, names: Sequence[str]) -> dict[str, Any]:
    """Build ExtenderArgs for a scheduler that trusts the extender's cache."""
    return {"Pod": question.pod, "Nodes": None, "NodeNames": list(names)}


def with_objects(case: Case, question: Question, names: Sequence[str]) -> dict[str, Any]:
    """Build ExtenderArgs for a scheduler that sends whole nodes."""
    found = {node["metadata"]["name"]: node for node in case.cluster["nodes"]}
    nodes = {"metadata": {}, "items": [found[name] for name in names]}
    return {"Pod": question.pod, "Nodes": nodes, "NodeNames": None}


def expected_lists(question: Question, *plugins: str) -> dict[str, dict[str, str]]:
    """Return the refused nodes, each with the reason of the first plugin that refuses it."""
    refused: dict[str, Any] = {}
    for plugin in reversed(plugins):
        refused |= question.expected[plugin]["refused"]
    return {
        field: {name: v["reason"] for name, v in refused.items() if v["code"] == code}
        for code, field in LISTS.items()
    }


def expected_fits(question: Question, names: Sequence[str], *plugins: str) -> list[str]:
    refused = {name for plugin in plugins for name in question.expected[plugin]["refused"]}
    return [name for name in names if name not in refused]


def host_priorities(scores: Mapping[str, int], names: Sequence[str]) -> list[dict[str, Any]]:
    """List the scores in the order of the request; hosts with 0 are left out."""
    told = named(scores, names)
    return [{"Host": name, "Score": told[name]} for name in names if told.get(name)]


CASES = [pytest.param(case, id=case.id) for case in load_cases()]


@pytest.mark.parametrize("plugin", PLUGINS)
@pytest.mark.parametrize("case", CASES)
async def test_answers_as_kubernetes_does(case: Case, plugin: str, tmp_path: Path) -> None:
    # Backwards, since a scheduler's order is not the cluster's.
    names = case.node_names[::-1]
    async with serving(case, tmp_path, plugin) as client:
        for question in case.questions:
            expected = question.expected[plugin]
            feasible = question.feasible(names)

            assert await post(client, "/filter", by_name(question, names)) == {
                "Nodes": None,
                "NodeNames": expected_fits(question, names, plugin),
                **expected_lists(question, plugin),
                "Error": "",
            }, question.id
            everywhere = await post(client, "/prioritize", by_name(question, names))
            assert everywhere == host_priorities(expected["score"], names), question.id
            there = await post(client, "/prioritize", by_name(question, feasible))
            assert there == host_priorities(expected["scoreFeasible"], feasible), question.id


@pytest.mark.parametrize("plugins", [tuple(PLUGINS), tuple(reversed(PLUGINS))])
@pytest.mark.parametrize("case", CASES[::3])
async def test_a_node_has_the_reason_of_the_first_plugin_that_refuses_it(
    case: Case, plugins: tuple[str, ...], tmp_path: Path
) -> None:
    names = case.node_names
    async with serving(case, tmp_path, *plugins) as client:
        for question in case.questions:
            assert await post(client, "/filter", by_name(question, names)) == {
                "Nodes": None,
                "NodeNames": question.feasible(names),
                **expected_lists(question, *plugins),
                "Error": "",
            }, question.id


@pytest.mark.parametrize("case", CASES[::6])
async def test_answers_about_whole_nodes_as_kubernetes_does(case: Case, tmp_path: Path) -> None:
    names = case.node_names
    async with serving(case, tmp_path, "interPodAffinity") as client:
        for question in case.questions:
            answer = await post(client, "/filter", with_objects(case, question, names))
            fits = expected_fits(question, names, "interPodAffinity")
            assert answer == {
                "Nodes": with_objects(case, question, fits)["Nodes"],
                "NodeNames": None,
                **expected_lists(question, "interPodAffinity"),
                "Error": "",
            }, question.id
            scores = await post(client, "/prioritize", with_objects(case, question, names))
            expected = question.expected["interPodAffinity"]["score"]
            assert scores == host_priorities(expected, names), question.id
