"""Every question of the conformance cases, asked over HTTP as kube-scheduler asks.

With the in-tree numbers (scores up to 100) and the in-tree lists (`filter.resolvable`), answers
have to be equal to the last digit.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from prometheus_client import CollectorRegistry

from extender.cluster.state import ClusterState
from extender.metrics import Metrics
from extender.offline import load_cluster
from extender.verbs.prioritizing import Scoring
from extender.web.answers import Answers, Rules
from extender.web.callbacks import callbacks_app
from tests.conformance.cases import Case, load_cases

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from aiohttp.test_utils import TestClient
    from aiohttp.web import Application, Request
    from pytest_aiohttp.plugin import AiohttpClient

    from tests.conformance.cases import Question

    Client = TestClient[Request, Application]

LARGEST_BODY = 16 << 20
LISTS = {
    "Unschedulable": "FailedNodes",
    "UnschedulableAndUnresolvable": "FailedAndUnresolvableNodes",
}
"""Where the scheduler's two ways to refuse a node stand in a filter result."""


def application(case: Case, directory: Path) -> Application:
    """Build the application that serves the scheduler, over the cluster of a case."""
    metrics = Metrics(CollectorRegistry(), "test")
    rules = Rules(
        enforce=True,
        resolvable=True,
        scoring=Scoring(
            case.args.get("hardPodAffinityWeight", 1),
            case.args.get("ignorePreferredTermsOfExistingPods", False),
        ),
        max_score=100,
    )
    file = directory / "cluster.json"
    items = [item for objects in case.cluster.values() for item in objects]
    file.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": items}))
    state = ClusterState()
    load_cluster(file, state)
    answers = Answers(state, rules, metrics, lambda: None)
    return callbacks_app(answers, metrics, LARGEST_BODY)


async def post(client: Client, path: str, body: Mapping[str, Any]) -> Any:
    # Compact, as Go writes: a list of names that comes back from filter is then recognised.
    response = await client.post(path, data=json.dumps(body, separators=(",", ":")))
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


def expected_lists(question: Question) -> dict[str, dict[str, str]]:
    refused = question.expected["interPodAffinity"]["refused"]
    return {
        field: {name: v["reason"] for name, v in refused.items() if v["code"] == code}
        for code, field in LISTS.items()
    }


def expected_fits(case: Case, question: Question) -> list[str]:
    refused = question.expected["interPodAffinity"]["refused"]
    return [name for name in case.node_names if name not in refused]


def host_priorities(scores: Mapping[str, int], names: Sequence[str]) -> list[dict[str, Any]]:
    """List the scores in the order of the request; hosts with 0 are left out."""
    return [{"Host": name, "Score": scores[name]} for name in names if scores.get(name)]


CASES = [pytest.param(case, id=case.id) for case in load_cases()]


@pytest.mark.parametrize("case", CASES)
async def test_answers_as_kubernetes_does(
    case: Case, aiohttp_client: AiohttpClient, tmp_path: Path
) -> None:
    client = await aiohttp_client(application(case, tmp_path))
    # Backwards, since a scheduler's order is not the cluster's.
    names = case.node_names[::-1]
    for question in case.questions:
        expected = question.expected["interPodAffinity"]

        assert await post(client, "/filter", by_name(question, names)) == {
            "Nodes": None,
            "NodeNames": expected_fits(case, question)[::-1],
            **expected_lists(question),
            "Error": "",
        }, question.id
        everywhere = await post(client, "/prioritize", by_name(question, names))
        assert everywhere == host_priorities(expected["score"], names), question.id
        feasible = question.feasible(names)
        there = await post(client, "/prioritize", by_name(question, feasible))
        assert there == host_priorities(expected["scoreFeasible"], feasible), question.id


@pytest.mark.parametrize("case", CASES[::6])
async def test_answers_about_whole_nodes_as_kubernetes_does(
    case: Case, aiohttp_client: AiohttpClient, tmp_path: Path
) -> None:
    client = await aiohttp_client(application(case, tmp_path))
    names = case.node_names
    for question in case.questions:
        answer = await post(client, "/filter", with_objects(case, question, names))

        fits = expected_fits(case, question)
        assert answer == {
            "Nodes": with_objects(case, question, fits)["Nodes"],
            "NodeNames": None,
            **expected_lists(question),
            "Error": "",
        }, question.id
        scores = await post(client, "/prioritize", with_objects(case, question, names))
        expected = question.expected["interPodAffinity"]["score"]
        assert scores == host_priorities(expected, names), question.id
