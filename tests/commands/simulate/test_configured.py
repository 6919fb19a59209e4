"""simulate takes the arguments of plugins from an extender's configuration file."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from affinityctl import cli
from tests.annotating import REQUIRED
from tests.builders import HOST, ZONE, node, node_term, pod, requirement, selector, term

HEAD = {"apiVersion": "affinity-extender.io/v1", "kind": "AffinityExtenderConfiguration"}
ROOM = {"cpu": "2", "memory": "4Gi", "pods": "9"}
NODES = [node(name, {HOST: name, ZONE: name[0]}, ROOM) for name in ("a1", "a2", "b1")]
WEB = selector(app="web")
ON_SSD = node_term(requirement("disk", "Exists"))

Configured = Callable[..., tuple[int, str]]


@pytest.fixture
def simulate(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Configured:
    """Run the command with a configuration, and pods that wait; return its exit code and words."""

    def run(config: Any, *pods: Any) -> tuple[int, str]:
        dump, file = tmp_path / "dump.json", tmp_path / "extender.yaml"
        dump.write_text(json.dumps({"kind": "List", "items": [*NODES, *pods]}))
        file.write_text(yaml.safe_dump(HEAD | config))
        line = ["simulate", "--config", str(file), "--cluster", str(dump), "-o", "wide"]
        code = cli.main(line)
        told = capsys.readouterr()
        return code, told.out + told.err

    return run


CONFIGURED: dict[str, tuple[Any, int, str]] = {
    "added affinity": (
        {
            "plugins": ["InterPodAffinity", "NodeAffinity"],
            "nodeAffinity": {"addedAffinity": {REQUIRED: {"nodeSelectorTerms": [ON_SSD]}}},
        },
        1,
        "3 of 3 nodes: node affinity that the scheduler adds",
    ),
    "quota": (
        {
            "plugins": ["InterPodAffinity", "CrossNamespacePodAffinity"],
            "crossNamespacePodAffinity": {"limitedByDefault": True},
        },
        1,
        "3 of 3 nodes: no quota allows affinity across namespaces",
    ),
    "gates": ({"featureGates": {"PodAffinityNamespaceSelector": False}}, 0, ": 1 pod placed"),
    "the defaults": ({}, 0, ": 1 pod placed"),
}


@pytest.mark.parametrize("case", CONFIGURED)
def test_rules_are_those_of_the_file(case: str, simulate: Configured) -> None:
    config, code, said = CONFIGURED[case]
    new = pod("new").labels(app="web").affinity(term(ZONE, WEB, namespaceSelector={}))
    found = simulate(config, new)
    assert (found[0], said in found[1]) == (code, True), found[1]


@pytest.mark.parametrize(
    ("weight", "chosen"),
    [
        pytest.param(0, "a1", id="the first of the emptiest nodes"),
        pytest.param(100, "a2", id="the node of a pod that requires such pods near it"),
    ],
)
def test_scores_are_those_of_the_file(weight: int, chosen: str, simulate: Configured) -> None:
    new = pod("new").labels(app="new").requests(cpu="100m", memory="100Mi")
    near = pod("near").labels(app="new").affinity(term(HOST, selector(app="new"))).on("a2")
    busy = pod("busy").requests(cpu="1", memory="2Gi").on("a2")
    config = {"interPodAffinity": {"hardPodAffinityWeight": weight}}
    code, said = simulate(config, new, near, busy)
    assert (code, said.splitlines()[-1].split()) == (0, ["default/new", chosen])


def test_a_file_with_a_fault_is_named(simulate: Configured) -> None:
    code, said = simulate({"kind": "Other"}, pod("new"))
    assert (code, "kind" in said) == (2, True)
