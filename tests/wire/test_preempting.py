"""The preempt callback's JSON, byte for byte where the scheduler cares."""

from __future__ import annotations

import json
from typing import Any

import pytest

from extender.core.errors import ObjectError, RequestError
from extender.core.model.disruption import Victims
from extender.core.wire.objects import PodReader
from extender.core.wire.preempting import (
    PreemptionArgs,
    read_preemption_args,
    write_preemption_result,
)
from tests.builders import pod

POD = pod("new").priority(7)
ODD = {"affinity": {"podAffinity": 5}}

# As kube-scheduler 1.36.3 sends it to an extender with nodeCacheCapable.
RECORDED = (
    b'{"Pod":{"metadata":{"name":"wire","namespace":"default","uid":"c763c71b"},'
    b'"spec":{"priority":1000,"preemptionPolicy":"PreemptLowerPriority"},"status":{}},'
    b'"NodeNameToVictims":null,"NodeNameToMetaVictims":{'
    b'"node-00000":{"Pods":[{"UID":"bd4a82d0"},{"UID":"4b10cd56"}],"NumPDBViolations":1},'
    b'"node-00024":{"Pods":[{"UID":"9c0ffee0"}],"NumPDBViolations":0}}}'
)


def args_of(body: Any) -> PreemptionArgs:
    return read_preemption_args(json.dumps(body).encode(), PodReader())


def test_a_request_as_the_scheduler_writes_it() -> None:
    args = read_preemption_args(RECORDED, PodReader())
    assert (args.pod.key, args.pod.uid) == ("default/wire", "c763c71b")
    assert args.pod.spec.priority == 1000
    assert args.pod.spec.may_preempt
    assert args.candidates == {
        "node-00000": Victims(["bd4a82d0", "4b10cd56"], 1),
        "node-00024": Victims(["9c0ffee0"], 0),
    }


def test_an_answer_as_the_scheduler_reads_it() -> None:
    answer = write_preemption_result({"a": Victims(["u", "v"], 2), "b": Victims([], 0)})
    assert answer == (
        b'{"NodeNameToMetaVictims":{'
        b'"a":{"Pods":[{"UID":"u"},{"UID":"v"}],"NumPDBViolations":2},'
        b'"b":{"Pods":[],"NumPDBViolations":0}}}'
    )


def test_no_candidate_is_an_empty_map() -> None:
    assert write_preemption_result({}) == b'{"NodeNameToMetaVictims":{}}'


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        pytest.param(
            {"pod": POD, "nodeNameToMetaVictims": {"a": {"pods": [{"uid": "u"}]}}},
            {"a": Victims(["u"], 0)},
            id="in camel case, and without a number",
        ),
        pytest.param(
            {
                "POD": POD,
                "NODENAMETOMETAVICTIMS": {
                    "A": {"PODS": [{"Uid": "U"}], "NUMPDBVIOLATIONS": 3, "More": 1}
                },
                "Other": [],
            },
            {"A": Victims(["U"], 3)},
            id="in upper case, and more: names and uids keep theirs",
        ),
        pytest.param(
            {
                "Pod": POD,
                "NodeNameToVictims": {"a": {"Pods": [pod("x"), pod("y")], "NumPDBViolations": 1}},
                "NodeNameToMetaVictims": None,
            },
            {"a": Victims(["default-x", "default-y"], 1)},
            id="with whole pods",
        ),
        pytest.param(
            {"Pod": POD, "NodeNameToVictims": {"a": {"Pods": [{**pod("x"), "spec": ODD}]}}},
            {"a": Victims(["default-x"], 0)},
            id="with whole pods that nobody could read as a whole",
        ),
        pytest.param(
            {"Pod": POD, "NodeNameToVictims": {"a": {"Pods": [pod("x").uid(None)]}}},
            {"a": Victims(["default/x"], 0)},
            id="with pods that have no uid, as in files",
        ),
        pytest.param(
            {"Pod": POD, "NodeNameToMetaVictims": {"a": None, "b": {"Pods": None}}},
            {"a": Victims([], 0), "b": Victims([], 0)},
            id="null is nobody",
        ),
        pytest.param({"Pod": POD, "NodeNameToMetaVictims": {}}, {}, id="no candidate"),
    ],
)
def test_candidates_in_every_form(body: Any, expected: Any) -> None:
    assert args_of(body).candidates == expected


@pytest.mark.parametrize(
    ("policy", "may"),
    [
        pytest.param("Never", False, id="Never"),
        pytest.param("PreemptLowerPriority", True, id="PreemptLowerPriority"),
        pytest.param(None, True, id="null is the default"),
    ],
)
def test_the_policy_of_the_pod(policy: str | None, *, may: bool) -> None:
    body = {"Pod": {**POD, "spec": {"preemptionPolicy": policy}}, "NodeNameToMetaVictims": {}}
    assert args_of(body).pod.spec.may_preempt is may


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(b"", id="nothing"),
        pytest.param(b"{", id="half an object"),
        pytest.param(b"[]", id="a list"),
        pytest.param(b'{"NodeNameToMetaVictims":{}}', id="no pod"),
        pytest.param(b"\xff", id="no UTF-8"),
    ],
)
def test_what_no_scheduler_sends(body: bytes) -> None:
    with pytest.raises(RequestError):
        read_preemption_args(body, PodReader())


@pytest.mark.parametrize(
    ("changed", "path"),
    [
        pytest.param({"Pod": {"metadata": {"name": 5}}}, "metadata.name", id="a number for a name"),
        pytest.param({"Pod": None}, "Pod", id="null for a pod"),
        pytest.param({"NodeNameToMetaVictims": None}, "NodeNameToMetaVictims", id="no candidates"),
        pytest.param(
            {"NodeNameToMetaVictims": {"a": {"NumPDBViolations": 1 << 63}}},
            "NodeNameToMetaVictims.a.NumPDBViolations",
            id="a number that Go would not read",
        ),
        pytest.param({"NodeNameToMetaVictims": []}, "NodeNameToMetaVictims", id="a list of nodes"),
        pytest.param(
            {"NodeNameToMetaVictims": {"a": []}}, "NodeNameToMetaVictims.a", id="a list of victims"
        ),
        pytest.param(
            {"NodeNameToMetaVictims": {"a": {"Pods": {}}}},
            "NodeNameToMetaVictims.a.Pods",
            id="a map of pods",
        ),
        pytest.param(
            {"NodeNameToMetaVictims": {"a": {"Pods": [{"Name": "x"}]}}},
            "NodeNameToMetaVictims.a.Pods.UID",
            id="a victim without a uid",
        ),
        pytest.param(
            {"NodeNameToMetaVictims": None, "NodeNameToVictims": {"a": {"Pods": [{"spec": {}}]}}},
            "NodeNameToVictims.a.Pods",
            id="a whole victim without metadata",
        ),
        pytest.param(
            {"NodeNameToMetaVictims": None, "NodeNameToVictims": {"a": {"Pods": [None]}}},
            "NodeNameToVictims.a.Pods",
            id="a null victim",
        ),
        pytest.param(
            {"NodeNameToMetaVictims": {"a": {"Pods": [{"UID": 5}]}}},
            "NodeNameToMetaVictims.a.Pods.UID",
            id="a number for a uid",
        ),
        pytest.param(
            {"NodeNameToMetaVictims": {"a": {"NumPDBViolations": "1"}}},
            "NodeNameToMetaVictims.a.NumPDBViolations",
            id="a text for a number",
        ),
    ],
)
def test_what_is_broken_is_named(changed: Any, path: str) -> None:
    with pytest.raises(ObjectError) as caught:
        args_of({"Pod": POD, "NodeNameToMetaVictims": {"a": {"Pods": []}}, **changed})
    assert caught.value.path == path
