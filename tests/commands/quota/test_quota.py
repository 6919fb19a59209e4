"""The command quota: what it tells, in which form, and what it ends with."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from affinityctl import cli
from extender.core.config import API_VERSION, KIND
from tests.annotating import REQUIRED, annotated
from tests.builders import crossing, node, pod, quota, selector, term, workload

FAR = term("zone", selector(app="none"), namespaceSelector={})


def user(name: str, namespace: str) -> Any:
    """Build a pod that uses affinity across namespaces, with a request."""
    made = pod(name, namespace).anti_affinity(FAR)
    made["spec"]["containers"] = [{"resources": {"requests": {"cpu": "500m", "memory": "1Gi"}}}]
    return made


CLUSTER = [
    node("n"),
    *(user(f"api-{number}", "shop").on("n") for number in range(4)),
    user("api-9", "shop"),
    user("batch", "office").on("n"),
    pod("plain", "yard").on("n"),
    quota("cross", {"pods": 4, "cpu": "2500m", "memory": "8Gi"}, crossing(), namespace_name="shop"),
    quota("late", {}, crossing(), namespace_name="shop", scopes=["Terminating"]),
]

TABLE = """\
NAMESPACE   IN SCOPE   WAITING   REFUSED   QUOTA    RESOURCE   USED   HARD
office      1          0         0         <none>
shop        5          1         1         cross    cpu        2      2500m
                                           cross    memory     4Gi    8Gi
                                           cross    pods       4      4
                                           late     <none>

WAITING POD   QUOTA   NOT PLACED BECAUSE
shop/api-9    cross   pods: no room
"""

WHAT_IF = """
with pods=1, memory=4Gi:
NAMESPACE   REFUSED   PODS
office      0 of 1
shop        4 of 5    api-1, api-2, api-3 and 1 more
"""


@pytest.fixture
def dump(tmp_path: Path) -> str:
    path = tmp_path / "dump.json"
    path.write_text(json.dumps({"kind": "List", "items": CLUSTER}))
    return str(path)


def test_who_uses_it_and_what_the_quotas_say(dump: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["quota", "--cluster", dump]) == 0
    assert capsys.readouterr() == (TABLE, "")


def test_what_if(dump: str, capsys: pytest.CaptureFixture[str]) -> None:
    supposed = ["--what-if", "pods=1", "--what-if", "memory=4Gi"]
    assert cli.main(["quota", "--cluster", dump, *supposed]) == 1
    assert capsys.readouterr() == (TABLE + WHAT_IF, "")
    assert cli.main(["quota", "--cluster", dump, "--what-if", "pods=5"]) == 0
    assert "shop        0 of 5" in capsys.readouterr().out


def test_what_if_there_were_a_limit_on_devices_and_huge_pages(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    train = pod("train").anti_affinity(FAR).on("n")
    asked = {"nvidia.com/gpu": "2", "hugepages-2Mi": "2Mi"}
    hard = {"requests.nvidia.com/gpu": "4", "hugepages-2Mi": "8Mi"}
    things = [train.requests(**asked), quota("devices", hard, crossing())]
    (tmp_path / "dump.json").write_text(json.dumps({"kind": "List", "items": things}))
    command = ["quota", "--cluster", str(tmp_path / "dump.json"), "--what-if"]
    assert cli.main([*command, "requests.nvidia.com/gpu=1"]) == 1
    told = capsys.readouterr().out
    assert "devices   hugepages-2Mi             2Mi    8Mi" in told
    assert "devices   requests.nvidia.com/gpu   2      4" in told
    assert cli.main([*command, "requests.nvidia.com/gpu=2"]) == 0


def test_as_the_kubectl_plugin(dump: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.kubectl(["quota", "-n", "office", "--cluster", dump]) == 0
    assert capsys.readouterr().out.splitlines()[1].split() == ["office", "1", "0", "0", "<none>"]
    assert cli.kubectl(["quota", "--prot"]) == 2
    expected = (
        "kubectl affinity quota: unrecognized arguments: --prot; see kubectl affinity quota "
        "--help\n"
    )
    assert capsys.readouterr().err == expected
    assert cli.kubectl(["serve"]) == 2, "serving is no question about a cluster"


def test_all_namespaces_are_the_default(dump: str, capsys: pytest.CaptureFixture[str]) -> None:
    for flag in ("-A", "--all-namespaces"):
        assert cli.kubectl(["quota", flag, "--cluster", dump]) == 0
        assert capsys.readouterr() == (TABLE, "")


def test_json_has_everything(dump: str, capsys: pytest.CaptureFixture[str]) -> None:
    options = ["--limited-by-default", "--what-if", "pods=4", "-o", "json"]
    assert cli.main(["quota", "--cluster", dump, *options]) == 1
    answer = json.loads(capsys.readouterr().out)
    assert answer["whatIf"] == ["pods=4"]
    office, shop = answer["namespaces"]
    assert office == {
        "namespace": "office",
        "placed": ["office/batch"],
        "waiting": [],
        "quotas": [],
        "refusedNow": [],
        "refusedIf": [],
    }
    refusal = {"pod": "shop/api-9", "cause": "exceeded", "resources": ["pods"]}
    assert shop["refusedNow"] == [refusal | {"quota": "cross"}]
    assert shop["refusedIf"] == [refusal | {"quota": "what-if"}]
    cross, late = shop["quotas"]
    assert cross == {
        "name": "cross",
        "scopes": ["CrossNamespacePodAffinity Exists"],
        "pods": 4,
        "resources": {
            "cpu": {"used": "2", "hard": "2500m"},
            "memory": {"used": "4Gi", "hard": "8Gi"},
            "pods": {"used": "4", "hard": "4"},
        },
    }
    assert (late["scopes"][1], late["pods"], late["resources"]) == ("Terminating Exists", 0, {})
    assert cli.main(["quota", "--cluster", dump, "-o", "json"]) == 0
    assert "refusedIf" not in capsys.readouterr().out


def test_nobody_uses_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "plain").write_text(json.dumps(pod("plain")))
    assert cli.main(["quota", "--cluster", str(tmp_path / "plain")]) == 0
    assert capsys.readouterr().out.startswith("no pod uses affinity across namespaces")


@pytest.mark.parametrize(
    ("arguments", "code", "expected"),
    [
        pytest.param(
            ["--what-if", "pods"], 2, "--what-if.pods: '' is not a quantity", id="no limit"
        ),
        pytest.param(
            ["--what-if", "pods=1", "--what-if", "pods=2"],
            2,
            "--what-if: pods comes twice",
            id="a resource twice",
        ),
        pytest.param(
            ["--what-if", "gpus=1"], 2, "--what-if: 'gpus' is not one of pods, ", id="a resource"
        ),
        pytest.param(
            ["--what-if", "nvidia.com/gpu=1"],
            2,
            "extended resources take requests. (requests.nvidia.com/gpu)",
            id="an extended resource without its prefix",
        ),
        pytest.param(
            ["--kubeconfig", "/nowhere"], 3, "--kubeconfig: no such file: /nowhere", id="no file"
        ),
        pytest.param(["--cluster", "/nowhere"], 3, "/nowhere: ", id="no cluster file"),
        pytest.param(
            ["-A", "-n", "shop"],
            2,
            "argument -n/--namespace: not allowed with argument -A/--all-namespaces",
            id="all namespaces and one",
        ),
        pytest.param(["-o", "xml"], 2, "argument -o/--output", id="a form"),
    ],
)
def test_what_is_wrong_is_said(
    arguments: list[str], code: int, expected: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["quota", *arguments]) == code
    captured = capsys.readouterr()
    assert captured.out == ""
    assert expected in captured.err
    assert captured.err.count("\n") == 1


def test_workloads_count_by_their_templates(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    dump = tmp_path / "dump.json"
    owned = user("api-1", "shop").labels({"pod-template-hash": "5d"}).owned_by("ReplicaSet/api-5d")
    objects = [
        workload("Deployment", "api", user("t", "shop"), replicas=3),
        owned.on("n"),
        {"kind": "ConfigMap", "metadata": {"name": "c"}},
    ]
    dump.write_text(json.dumps({"kind": "List", "items": objects}))
    assert cli.main(["quota", "--cluster", str(dump), "--what-if", "pods=2"]) == 1
    captured = capsys.readouterr()
    assert captured.out.splitlines()[1].split() == ["shop", "3", "2", "0", "<none>"]
    assert captured.out.splitlines()[-1].split(maxsplit=4)[-1] == "deployment/api[1]"
    note = f"affinity-extender: note: {dump}: 1 Deployment, 1 Pod; passed over: 1 ConfigMap\n"
    assert captured.err == note


def test_annotations_are_charged_where_the_configuration_says(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    made = annotated(pod("ruled", "shop"), {"podAntiAffinity": {REQUIRED: [FAR]}})
    dump = tmp_path / "dump.json"
    dump.write_text(json.dumps({"kind": "List", "items": [node("n"), made]}))
    arguments = ["quota", "--cluster", str(dump), "--what-if", "pods=0"]
    assert cli.main(arguments) == 0
    assert "rules in annotations of 1 pod are ignored" in capsys.readouterr().err
    config = tmp_path / "extender.json"
    head = {"apiVersion": API_VERSION, "kind": KIND}
    config.write_text(json.dumps(head | {"annotations": {"namespaceSelector": {}}}))
    assert cli.main([*arguments, "--config", str(config)]) == 1
    said = capsys.readouterr()
    assert "ruled" in said.out
    assert "ignored" not in said.err
