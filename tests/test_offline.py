"""Clusters from files, in every form that people have them in."""

from __future__ import annotations

import gzip
import io
import json
import os
import threading
import types
from collections.abc import Sequence
from functools import reduce
from pathlib import Path

import pytest
import yaml

from affinityctl.reading.workloads import WorkloadFiles
from affinityctl.scheduler.volumes.ledger import ledger_of
from extender.core.cluster.state import ClusterState
from extender.core.errors import UnreadableError
from extender.core.offline import ClusterFileError, ClusterFiles
from extender.core.wire.objects import PodReader
from simulation.invariants.recount import live
from tests.beside import RULES
from tests.builders import (
    ZONE,
    Json,
    budget,
    every_facet,
    namespace,
    node,
    pod,
    selector,
    term,
    workload,
)
from tests.volumes import READER, bound, claim, limited, storage_class


def listed(objects: Sequence[Json], *more: bytes) -> bytes:
    """Write a list as kubectl does, whose last items are written already."""
    items = [*objects, *map(json.loads, more)]
    return json.dumps({"apiVersion": "v1", "kind": "List", "items": items}, indent=4).encode()


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
    ClusterFiles(state, PodReader(facets=every_facet(), rules=RULES)).load(path)
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
        pytest.param(listed(OBJECTS[:1], listed(OBJECTS[1:])), id="a list in a list"),
        pytest.param("\n".join(map(json.dumps, OBJECTS)).encode(), id="JSON, an object a line"),
        pytest.param(
            "\r\n---\r\n".join(json.dumps(each, indent=4) for each in OBJECTS).encode(),
            id="JSON documents with separators",
        ),
        pytest.param(
            b"\n".join(listed([each]) for each in OBJECTS) + b"\n", id="one JSON list after another"
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


ONLY = "nothing in it can be used, only "
EXPECTED = "; expected what `kubectl get nodes,namespaces,pods -A -o json` prints"


@pytest.mark.parametrize(
    ("content", "says"),
    [
        pytest.param(b"", "there is no object in it", id="an empty file"),
        pytest.param(b'{"kind":"List","items":[]}', "there is no object in it", id="an empty list"),
        pytest.param(
            b"apiVersion: v1\nkind: Config\nclusters: []\n",
            "nothing in it can be used, only 1 Config (a kubeconfig is named by --kubeconfig)",
            id="a kubeconfig",
        ),
        pytest.param(
            json.dumps({"kind": "List", "items": [workload("Deployment", "web")] * 2}).encode(),
            "nothing in it can be used, only 2 Deployment",
            id="workloads, which are no question for a scheduler",
        ),
        pytest.param(
            b'{"apiVersion":"apps/v1","kind":"Pod","metadata":{"name":"p"}}',
            "nothing in it can be used, only 1 Pod (apps/v1)",
            id="a kind of another API",
        ),
        pytest.param(
            b'{"apiVersion":"metrics.k8s.io/v1","kind":"NodeList","items":[{}]}',
            "nothing in it can be used, only 1 Node (metrics.k8s.io/v1)",
            id="a typed list of another API",
        ),
        pytest.param(
            "---\n".join(f"kind: K{number:02}{'x' * 100}\n" for number in range(30)).encode(),
            ", ".join(f"1 K{number:02}{'x' * 77}" for number in range(10)) + " and 20 more kinds",
            id="more kinds than anybody reads",
        ),
    ],
)
def test_a_file_without_anything_of_use_says_what_was_found(
    tmp_path: Path, content: bytes, says: str
) -> None:
    with pytest.raises(ClusterFileError) as caught:
        load(tmp_path / "file", content)
    prefix = f"{tmp_path / 'file'}: "
    assert str(caught.value) in {f"{prefix}{each}{EXPECTED}" for each in (says, ONLY + says)}


@pytest.mark.parametrize(
    ("objects", "files", "says"),
    [
        pytest.param(
            [namespace("default")], ClusterFiles, "no node or pod, only 1 Namespace", id="to serve"
        ),
        pytest.param(
            [namespace("default")],
            WorkloadFiles,
            "no node, pod or workload, only 1 Namespace",
            id="to ask about workloads",
        ),
    ],
)
def test_files_without_a_node_pod_or_workload_are_an_error(
    tmp_path: Path, objects: list[object], files: type[ClusterFiles], says: str
) -> None:
    reading = files(ClusterState(), PodReader(facets=every_facet(), rules=RULES))
    (tmp_path / "file").write_text(json.dumps({"kind": "List", "items": objects}))
    reading.load(tmp_path / "file")
    with pytest.raises(ClusterFileError) as caught:
        reading.finish()
    assert str(caught.value) == says + EXPECTED


def test_kinds_that_nobody_looks_at_are_counted(tmp_path: Path) -> None:
    other = [{"kind": "ConfigMap", "metadata": {"name": "c"}}] * 2
    volcano = {"apiVersion": "batch.volcano.sh/v1alpha1", "kind": "Job", "metadata": {"name": "j"}}
    (tmp_path / "file").write_text(
        json.dumps({"kind": "List", "items": [pod("a"), *other, volcano]})
    )
    content = WorkloadFiles(ClusterState(), PodReader()).load(tmp_path / "file")
    assert str(content) == "1 Pod; passed over: 2 ConfigMap, 1 Job (batch.volcano.sh/v1alpha1)"


def test_pods_with_a_generated_name_get_the_same_one_each_time(tmp_path: Path) -> None:
    unnamed = [pod("x", place).labels(app=place) for place in ("default", "default", "other")]
    for each in unnamed:
        each["metadata"] = {"generateName": "web-", "namespace": each["metadata"]["namespace"]}
    content = json.dumps({"kind": "List", "items": [pod("web-00000"), *unnamed]}).encode()
    found = [sorted(load(tmp_path / "file", content).pods) for _ in range(2)]
    assert (
        found
        == [["default/web-00000", "default/web-00001", "default/web-00002", "other/web-00000"]] * 2
    )


@pytest.mark.parametrize("content", [LIST, gzip.compress(LIST)], ids=["plain", "gzip"])
def test_a_pipe_is_read(tmp_path: Path, content: bytes) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=pipe.write_bytes, args=(content,), daemon=True)
    writer.start()
    state = ClusterState()
    ClusterFiles(state, PodReader()).load(pipe)
    writer.join(10)
    assert list(state.pods) == ["default/early"]


def test_standard_input_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", types.SimpleNamespace(buffer=io.BytesIO(LIST)))
    state = ClusterState()
    ClusterFiles(state, PodReader()).load(Path("-"))
    assert list(state.pods) == ["default/early"]


@pytest.mark.parametrize(
    ("content", "says"),
    [
        pytest.param(b"{", "not valid JSON", id="half a file"),
        pytest.param(b"{}", "kind: an object needs a kind", id="an object without a kind"),
        pytest.param(b'{"kind":"Service"}\n{', "not valid JSON", id="half of the second document"),
        pytest.param(
            b"NAME  READY\nweb-0  1/1", "as `kubectl get -o json` prints", id="kubectl's table"
        ),
        pytest.param(
            json.dumps(OBJECTS).encode(), "as `kubectl get -o json` prints", id="a bare array"
        ),
        pytest.param(
            reduce(lambda inner, _: listed([], inner), range(10), LIST),
            "lists in lists, more than 8 deep",
            id="lists without end",
        ),
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
    with pytest.raises(ClusterFileError, match=r"nowhere: No such file") as caught:
        ClusterFiles(ClusterState(), PodReader()).load(tmp_path / "nowhere")
    assert isinstance(caught.value, UnreadableError)


def test_a_custom_resource_that_is_called_a_list_is_none(tmp_path: Path) -> None:
    allowed = {"apiVersion": "acl.example.com/v1", "kind": "AllowList", "items": ["10.0.0.0/8"]}
    named = allowed | {"metadata": {"name": "office"}}
    path = tmp_path / "cluster.json"
    path.write_text(json.dumps({"kind": "List", "items": [node("n"), named]}))
    found = ClusterFiles(ClusterState(), PodReader()).load(path)
    assert (found.read, found.ignored) == ({"Node": 1}, {"AllowList": 1})


@pytest.mark.parametrize(
    ("objects", "unknown"),
    [
        pytest.param([claim("c"), storage_class("wait"), limited("n", 1)], [], id="all"),
        pytest.param(
            [bound("c", "v"), storage_class("wait"), limited("n", 1)],
            ["persistentvolumes"],
            id="a bound claim without any volume",
        ),
        pytest.param(
            [claim("c")], ["storageclasses", "csinodes"], id="claims alone, none of them bound"
        ),
        pytest.param(
            [],
            ["persistentvolumeclaims", "persistentvolumes", "storageclasses", "csinodes"],
            id="nothing",
        ),
    ],
)
def test_what_files_leave_out_of_volumes_is_not_known(
    objects: list[Json], unknown: list[str], tmp_path: Path
) -> None:
    file = tmp_path / "dump.json"
    file.write_bytes(listed([node("n"), *objects]))
    files = WorkloadFiles(ClusterState(), READER)
    files.load(file)
    files.finish()
    assert ledger_of(files.state).missing == unknown


def test_volumes_are_nothing_to_those_who_do_not_read_any(tmp_path: Path) -> None:
    file = tmp_path / "dump.json"
    file.write_bytes(listed([node("n"), claim("c")]))
    loaded = ClusterFiles(ClusterState(), PodReader()).load(file)
    assert str(loaded) == "1 Node; passed over: 1 PersistentVolumeClaim"
