"""What is counted, compared with what the API server has stored."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable
from typing import Any

import pytest

import extender.core.cluster.counts.node_index
from extender.core.cluster.counts.scope import Scope
from extender.core.cluster.state import ClusterState
from extender.core.model.labels import Labels, Operator, Requirement
from extender.core.model.workload import MARKS
from extender.core.verbs.inter_pod_affinity import InterPodAffinity
from extender.core.wire.objects import NodeReader, PodReader, read_namespace
from simulation.apiserver.store import Store, encode
from simulation.apiserver.verbs import bind
from simulation.invariants.broken import BrokenError
from simulation.invariants.counted import agrees, check_stored
from simulation.invariants.recount import mismatches
from simulation.templates import SORTS, namespace, node, pod, template
from tests.beside import RULES
from tests.builders import empty_state, every_facet, model_pod

NODES = 5
MODELS = {
    "nodeAffinity": {
        "requiredDuringSchedulingIgnoredDuringExecution": {
            "nodeSelectorTerms": [
                {"matchExpressions": [{"key": "model", "operator": "Gt", "values": ["2"]}]}
            ]
        }
    }
}


def stored() -> Store:
    """Return a cluster in which pods of all sorts are placed, and one waits."""
    store = Store()
    for name, team in (("default", "blue"), ("other", "green")):
        store.create("namespaces", namespace(name, team), "users")
    for number in range(NODES):
        store.create("nodes", node(f"n{number}", f"z{number % 2}", 8, number), "users")
    for number, sort in enumerate(SORTS):
        made_of = template(sort, f"app{number % 3}", "app0")
        made = pod(f"p{number}", "default", made_of, owner="", scheduler="", milli=100)
        uid = store.create("pods", made, "users")["metadata"]["uid"]
        bind(store, f"default/p{number}", uid, f"n{number % NODES}", "users")
    made_of = {**template("plain", "waits", ""), "affinity": MODELS}
    made = pod("waits", "other", made_of, owner="", scheduler="", milli=100)
    store.create("pods", made, "users")
    return store


def read(store: Store) -> ClusterState:
    """Return what the program makes of a cluster, with what it counts for those that wait."""
    state, reader = (
        empty_state(),
        PodReader(facets=every_facet(), rules=RULES, node_selection=True, stored=True),
    )
    for each in store.all("namespaces").values():
        state.upsert_namespace(read_namespace(encode(each)))
    for each in store.all("nodes").values():
        state.upsert_node(NodeReader().read(encode(each)))
    for each in store.all("pods").values():
        state.upsert_pod(reader.read(encode(each)))
    plugin, asked = InterPodAffinity(), state.nodes.asked(list(state.nodes))
    for number, sort in enumerate(SORTS):
        made_of = template(sort, f"app{number % 3}", "app0")
        raw = pod(f"asks{number}", "default", made_of, owner="", scheduler="", milli=100)
        plugin.filter(state, model_pod(raw), asked)
    for known in state.pods.values():
        for rule in () if known.node_selection is None else known.node_selection.required_rules:
            state.node_rules.judge(rule)
    return state


def test_who_counts_right_is_left_alone() -> None:
    store = stored()
    state = read(store)
    assert agrees(state, store)
    assert len([*state.matching_sets]) > len(SORTS) / 2
    check_stored(state, store)


@pytest.mark.parametrize(
    "happens",
    [
        pytest.param(lambda store: store.remove("pods", "default/p1", "users"), id="a pod goes"),
        pytest.param(
            lambda store: bind(store, "other/waits", "", "n1", "users"), id="a pod is bound"
        ),
        pytest.param(
            lambda store: store.create("nodes", node("n9", "z9", 8), "users"), id="a node comes"
        ),
        pytest.param(
            lambda store: store.update(
                "namespaces", "other", lambda _: namespace("other", "red"), "users"
            ),
            id="a namespace is relabelled",
        ),
    ],
)
def test_nobody_knows_what_has_just_happened(happens: Callable[[Store], Any]) -> None:
    store = stored()
    state = read(store)
    happens(store)
    assert not agrees(state, store)


def test_what_the_program_notes_beside_labels_is_no_news(monkeypatch: pytest.MonkeyPatch) -> None:
    # As where rules in annotations count: without this, nothing would be counted there.
    noted = dict.fromkeys(MARKS, "noted")
    monkeypatch.setattr(Scope, "marked", lambda _, labels: {**labels, **noted})
    store = stored()
    assert agrees(read(store), store)


def test_a_pod_that_is_counted_twice_is_found() -> None:
    store = stored()
    state = read(store)
    some = state.pods["default/p0"]
    state._counters.shift(some.pod_class, "n0", 1)
    with pytest.raises(BrokenError, match="counters differ from the cluster"):
        check_stored(state, store)


def test_what_the_program_misreads_is_found_though_its_own_audit_misreads_it_too(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    matches = Requirement.matches

    def strict(self: Requirement, labels: Labels) -> bool:
        absent = self.operator is Operator.NOT_IN and self.key not in labels
        return not absent and matches(self, labels)

    monkeypatch.setattr(Requirement, "matches", strict)
    store = stored()
    state = read(store)
    assert not mismatches(state)
    with pytest.raises(BrokenError, match="counters differ from the cluster"):
        check_stored(state, store)


def test_node_affinity_that_is_misread_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(extender.core.cluster.counts.node_index, "bisect_right", bisect_left)
    store = stored()
    with pytest.raises(BrokenError, match="other/waits may not be on n1"):
        check_stored(read(store), store)
