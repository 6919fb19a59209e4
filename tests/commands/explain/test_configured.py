"""explain takes the arguments of plugins from an extender's configuration file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.annotating import REQUIRED
from tests.builders import HOST, ZONE, pod, term
from tests.commands.explain.cluster import SSD_NODES, WEB, Explain

ALL: dict[str, Any] = {"namespaceSelector": {}}

CONFIGURED: dict[str, tuple[dict[str, Any], int, str]] = {
    "added affinity": (
        {
            "plugins": ["InterPodAffinity", "NodeAffinity"],
            "nodeAffinity": {"addedAffinity": {REQUIRED: SSD_NODES}},
        },
        1,
        "3 of 3 nodes: node affinity that the scheduler adds",
    ),
    "hard weight": (
        {"interPodAffinity": {"hardPodAffinityWeight": 0}},
        0,
        "BEST NODES   SCORE\na1           0\n",
    ),
    "the defaults": ({}, 0, "a1           20 "),
    "quota": (
        {
            "plugins": ["InterPodAffinity", "CrossNamespacePodAffinity"],
            "crossNamespacePodAffinity": {"limitedByDefault": True},
        },
        1,
        "3 of 3 nodes: no quota allows affinity across namespaces",
    ),
    "gates": ({"featureGates": {"PodAffinityNamespaceSelector": False}}, 0, "fits on 3 of 3"),
}


@pytest.mark.parametrize("case", CONFIGURED)
def test_arguments_of_plugins_come_from_an_extenders_file(
    case: str, explain: Explain, tmp_path: Path
) -> None:
    config, code, said = CONFIGURED[case]
    head = {"apiVersion": "affinity-extender.io/v1", "kind": "AffinityExtenderConfiguration"}
    path = tmp_path / "extender.yaml"
    path.write_text(yaml.safe_dump(head | config))
    new = pod("new").labels(app="web")
    if case in {"quota", "gates"}:
        new = new.affinity(term(ZONE, WEB, **ALL))
    near = pod("near").labels(app="db").affinity(term(HOST, WEB, **ALL)).on("a1")
    found = explain(f"new --config {path}", new, near)
    assert (found[0], said in found[1]) == (code, True), found[1]


SPREAD_OVER_ALL: dict[str, Any] = {
    "maxSkew": 1,
    "topologyKey": ZONE,
    "whenUnsatisfiable": "DoNotSchedule",
    "labelSelector": {},
}


@pytest.mark.parametrize(("version", "fits"), [("1.37", "3 of 3"), ("1.38", "1 of 3")])
def test_by_the_schedulers_version_an_empty_selector_counts_nobody_or_all(
    version: str, fits: str, explain: Explain, tmp_path: Path
) -> None:
    head = {"apiVersion": "affinity-extender.io/v1", "kind": "AffinityExtenderConfiguration"}
    path = tmp_path / "extender.yaml"
    path.write_text(yaml.safe_dump({**head, "schedulerVersion": version}))
    placed = [pod(name).labels(app="x").on("a1") for name in ("p1", "p2")]
    waits = pod("waits").labels(app="x")
    waits["spec"]["topologySpreadConstraints"] = [SPREAD_OVER_ALL]
    code, said = explain(f"waits --config {path}", waits, *placed)
    assert (code, f"fits on {fits} nodes" in said) == (0, True), said
    assert ("a has 2 of these pods" in said) == (version == "1.38")


def test_a_file_with_a_fault_is_named(explain: Explain, tmp_path: Path) -> None:
    path = tmp_path / "extender.yaml"
    path.write_text("kind: Other")
    code, said = explain(f"new --config {path}", pod("new"))
    assert (code, "apiVersion" in said) == (2, True)
