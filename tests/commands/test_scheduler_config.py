"""Each pod is judged by its profile in a scheduler's file, as tests/e2e compares it at random."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from affinityctl import cli
from tests.builders import HOST, ZONE, node, pod, requirement, selector, term
from tests.commands.test_default_spread import Command, command, file_of, with_spec

__all__ = ["command"]

GPU = "example.com/gpu"
GROUP = {"matchExpressions": [requirement(ZONE, "In", "b")]}
REQUIRED = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [GROUP]}}
ON_B = {"addedAffinity": REQUIRED}
APART = pod("new").labels(app="web").anti_affinity(term(HOST, selector(app="web")))
ENFORCED = "2 of 3 nodes: node affinity that the scheduler adds; 1 fit"
FITS = "fits on 3 of 3 nodes"
TAINT = {"key": "dedicated", "value": "db", "effect": "NoSchedule"}
THERE = pod("there").labels(app="web").on("a1")


def profile(
    name: str = "default-scheduler",
    off: tuple[str, ...] = (),
    point: str = "multiPoint",
    **args: Any,
) -> dict[str, Any]:
    return {
        "schedulerName": name,
        "pluginConfig": [{"name": plugin, "args": each} for plugin, each in args.items()],
        "plugins": {point: {"disabled": [{"name": each} for each in off]}},
    }


def called(verb: str) -> dict[str, Any]:
    return {"extenders": [{"urlPrefix": "http://127.0.0.1:10280", verb: verb[:-4]}]}


CASES: dict[str, tuple[Any, list[Any], int, str]] = {
    "addedAffinity": (file_of(profile(NodeAffinity=ON_B)), [pod("new")], 0, ENFORCED),
    "addedAffinity of another profile": (
        file_of(profile(), profile("other", NodeAffinity=ON_B)),
        [pod("new")],
        0,
        FITS,
    ),
    "addedAffinity of its profile": (
        file_of(profile(), profile("other", NodeAffinity=ON_B)),
        [with_spec(pod("new"), schedulerName="other")],
        0,
        ENFORCED,
    ),
    "addedAffinity of a plugin that is off": (
        file_of(profile(off=("NodeAffinity",), NodeAffinity=ON_B)),
        [pod("new")],
        0,
        FITS,
    ),
    "a resource": (file_of(profile()), [pod("new").requests(**{GPU: "1"})], 1, f"too little {GPU}"),
    "an ignored resource": (
        file_of(profile(NodeResourcesFit={"ignoredResources": [GPU]})),
        [pod("new").requests(**{GPU: "1"})],
        0,
        FITS,
    ),
    "an ignored group": (
        file_of(profile(NodeResourcesFit={"ignoredResourceGroups": ["example.com"]})),
        [pod("new").requests(**{GPU: "1"})],
        0,
        FITS,
    ),
    "cpu is not ignored": (
        file_of(profile(NodeResourcesFit={"ignoredResources": ["cpu"]})),
        [pod("new").requests(cpu="99")],
        1,
        "too little cpu",
    ),
    "no look at room": (
        file_of(profile(off=("NodeResourcesFit",))),
        [pod("new").requests(cpu="99")],
        0,
        FITS,
    ),
    "inter-pod affinity": (file_of(profile()), [APART, THERE], 0, "fits on 2 of 3 nodes"),
    "nobody enforces inter-pod affinity": (
        file_of(profile(off=("InterPodAffinity",))),
        [APART, THERE],
        0,
        FITS,
    ),
    "an extender enforces inter-pod affinity": (
        file_of(profile(off=("InterPodAffinity",))) | called("filterVerb"),
        [APART, THERE],
        0,
        "fits on 2 of 3 nodes",
    ),
    "an extender that only scores": (
        file_of(profile(off=("InterPodAffinity",))) | called("prioritizeVerb"),
        [APART, THERE],
        0,
        FITS,
    ),
    "no look at volumes": (
        file_of(profile(off=("VolumeBinding",))),
        [with_spec(pod("new"), volumes=[{"persistentVolumeClaim": {"claimName": "data"}}])],
        4,
        "its scheduler has VolumeBinding off",
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_explain(case: str, command: Command) -> None:
    config, objects, code, said = CASES[case]
    found = command("explain new", config, *objects)
    assert (found[0], said in found[1]) == (code, True), found[1]


def test_cordoned_nodes_have_a_taint_as_well(command: Command) -> None:
    taint = {"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}
    cordoned = node("c1", {HOST: "c1"}, {"pods": "1"}, [taint])
    cordoned["spec"]["unschedulable"] = True
    said = command("explain new", file_of(profile()), pod("new"), cordoned)[1]
    assert "1: cordoned" in said
    config = file_of(profile(off=("NodeUnschedulable",)))
    said = command("explain new", config, pod("new"), cordoned)[1]
    assert "1: untolerated taint node.kubernetes.io/unschedulable:NoSchedule" in said


def simulated(tmp_path: Path, command: Command, config: Any, raw: Any) -> tuple[int, str]:
    path = tmp_path / "new.yaml"
    path.write_text(yaml.safe_dump(json.loads(json.dumps(raw))))
    tainted = node("t1", {HOST: "t1", ZONE: "t"}, {"pods": "9", "cpu": "9"}, [TAINT])
    return command(f"simulate -f {path} -o wide", config, tainted)


@pytest.mark.parametrize(
    ("config", "raw", "code", "said"),
    [
        (file_of(profile(NodeAffinity=ON_B)), pod("new"), 0, "by zone: b 1"),
        (file_of(profile()), pod("new").requests(**{GPU: "1"}), 1, f"too little {GPU}"),
        (
            file_of(profile(NodeResourcesFit={"ignoredResources": [GPU]})),
            pod("new").requests(**{GPU: "1"}),
            0,
            "1 pod placed",
        ),
        (
            file_of(profile(off=("TaintToleration",))),
            pod("new").selects(**{ZONE: "t"}),
            0,
            "by zone: t 1",
        ),
        (file_of(profile()), pod("new").selects(**{ZONE: "t"}), 1, "untolerated taint"),
    ],
    ids=["added", "resource", "ignored", "taints off", "taints on"],
)
def test_simulate(  # noqa: PLR0917 - a table's columns
    tmp_path: Path, command: Command, config: Any, raw: Any, code: int, said: str
) -> None:
    found = simulated(tmp_path, command, config, raw)
    assert (found[0], said in found[1]) == (code, True), found[1]


@pytest.mark.parametrize(
    ("config", "said"),
    [
        (
            file_of(profile(InterPodAffinity={"hardPodAffinityWeight": 101})),
            "pluginConfig[0].args.hardPodAffinityWeight: Expected `int` <= 100",
        ),
        (
            file_of(profile(NodeResourcesFit={"ignoredResourceGroups": ["a/b"]})),
            "pluginConfig[0].args.ignoredResourceGroups[0]: ",
        ),
        (
            file_of(profile(NodeAffinity={"added": {}})),
            "pluginConfig[0].args: Object contains unknown field `added`",
        ),
        (
            file_of(profile(NodeAffinity={"kind": "NodeAffinity"})),
            "pluginConfig[0].args.kind: has to be NodeAffinityArgs",
        ),
        (
            file_of(
                profile(
                    NodeAffinity={
                        "addedAffinity": {
                            "requiredDuringSchedulingIgnoredDuringExecution": {
                                "nodeSelectorTerms": [
                                    {"matchExpressions": [{"key": "a", "operator": "Is"}]}
                                ]
                            }
                        }
                    }
                )
            ),
            "addedAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0]",
        ),
        (
            file_of(profile(off=("NodePorts",), point="preFilter")),
            "plugins.preFilter: NodePorts is off here",
        ),
    ],
    ids=["weight", "group", "field", "kind", "term", "half off"],
)
def test_what_the_scheduler_would_refuse(
    command: Command,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    config: Any,
    said: str,
) -> None:
    code, told = command("explain new", config, pod("new"))
    assert (code, said in told) == (2, True), told
    if "is off here" not in said:
        assert cli.main(["lint", str(tmp_path / "scheduler.yaml")]) == 1
        assert "plugin-arguments-broken" in capsys.readouterr().out
