"""Whether pods are ready is counted by controller, and is nothing to any other counter."""

from __future__ import annotations

import json
from collections import Counter
from random import Random

import pytest

from extender.core.cluster.state import ClusterState
from extender.core.model.objects import Controller
from extender.core.wire.objects import PodReader
from tests.beside import RULES
from tests.builders import HOST, Pod, model_node, node, pod
from tests.features.moving.booked import books_over

READER = PodReader(owners=True, requirements=True, stored=True, rules=RULES)


def show(state: ClusterState, raw: Pod) -> None:
    state.upsert_pod(READER.read(json.dumps(raw).encode()))


def with_node() -> ClusterState:
    state = ClusterState()
    state.upsert_node(model_node(node("n", {HOST: "n"})))
    return state


def test_a_pod_that_is_ready_now_changes_no_answer() -> None:
    state = with_node()
    owned = books_over(state).watch.owned
    raw = pod("web").owned_by("ReplicaSet/web").on("n")
    show(state, raw)
    version, owner = state.version, Controller("default", "ReplicaSet/web")
    (known,) = state.pods.values()
    owner = known.controller or owner
    assert owned.ready(owner) == 0
    show(state, raw.ready())
    assert (owned.ready(owner), state.version) == (1, version)
    (known,) = state.pods.values()
    assert known.status.ready
    assert [*state.pods_on("n")] == [known]
    show(state, raw.ready(yes=False))
    assert (owned.ready(owner), state.version) == (0, version)


def test_most_pods_share_their_status_ready_or_not() -> None:
    pods = [
        READER.read(json.dumps(pod(f"p{each}").on("n").ready(yes=each % 2 == 0)).encode())
        for each in range(10)
    ]
    assert len({id(each.status) for each in pods}) == 2


@pytest.mark.parametrize(
    ("conditions", "ready"),
    [
        (None, False),
        ([], False),
        ([{"type": "Ready", "status": "True"}], True),
        ([{"type": "Ready", "status": "False"}], False),
        ([{"type": "Ready", "status": "Unknown"}], False),
        ([{"type": "ContainersReady", "status": "True"}], False),
        ([{"type": "x", "status": "True", "message": '"Ready"'}], False),
    ],
)
def test_the_condition_of_that_type_says_it(
    conditions: list[dict[str, str]] | None, *, ready: bool
) -> None:
    raw = pod("web").on("n")
    raw["status"]["conditions"] = conditions
    assert READER.read(json.dumps(raw).encode()).status.ready is ready


@pytest.mark.parametrize("seed", range(30))
def test_whatever_happens_the_count_is_that_of_the_pods(seed: int) -> None:
    chance, state = Random(seed), with_node()
    owned = books_over(state).watch.owned
    for _ in range(200):
        name = f"p{chance.randrange(8)}"
        raw = pod(name).uid(f"{name}-{chance.randrange(2)}")
        raw = raw.owned_by(f"ReplicaSet/{chance.choice('ab')}")
        lot = chance.random()
        if lot < 0.1 and (known := state.pods.get(f"default/{name}")):
            state.remove_pod(known.key, known.uid)
            continue
        if lot < 0.8:
            raw = raw.on("n").ready(yes=chance.random() < 0.5)
        if chance.random() < 0.1:
            raw = raw.being_deleted()
        show(state, raw)
        counted = Counter(
            each.controller
            for each in state.pods.values()
            if each.status.ready and each.node and not each.status.deleting
        )
        for owner in {each.controller for each in state.pods.values()}:
            assert owner is not None
            assert owned.ready(owner) == counted[owner]
