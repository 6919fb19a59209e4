"""The judge's own reading of terms, beside answers of Kubernetes' own plugins."""

from __future__ import annotations

from typing import Any

import pytest

from simulation.apiserver.label_keys import LabelKeys, merged_affinity
from simulation.apiserver.store import Store
from simulation.invariants.node_terms import allows, int64, wanted_nodes
from simulation.invariants.referee import Referee
from simulation.invariants.rules import selects
from tests.conformance.cases import Case, load_cases

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"


def _court(case: Case) -> Referee:
    store = Store()
    referee = Referee(store, lambda: 0.0, lambda: None, lambda _, at: at)
    for resource in ("nodes", "namespaces", "pods"):
        for each in case.cluster[resource]:
            store.create(resource, _complete(each), "users")
    return referee


def _complete(obj: Any) -> Any:
    """Return an object with what the API server leaves out when it is empty."""
    metadata = {"labels": {}} | {name: each for name, each in obj["metadata"].items() if each}
    if "nodeInfo" not in obj.get("status", {}) and obj.get("kind") not in {"Node", "Namespace"}:
        metadata = {"namespace": "default"} | metadata
    return {"spec": {}, "status": {}} | obj | {"metadata": metadata}


@pytest.mark.parametrize("case", [pytest.param(each, id=each.id) for each in load_cases()])
def test_what_the_judge_refuses_kubernetes_refuses(case: Case) -> None:
    referee = _court(case)
    added = case.args.get("addedAffinity") or {}
    for question in case.questions:
        expected = question.expected
        pod = LabelKeys().merge(_complete(question.pod))
        wanted = [each for each in (wanted_nodes(pod["spec"]), added.get(REQUIRED)) if each]
        selected = (pod["spec"].get("nodeSelector") or {}).items()
        for name, labels in referee.nodes.now.items():
            refused = name in expected["interPodAffinity"]["refused"]
            assert referee.has_place(pod, name) is not refused, (question.id, name)
            suits = all(allows(each, name, labels) for each in wanted)
            suits = suits and selected <= labels.items()
            assert suits is (name not in expected["nodeAffinity"]["refused"]), (question.id, name)


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("0", 0),
        ("007", 7),
        ("+7", 7),
        ("-7", -7),
        ("9223372036854775807", 2**63 - 1),
        ("9223372036854775808", None),
        ("-9223372036854775808", -(2**63)),
        ("-9223372036854775809", None),
        ("", None),
        ("-", None),
        ("1_000", None),
        (" 1", None),
        ("1.0", None),
        ("\N{ARABIC-INDIC DIGIT ONE}", None),
    ],
)
def test_numbers_are_those_of_go(text: str, number: int | None) -> None:
    assert int64(text) == number


LARGEST = "9223372036854775807"


@pytest.mark.parametrize(
    ("term", "expected"),
    [
        pytest.param({}, False, id="an empty term matches nothing"),
        pytest.param(None, False, id="nor does null"),
        pytest.param(("cores", "Gt", "7"), True, id="above"),
        pytest.param(("cores", "Gt", "8"), False, id="not above its equal"),
        pytest.param(("cores", "Lt", "8"), False, id="nor below it"),
        pytest.param(("cores", "Gt", "7", "6"), False, id="two bounds are broken"),
        pytest.param(("cores", "Gt", "many"), False, id="so is one that is no number"),
        pytest.param(("absent", "Lt", "8"), False, id="what is absent is not below"),
        pytest.param(("most", "Lt", LARGEST), False, id="the largest number is not below itself"),
        pytest.param(("more", "Gt", "1"), False, id="what needs more than 64 bits is no number"),
        pytest.param(("absent", "NotIn", "8"), True, id="what is absent is not in"),
        pytest.param(("cores", "NotIn"), False, id="not in nothing is broken"),
        pytest.param(("cores", "DoesNotExist"), False, id="what exists"),
        pytest.param(("absent", "DoesNotExist"), True, id="what does not exist"),
        pytest.param({"fields": ("In", "n1")}, True, id="its name"),
        pytest.param({"fields": ("NotIn", "n1")}, False, id="any name but its own"),
        pytest.param({"fields": ("In", "n2")}, False, id="another name"),
        pytest.param({"fields": ("Exists",)}, False, id="names take In and NotIn alone"),
    ],
)
def test_node_terms(term: Any, expected: bool) -> None:
    labels = {"cores": "8", "most": LARGEST, "more": "9223372036854775808"}
    if isinstance(term, tuple):
        key, operator, *values = term
        said: Any = {"matchExpressions": [{"key": key, "operator": operator, "values": values}]}
    elif term:
        operator, *values = term["fields"]
        field = {"key": "metadata.name", "operator": operator, "values": values}
        said = {"matchFields": [field]}
    else:
        said = term
    assert allows({"nodeSelectorTerms": [said]}, "n1", labels) is expected


@pytest.mark.parametrize(
    ("selector", "merged"),
    [
        pytest.param(None, None, id="null selects nothing with keys as well"),
        pytest.param({}, [("a", "In", "1"), ("b", "NotIn", "2")], id="those that the pod has"),
        pytest.param(
            {"matchExpressions": [{"key": "b", "operator": "NotIn", "values": ["9"]}]},
            [("b", "NotIn", "9"), ("a", "In", "1"), ("b", "NotIn", "2")],
            id="beside what is written of the same key",
        ),
    ],
)
@pytest.mark.parametrize("strength", [REQUIRED, REQUIRED.replace("required", "preferred", 1)])
def test_label_keys_are_merged(
    selector: Any, merged: list[tuple[str, str, str]] | None, strength: str
) -> None:
    term = {"matchLabelKeys": ["a", "gone"], "mismatchLabelKeys": ["b"], "labelSelector": selector}
    weighted = {"weight": 1, "podAffinityTerm": term}
    written = {"podAntiAffinity": {strength: [term if strength == REQUIRED else weighted]}}
    (found,) = merged_affinity(written, {"a": "1", "b": "2"})["podAntiAffinity"][strength]
    found = found if strength == REQUIRED else found["podAffinityTerm"]
    if merged is None:
        assert found["labelSelector"] is None
    else:
        expressions = found["labelSelector"]["matchExpressions"]
        said = [(each["key"], each["operator"], *each["values"]) for each in expressions]
        assert said == merged


def test_pods_made_alike_share_their_merged_rules() -> None:
    term = {"topologyKey": "zone", "labelSelector": {}, "matchLabelKeys": ["app"]}
    affinity = {"podAffinity": {REQUIRED: [term]}}
    keys, labels = LabelKeys(), {"app": "web"}
    one, other, plain = (
        keys.merge({"metadata": {"labels": found}, "spec": {"affinity": affinity}})
        for found in (labels, dict(labels), {})
    )
    assert one["spec"]["affinity"] is other["spec"]["affinity"] is not affinity
    assert plain["spec"]["affinity"] is affinity, "nothing to merge"


def test_an_operator_that_is_none_is_told() -> None:
    with pytest.raises(ValueError, match="Near"):
        selects({"matchExpressions": [{"key": "a", "operator": "Near"}]}, {})
