"""What explain adds to its verdict: that the scheduler looks at more than rules of affinity."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from extender.config import API_VERSION, KIND
from tests.annotating import annotated
from tests.builders import HOST, node, pod, selector, workload
from tests.cli.explain.cluster import Explain

if TYPE_CHECKING:
    from pathlib import Path

TAINT = {"key": "old", "value": "yes", "effect": "NoSchedule"}
SPREAD = {
    "maxSkew": 1,
    "topologyKey": HOST,
    "whenUnsatisfiable": "DoNotSchedule",
    "labelSelector": selector(app="web"),
}
CLAIM = {"name": "data", "persistentVolumeClaim": {"claimName": "data"}}


def with_spec(raw: Any, **fields: Any) -> Any:
    return raw | {"spec": raw["spec"] | fields}


def tainted(name: str, *taints: Any, **spec: Any) -> Any:
    raw = node(name, {HOST: name})
    return raw | {"spec": {"taints": list(taints), **spec}}


@pytest.mark.parametrize(
    ("new", "others", "said"),
    [
        pytest.param(
            pod("new").selects(**{HOST: "t"}),
            [tainted("t", TAINT)],
            "affinity rules leave 1 node; the scheduler refuses it for other reasons: 1 taint "
            "old=yes:NoSchedule.",
            id="a taint",
        ),
        pytest.param(
            pod("new"),
            [tainted("t", TAINT), tainted("c", unschedulable=True)],
            "affinity rules leave 5 nodes; the scheduler refuses 2 of them for other reasons: "
            "1 cordoned, 1 taint old=yes:NoSchedule.",
            id="a taint here, and a cordoned node there",
        ),
        pytest.param(
            with_spec(pod("new"), tolerations=[{"key": "old", "operator": "Exists"}]),
            [tainted("t", TAINT)],
            None,
            id="a taint that is tolerated",
        ),
        pytest.param(
            pod("new").requests(cpu="3").selects(**{HOST: "small"}),
            [node("small", {HOST: "small"}) | {"status": {"allocatable": {"cpu": "2"}}}],
            "the scheduler refuses it for other reasons: 1 too little cpu",
            id="too little room",
        ),
        pytest.param(
            pod("new").on("a1"), [tainted("t", TAINT)], None, id="a pod that has a node already"
        ),
        pytest.param(
            pod("new").selects(disk="ssd"), [tainted("t", TAINT)], None, id="no node fits anyway"
        ),
        pytest.param(
            with_spec(pod("new"), resourceClaims=[{"name": "gpu"}], volumes=[CLAIM]),
            [],
            "for the pod's resourceClaims and volumes: that is not looked at here",
            id="claims and volumes",
        ),
        pytest.param(
            with_spec(pod("new").labels(app="web"), topologySpreadConstraints=[SPREAD]),
            [pod("old").labels(app="web").on("a1")],
            "the scheduler refuses 1 of them for other reasons: 1 topology spread on hostname.",
            id="topology spread",
        ),
        pytest.param(
            with_spec(pod("new"), topologySpreadConstraints=[SPREAD | {"maxSkew": 0}]),
            [],
            "for the pod's topologySpreadConstraints: that is not looked at here",
            id="topology spread that cannot be read",
        ),
        pytest.param(
            with_spec(pod("new"), schedulingGates=[{"name": "wait"}]),
            [],
            "the pod has scheduling gates: the scheduler leaves it alone until they are removed",
            id="scheduling gates",
        ),
        pytest.param(
            with_spec(pod("new"), schedulerName="mine"),
            [],
            "the pod asks for another scheduler",
            id="another scheduler",
        ),
    ],
)
def test_what_the_scheduler_looks_at_besides(
    new: Any, others: list[Any], said: str | None, explain: Explain
) -> None:
    _, text = explain("new", new, *others)
    told = " ".join(text.split())
    assert (said in told) if said is not None else ("scheduler" not in told), text


def test_it_is_in_json_as_well(explain: Explain) -> None:
    new = pod("new").selects(**{HOST: "t"})
    _, text = explain("new -o json", new, tainted("t", TAINT))
    assert [each["kind"] for each in json.loads(text)["notes"]] == ["room"]


def test_what_a_template_asks_for_besides(explain: Explain) -> None:
    template = with_spec(pod("t"), volumes=[CLAIM])
    for line, objects, manifest in (
        ("", [], workload("Deployment", "web", template)),
        ("deployment/web", [workload("Deployment", "web", template)], None),
    ):
        _, text = explain(line, *objects, manifest=manifest)
        assert "for the pod's volumes" in text


def test_rules_in_annotations_are_ignored_unless_a_configuration_counts_them(
    explain: Explain, tmp_path: Path
) -> None:
    config = tmp_path / "none.yaml"
    head = {"apiVersion": API_VERSION, "kind": KIND}
    for selected in (None, {"matchLabels": {"team": "shop"}}):
        config.write_text(json.dumps(head | {"annotations": {"namespaceSelector": selected}}))
        broken = annotated(pod("new"), {"podAffinity": 7})
        code, text = explain(f"new --config {config}", broken)
        said = " ".join(text.split())
        assert code == 0
        assert "Note: the rules in its annotations are ignored" in said
        assert "note: rules in annotations of 1 pod are ignored" in said
        assert "annotations.namespaceSelector of a configuration selects (--config FILE)" in said


def test_a_pod_whose_annotation_is_broken_is_not_fine(explain: Explain) -> None:
    code, text = explain("new", annotated(pod("new"), {"podAffinity": 7}))
    assert code == 1
    assert text.startswith("default/new gets an error from filter instead of a verdict")


def test_what_is_broken_in_an_annotation_does_not_drive_a_terminal(explain: Explain) -> None:
    _, text = explain("new", annotated(pod("new"), {"podAffinity": {"\x1b[31m": 1}}))
    assert r"\x1b[31m" in text
    assert "\x1b" not in text


def test_a_deployment_that_is_named_like_a_pod(explain: Explain) -> None:
    code, text = explain("web", workload("Deployment", "web", pod("t")))
    assert (code, "did you mean deployment/web?" in text) == (2, True), text


def test_a_pod_that_has_ended(explain: Explain) -> None:
    code, text = explain("new", pod("new").on("a1").phase("Succeeded"))
    assert (code, "no pod new in namespace default that has not ended" in text) == (2, True), text
