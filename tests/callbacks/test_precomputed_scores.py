"""What prioritize will be asked is answered ahead, and never after it has become untrue."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest
from msgspec import Raw
from prometheus_client import CollectorRegistry

from extender.callbacks.prioritizing import PATIENCE, PrecomputedScores
from extender.cluster.state import ClusterState
from extender.metrics import Metrics
from extender.wire.objects import PodReader
from tests.answering import Answering
from tests.builders import HOST, model_pod, node, pod, selector, state_of, term

if TYPE_CHECKING:
    from tests.builders import Json

WEB = selector(app="web")
NODES = [node(name, {HOST: name}) for name in "abc"]
DRAWN_TO_WEB = pod("new").prefers(10, term(HOST, WEB))
KEEPS_OFF_WEB = pod("new").anti_affinity(term(HOST, WEB))
POD, NAMES = Raw(b'{"metadata":{"name":"new"}}'), b'["a","b"]'
CALL = b'{"Pod":{"metadata":{"name":"new"}},"Nodes":null,"NodeNames":["a","b"]}'


class Later:
    """Keeps what is deferred until told."""

    def __init__(self) -> None:
        self.work: list[Callable[[], None]] = []

    def __call__(self, work: Callable[[], None]) -> None:
        """Defer it."""
        self.work.append(work)

    def run(self) -> None:
        """Do it all, in its order."""
        while self.work:
            self.work.pop(0)()


class Asked:
    """Answers over three nodes with a web pod on the first; counts the pods that are read."""

    def __init__(self) -> None:
        self.state = state_of(NODES, [], [pod("web").labels(app="web").on("a")])
        self.later = Later()
        self.registry = CollectorRegistry()
        self.pods_read = 0
        reader = PodReader()
        read = reader.read

        def counted(raw: Any) -> Any:
            self.pods_read += 1
            return read(raw)

        reader.read = counted  # type: ignore[method-assign, assignment]
        metrics = Metrics(self.registry, "test")
        self.answers = Answering(
            self.state,
            metrics,
            max_score=100,
            unready=lambda: self.unready,
            pods=reader,
            defer=self.later,
        )
        self.unready: str | None = None

    async def filter(self, incoming: Json, *names: str) -> list[str]:
        """Return the nodes that fit, once everything deferred is done."""
        fits: list[str] = json.loads(await self.answers.filter(body(incoming, names)))["NodeNames"]
        self.later.run()
        return fits

    async def prioritize(self, incoming: Json, *names: str) -> dict[str, int]:
        """Return the scores by node."""
        scores = json.loads(await self.answers.prioritize(body(incoming, names)))
        self.later.run()
        return {score["Host"]: score["Score"] for score in scores}


def body(incoming: Json, names: tuple[str, ...]) -> bytes:
    arguments = {"Pod": incoming, "Nodes": None, "NodeNames": names}
    return json.dumps(arguments, separators=(",", ":")).encode()


async def test_prioritize_after_filter_reads_nothing() -> None:
    asked = Asked()
    fits = await asked.filter(DRAWN_TO_WEB, "b", "a", "c")
    assert await asked.prioritize(DRAWN_TO_WEB, *fits) == {"a": 100}
    assert asked.pods_read == 1


async def test_only_the_nodes_that_fit_are_foreseen() -> None:
    asked = Asked()
    fits = await asked.filter(KEEPS_OFF_WEB, "b", "a", "c")
    assert fits == ["b", "c"]
    assert await asked.prioritize(KEEPS_OFF_WEB, *fits) == {}
    assert asked.pods_read == 1
    assert await asked.prioritize(KEEPS_OFF_WEB, "c", "b") == {}
    assert asked.pods_read == 2, "other nodes are another question"


async def test_what_has_changed_since_is_not_overlooked() -> None:
    asked = Asked()
    fits = await asked.filter(DRAWN_TO_WEB, "b", "a", "c")
    asked.state.upsert_pod(model_pod(pod("more").labels(app="web").on("b")))
    asked.state.upsert_pod(model_pod(pod("most").labels(app="web").on("b")))
    assert await asked.prioritize(DRAWN_TO_WEB, *fits) == {"a": 50, "b": 100}


async def test_nothing_is_foreseen_of_a_node_that_went_with_filters_answer() -> None:
    asked = Asked()
    both = pod("new").anti_affinity(term(HOST, WEB)).prefers(10, term(HOST, selector(app="db")))
    asked.state.upsert_pod(model_pod(pod("db").labels(app="db").on("c")))
    fits = json.loads(await asked.answers.filter(body(both, ("b", "a", "c"))))["NodeNames"]
    asked.state.remove_node("b")
    asked.later.run()
    assert fits == ["b", "c"]
    await asked.prioritize(both, *fits)
    assert asked.pods_read == 2


async def test_a_program_that_has_lost_its_picture_recalls_nothing() -> None:
    asked = Asked()
    fits = await asked.filter(DRAWN_TO_WEB, "b", "a", "c")
    asked.unready = "pods not synced"
    assert await asked.prioritize(DRAWN_TO_WEB, *fits) == {}


async def test_a_run_that_was_foreseen_is_observed_when_it_is_asked_for() -> None:
    asked = Asked()
    labels = {"plugin": "InterPodAffinity", "extension_point": "Score", "status": "Success"}
    name = "affinity_extender_plugin_execution_duration_seconds_count"
    fits = await asked.filter(DRAWN_TO_WEB, "b", "a", "c")
    assert asked.registry.get_sample_value(name, labels) == 0
    await asked.prioritize(DRAWN_TO_WEB, *fits)
    assert asked.registry.get_sample_value(name, labels) == 1


async def test_the_scheduler_does_not_ask_about_a_single_node() -> None:
    asked = Asked()
    await asked.filter(DRAWN_TO_WEB, "a")
    await asked.prioritize(DRAWN_TO_WEB, "a")
    assert asked.pods_read == 2


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(CALL, id="the call itself"),
        pytest.param(CALL.replace(b"new", b"old"), id="another pod"),
        pytest.param(CALL.replace(b'"b"', b'"c"'), id="other nodes"),
        pytest.param(CALL[:-1], id="less than a call"),
    ],
)
def test_a_call_is_known_by_all_of_its_bytes(change: bytes) -> None:
    precomputed = PrecomputedScores(ClusterState(), lambda work: work())
    precomputed.expect(POD, NAMES, lambda: (b"[]", {}))
    assert (precomputed.recall(change) is not None) == (change == CALL)


def test_nothing_is_made_for_a_scheduler_that_never_asks() -> None:
    made: list[int] = []
    precomputed = PrecomputedScores(ClusterState(), lambda work: work())

    def make() -> tuple[bytes, dict[str, float]]:
        made.append(1)
        return b"[]", {}

    for _ in range(2 * PATIENCE):
        precomputed.expect(POD, NAMES, make)
    assert len(made) == PATIENCE
    precomputed.recall(CALL)
    precomputed.expect(POD, NAMES, make)
    assert len(made) == PATIENCE + 1
