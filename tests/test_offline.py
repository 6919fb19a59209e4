"""Clusters from files, in every form that people have them in."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest
import yaml

from extender.cluster.recount import live
from extender.cluster.state import ClusterState
from extender.offline import ClusterFileError, load_cluster
from extender.wire.objects import PodReader
from tests.builders import budget, crossing, namespace, node, pod, quota, selector, term

ZONE = "topology.kubernetes.io/zone"
OBJECTS = [
    pod("early").labels(app="web").anti_affinity(term(ZONE, selector(app="web"))).on("a"),
    node("a", {ZONE: "z"}),
    namespace("default", {"team": "red"}),
    {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "q"}},
]
LIST = json.dumps({"apiVersion": "v1", "kind": "List", "items": OBJECTS}).encode()


def typed(kind: str) -> bytes:
    """Write a typed list, whose items need not say their kind."""
    items = [
        {k: v for k, v in each.items() if k != "kind"} for each in OBJECTS if each["kind"] == kind
    ]
    return json.dumps({"kind": f"{kind}List", "items": items}).encode()


def load(path: Path, content: bytes, state: ClusterState | None = None) -> ClusterState:
    """Load one file."""
    state = state or ClusterState()
    path.write_bytes(content)
    load_cluster(path, state, PodReader(charges=True))
    return state


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(LIST, id="a JSON list"),
        pytest.param(b"\n  " + LIST, id="a JSON list after blanks"),
        pytest.param(gzip.compress(LIST), id="a gzipped JSON list"),
        pytest.param(yaml.safe_dump_all(map(dict, OBJECTS)).encode(), id="a YAML stream"),
        pytest.param(
            b"---\n---\n" + yaml.safe_dump(json.loads(LIST)).encode(), id="a YAML list, and nothing"
        ),
    ],
)
def test_a_cluster_in_any_form(tmp_path: Path, content: bytes) -> None:
    state = load(tmp_path / "cluster", content)
    assert [*state.pods, *state.nodes, *state.namespaces] == ["default/early", "a", "default"]
    assert list(live(state).values()) == [{"z": 1}]


def test_a_cluster_in_several_files(tmp_path: Path) -> None:
    state = ClusterState()
    for kind in ("Pod", "Node", "Namespace"):
        load(tmp_path / kind, typed(kind), state)
    assert list(live(state).values()) == [{"z": 1}]


def test_disruption_budgets_are_loaded(tmp_path: Path) -> None:
    state = load(tmp_path / "budget", json.dumps(budget("one", selector(app="web"), 2)).encode())
    found = state.budgets.get("default/one")
    assert found is not None
    assert (found.uid, found.allowed) == ("budget-one", 2)


def test_quotas_are_loaded_for_those_who_look_at_them(tmp_path: Path) -> None:
    content = json.dumps(quota("one", {"pods": 2}, crossing())).encode()
    assert list(load(tmp_path / "quota", content).quotas) == ["default/one"]
    state = ClusterState()
    load_cluster(tmp_path / "quota", state, PodReader())
    assert list(state.quotas) == []


def test_an_empty_file_is_an_empty_cluster(tmp_path: Path) -> None:
    assert not load(tmp_path / "empty", b"").pods


@pytest.mark.parametrize(
    ("content", "says"),
    [
        pytest.param(b"{", "not valid JSON", id="half a file"),
        pytest.param(b"{}", "kind: an object needs a kind", id="an object without a kind"),
        pytest.param(b"a: [", "expected", id="broken YAML"),
        pytest.param(b"\x1f\x8bnonsense", "cluster", id="broken gzip"),
        pytest.param(b'{"kind":"List","items":{}}', "items", id="items that are no list"),
        pytest.param(
            b'{"kind":"List","items":[{"kind":"Node","metadata":{"name":"n"}},{"kind":"Node"}]}',
            r"object 1 \(Node\): .*metadata",
            id="an object without metadata",
        ),
    ],
)
def test_what_cannot_be_read_is_said_with_its_place(
    tmp_path: Path, content: bytes, says: str
) -> None:
    with pytest.raises(ClusterFileError, match=says):
        load(tmp_path / "cluster", content)


def test_a_missing_file_is_said(tmp_path: Path) -> None:
    with pytest.raises(ClusterFileError, match=r"nowhere: .*No such file"):
        load_cluster(tmp_path / "nowhere", ClusterState(), PodReader())
