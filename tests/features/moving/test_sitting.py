"""Whether a placed pod sits as well as it can by its preferred rules."""

from __future__ import annotations

import json
from typing import Any

import pytest

from extender.features.moving.sitting import MOST_TERMS
from tests.builders import HOST, ZONE, Pod, node_term, pod, requirement, term
from tests.commands.explain.cluster import WEB, Explain


def web(name: str) -> Pod:
    return pod(name).labels(app="web").owned_by("ReplicaSet/web-5d").avoids(100, term(ZONE, WEB))


NEW, OTHER = web("new"), web("other").on("a2")
WORSE = (
    "Note: it sits worse than it has to by preferred rules: node b1 would suit it better, by 100 "
    "in the weights of its own terms (200 with those of other pods)"
)
WELL = "Note: it sits as well as it can by preferred rules: no node that would take it suits it"
STAYS = "; it would not be moved for that: "
BARE = {**NEW.on("a1"), "metadata": {"name": "new", "labels": {"app": "web"}}}
CLAIM = {"name": "data", "persistentVolumeClaim": {"claimName": "data"}}


@pytest.mark.parametrize(
    ("new", "said"),
    [
        pytest.param(NEW.on("a1"), f"{WORSE}.", id="beside another one"),
        pytest.param(NEW.on("b1"), WELL, id="apart"),
        pytest.param(
            BARE,
            f"{WORSE}{STAYS}it has no controller that would replace it.",
            id="without a controller",
        ),
        pytest.param(
            NEW.owned_by("Job/web").on("a1"),
            f"{WORSE}{STAYS}it belongs to a Job, which may not replace it.",
            id="of a Job",
        ),
        pytest.param(
            {**NEW.on("a1"), "spec": {**NEW.on("a1")["spec"], "volumes": [CLAIM]}},
            f"{STAYS}its volumes may hold it where it is.",
            id="with a claim",
        ),
        pytest.param(
            pod("new").prefers_nodes(5, node_term(requirement(ZONE, "In", "b"))).on("a1"),
            "node b1 would suit it better, by 5 in the weights",
            id="not on the nodes that it prefers",
        ),
    ],
)
def test_a_placed_pod(new: Any, said: str, explain: Explain) -> None:
    _, text = explain("new", new, OTHER)
    assert said in " ".join(text.split())


@pytest.mark.parametrize(
    "new",
    [
        pytest.param(NEW, id="waits"),
        pytest.param(NEW.selects(no="where"), id="waits and fits nowhere"),
        pytest.param(pod("new").labels(app="web").on("a1"), id="prefers nothing"),
        pytest.param(NEW.on("a1").being_deleted(), id="is on its way out"),
        pytest.param(
            NEW.avoids(1, *(term(ZONE, WEB) for _ in range(MOST_TERMS))).on("a1"),
            id="has very many preferences",
        ),
    ],
)
def test_of_others_nothing_is_said(new: Any, explain: Explain) -> None:
    _, text = explain("new", new, OTHER)
    assert "it sits" not in text
    _, text = explain("new -o json", new, OTHER)
    assert "improvement" not in json.loads(text)


def test_for_programs(explain: Explain) -> None:
    better = {"node": "b1", "gain": 100, "totalGain": 200}
    _, text = explain("new -o json", NEW.on("a1"), OTHER)
    assert json.loads(text)["improvement"] == better | {"stays": None}
    _, text = explain("new -o json", NEW.on("b1"), OTHER)
    assert json.loads(text)["improvement"] is None


def test_one_node(explain: Explain) -> None:
    """Of the others nothing is known then."""
    _, text = explain("new --node b1", NEW.on("a1"), OTHER)
    assert WORSE in " ".join(text.split())
    _, text = explain("new --node a1", NEW.on("a1"), OTHER)
    assert "it sits" not in text


def test_a_node_that_does_not_take_it_is_no_better_place(explain: Explain) -> None:
    new = NEW.selects(**{HOST: "a1"}).on("a1")
    _, text = explain("new", new, OTHER)
    assert WELL in " ".join(text.split())
