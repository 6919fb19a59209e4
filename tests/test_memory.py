"""Memory stays within what is stated, whatever comes and goes; counted by the allocator."""

from __future__ import annotations

import gc
import tracemalloc
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeAlias

import msgspec
import pytest

from extender.core.cluster.state import ClusterState
from extender.core.model import memory
from extender.core.model.lru_cache import CountedCache
from extender.core.wire.objects import LONGEST_NAME, NodeReader, PodReader
from extender.core.wire.placement import LONGEST_REFERENCES
from tests.beside import RULES
from tests.builders import every_facet, node, pod, selector, term
from tests.churned_manifests import Sizes
from tests.churned_pods import Churn
from tests.circles import left_in_circles

pytestmark = pytest.mark.thorough

MIB = memory.MIB
Json: TypeAlias = tuple[dict[str, Any], dict[str, Any]]
"""Parts of metadata and spec."""
WORDS = 8000
"""Some 400 KiB of them in one object."""
HUGE = 20
"""Pods of that kind."""
PAGE = Path(__file__).parents[1] / "docs/development/memory.md"


@pytest.fixture(autouse=True)
def traced() -> Iterator[None]:
    """Count what Python allocates."""
    gc.collect()
    tracemalloc.start()
    yield
    tracemalloc.stop()


def held() -> float:
    """Return the MiB that are allocated."""
    gc.collect()
    return tracemalloc.get_traced_memory()[0] / MIB


def words(number: int) -> dict[str, str]:
    """Return words that no other number has."""
    return {f"{number}-{word:024}": f"{word}-{number}" for word in range(WORDS)}


def labelled(number: int) -> Json:
    return {"labels": words(number)}, {}


def ruled(number: int) -> Json:
    among = {"key": "app", "operator": "NotIn", "values": [*words(number)]}
    rule = {"topologyKey": "zone", "labelSelector": {"matchExpressions": [among]}}
    required = {"requiredDuringSchedulingIgnoredDuringExecution": [rule]}
    return {}, {"affinity": {"podAntiAffinity": required}}


def demanding(number: int) -> Json:
    """Return a pod with requests, some of which are no requests at all."""
    return {}, {"containers": [{"resources": {"claims": [*words(number)]}}]}


def picky(number: int) -> Json:
    """Return a pod that asks for nodes."""
    among = {"key": "app", "operator": "NotIn", "values": [*words(number)]}
    required = {"nodeSelectorTerms": [{"matchExpressions": [among]}]}
    rules = {"requiredDuringSchedulingIgnoredDuringExecution": required}
    return {}, {"affinity": {"nodeAffinity": rules}}


def manifest(parts: Json, uid: int) -> bytes:
    metadata, spec = parts
    known = {"name": "x", "uid": str(uid)}
    return msgspec.json.encode({"metadata": metadata | known, "spec": spec | {"nodeName": "n"}})


@pytest.mark.parametrize("make", [labelled, ruled, demanding, picky])
def test_huge_pods_that_are_gone_leave_little_behind(
    make: Callable[[int], Json], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(memory, "CLASSES", 4 * MIB)
    monkeypatch.setattr(memory, "NODE_AFFINITIES", 4 * MIB)
    reader, state = (
        PodReader(facets=every_facet(), rules=RULES, node_selection=True),
        ClusterState(),
    )
    before = held()
    for number in range(HUGE):
        found = reader.read(manifest(make(number), number))
        state.upsert_pod(found)
        state.remove_pod(found.key, found.uid)
        del found
    assert held() - before < 16


def test_replicas_of_a_huge_pod_share_its_rules_even_when_they_are_not_kept(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(memory, "CLASSES", MIB)
    reader = PodReader(rules=RULES)
    raw = [manifest(labelled(1), uid) for uid in (1, 2)]
    one, other = map(reader.read, raw)
    assert one.pod_class is other.pod_class
    live = reader._classes._live
    assert len(live) == 1
    del one, other
    gc.collect()
    assert len(live) == 0, "it goes with the last of its pods"


def test_nodes_that_offer_something_else_each_time_leave_little_behind() -> None:
    reader, state = NodeReader(), ClusterState()

    def churn(numbers: range) -> float:
        for number in numbers:
            room = {"cpu": str(number), **dict.fromkeys(map(str, range(50)), "1")}
            raw = node("n", {"zone": f"zone-{number}"}, room)
            state.upsert_node(reader.read(msgspec.json.encode(raw)))
        return held()

    warm = churn(range(50))
    assert churn(range(50, 300)) - warm < 0.2


def test_caches_that_are_bounded_by_number_take_what_is_stated() -> None:
    reader, state = PodReader(), ClusterState()
    before = held()
    for number in range(memory.MOST_NAMES + 100):
        reader._name(f"{number:0{LONGEST_NAME}}")
    for number in range(memory.MOST_OWNERS + 100):
        owner = {"kind": "Job", "name": f"{number:0{LONGEST_REFERENCES - 60}}", "controller": True}
        raw = msgspec.json.encode([owner])
        assert LONGEST_REFERENCES - 20 < len(raw) <= LONGEST_REFERENCES
        assert reader._owners.read(msgspec.Raw(raw)) is not None
    for number in range(memory.MOST_ASKED + 100):
        state._judged.note_asked(f"{number:036}", f"{number:064}", admitted=True)
    recorded: CountedCache[str, str] = CountedCache(memory.MOST_RECORDED + memory.MOST_SPENT_SETS)
    for number in range(memory.MOST_RECORDED + memory.MOST_SPENT_SETS):
        recorded.put(f"{number:036}", f"{number:064}")
    assert len(reader._names) == memory.MOST_NAMES
    assert len(reader._owners._known) == memory.MOST_OWNERS
    assert held() - before < memory.BY_NUMBER / MIB


def test_longer_names_and_references_are_not_kept() -> None:
    reader = PodReader()
    reader._name("x" * (LONGEST_NAME + 1))
    owner = {"kind": "Job", "name": "x" * LONGEST_REFERENCES, "controller": True}
    found = reader._owners.read(msgspec.Raw(msgspec.json.encode([owner])))
    assert found is not None
    assert len(reader._names) == len(reader._owners._known) == 0


def test_domains_and_numbers_are_used_again() -> None:
    state = ClusterState()
    owner = pod("x").anti_affinity(term("zone", selector(app="web"))).on("n-0")
    state.upsert_pod(PodReader(rules=RULES).read(msgspec.json.encode(owner)))

    def churn(numbers: range) -> float:
        for number in numbers:
            for each in range(20):
                name = f"node-{each}-{number // 10}"
                labelled_node = node(name, {"zone": f"zone-{each}-{number}"})
                state.upsert_node(NodeReader().read(msgspec.json.encode(labelled_node)))
                if number % 10 == 9:
                    state.remove_node(name)
        return held()

    warm = churn(range(20))
    assert churn(range(20, 200)) - warm < 0.1


async def test_memory_stays_flat_while_pods_that_are_all_different_come_and_go(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name, value in vars(memory).items():
        if name.isupper() and name not in {"MIB", "TOTAL"}:
            monkeypatch.setattr(memory, name, value // 32)
    churn = Churn(Sizes(large=20, huge=150), most_matching_sets=100)
    # None of the huge ones is alive at either end.
    await churn.run(740)
    warm = held()
    await churn.run(900)
    assert churn.outcomes == {"placed": 1477, "refused": 163}
    assert churn.evicted > 200
    assert held() - warm < 1


async def test_nothing_is_remembered_of_pods_that_are_gone() -> None:
    churn = Churn(Sizes(large=20, huge=150), most_matching_sets=100)
    await churn.run(300)
    churn.clear()
    # A refused pod that no watch ever showed is remembered for five minutes.
    churn.clock.now += 400
    await churn.look_after(500)
    assert len(churn.preemption._records) == len(churn.preemption._records.begun) == 0
    hints = churn.nomination._records
    assert list(hints.refused) == []
    assert len(hints.begun) == 0
    assert churn.state.node_rules._pods == {}
    assert len(churn.state.nominated) == 0


async def test_what_comes_and_goes_leaves_no_circles() -> None:
    churn = Churn(Sizes(large=20, huge=150, many=20), most_matching_sets=100)
    await churn.run(300)
    with left_in_circles(object) as found:
        await churn.run(300)
        churn.state.do_deferred()
    assert not found


def test_the_page_states_the_sum_of_all_budgets() -> None:
    assert f"caches, {memory.TOTAL // MIB} MiB at most" in PAGE.read_text(encoding="utf-8")
