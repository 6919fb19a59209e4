"""The callbacks' JSON, byte for byte where the scheduler cares."""

from __future__ import annotations

import json
from typing import Any

import pytest

from extender.cluster.counts.nodes import AskedNodes
from extender.errors import ObjectError, RequestError
from extender.model.verdict import Reason
from extender.verbs.filtering import Verdicts
from extender.wire.filtering import (
    BindingArgs,
    ExtenderArgs,
    error_text,
    read_args,
    read_binding_args,
    write_binding_result,
    write_filter_error,
    write_filter_result,
    write_names,
)
from extender.wire.objects import PodReader
from tests.builders import node, pod

POD = pod("new")


def args_of(body: Any) -> ExtenderArgs:
    """Read a request."""
    return read_args(json.dumps(body).encode(), PodReader())


@pytest.mark.parametrize(
    "body",
    [
        pytest.param({"Pod": POD, "Nodes": None, "NodeNames": ["b", "a"]}, id="as Go writes it"),
        pytest.param({"pod": POD, "nodenames": ["b", "a"]}, id="in lower case"),
        pytest.param(
            {"POD": POD, "nodeNames": ["b", "a"], "More": 1}, id="in mixed case, and more"
        ),
    ],
)
def test_a_request_by_names(body: Any) -> None:
    args = args_of(body)
    assert args.pod.key == "default/new"
    assert json.loads(bytes(args.node_names or b"")) == ["b", "a"]


def test_a_request_with_whole_nodes() -> None:
    args = args_of({"Pod": POD, "Nodes": {"items": [node("b"), node("a")]}, "NodeNames": None})
    assert list(args.nodes or ()) == ["b", "a"]


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(b"", id="nothing"),
        pytest.param(b"{", id="half an object"),
        pytest.param(b"[]", id="a list"),
        pytest.param(b'{"NodeNames":[]}', id="no pod"),
        pytest.param(b"\x80", id="no text"),
        pytest.param(b"[" * 100_000, id="an abyss"),
    ],
)
def test_what_no_scheduler_sends(body: bytes) -> None:
    with pytest.raises(RequestError):
        read_args(body, PodReader())


@pytest.mark.parametrize(
    ("body", "path"),
    [
        pytest.param({"Pod": None, "NodeNames": []}, "", id="a null pod"),
        pytest.param({"Pod": POD, "NodeNames": None, "Nodes": None}, "NodeNames", id="no nodes"),
        pytest.param(
            {"Pod": POD, "Nodes": {"items": [{}]}}, "Nodes.items[0]", id="a node without a name"
        ),
    ],
)
def test_a_broken_question_names_the_field(body: Any, path: str) -> None:
    with pytest.raises(ObjectError) as caught:
        args_of(body)
    assert caught.value.path == path


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(
            {"PodName": "x", "PodNamespace": "ns", "PodUID": "u", "Node": "n"}, id="as Go writes it"
        ),
        pytest.param(
            {"podname": "x", "PODNAMESPACE": "ns", "podUID": "u", "node": "n"}, id="in any case"
        ),
    ],
)
def test_binding_arguments(body: Any) -> None:
    assert read_binding_args(json.dumps(body).encode()) == BindingArgs("ns/x", "u", "n")


@pytest.mark.parametrize("body", [b"", b"[]", b"{}", b'{"PodName":1}', b'{"PodName":"x"}'])
def test_what_is_no_binding(body: bytes) -> None:
    with pytest.raises(RequestError):
        read_binding_args(body)


def test_binding_results() -> None:
    assert write_binding_result() == b'{"Error":""}'
    assert write_binding_result("100%\nfull") == b'{"Error":"100 percent full"}'


VERDICTS = Verdicts(
    AskedNodes(["b", "a"], (), {}, 1),
    [
        (Reason.UNKNOWN_NODE, ["u"]),
        (Reason.AFFINITY, ["f"]),
        (Reason.ANTI_AFFINITY, ["n"]),
        (Reason.EXISTING_ANTI_AFFINITY, ["e"]),
    ],
)
UNRESOLVABLE = {
    "u": "node(s) unknown to the extender",
    "f": "node(s) didn't match pod affinity rules",
}
RESOLVABLE = {
    "n": "node(s) didn't match pod anti-affinity rules",
    "e": "node(s) didn't satisfy existing pods anti-affinity rules",
}


@pytest.mark.parametrize(
    ("resolvable", "failed", "unresolvable"),
    [
        pytest.param(False, {}, {**UNRESOLVABLE, **RESOLVABLE}, id="unresolvable by default"),
        pytest.param(True, RESOLVABLE, UNRESOLVABLE, id="as in-tree where preemption may look"),
    ],
)
def test_filter_result(
    resolvable: bool, failed: dict[str, str], unresolvable: dict[str, str]
) -> None:
    args = args_of({"Pod": POD, "NodeNames": ["u", "b", "f", "n", "a", "e"]})
    names = write_names(VERDICTS, args)
    body = write_filter_result(VERDICTS, args, names, resolvable=resolvable)
    assert json.loads(body) == {
        "Nodes": None,
        "NodeNames": ["b", "a"],
        "FailedNodes": failed,
        "FailedAndUnresolvableNodes": unresolvable,
        "Error": "",
    }
    assert list(json.loads(body)) == [
        "Nodes",
        "NodeNames",
        "FailedNodes",
        "FailedAndUnresolvableNodes",
        "Error",
    ]


def test_no_node_left_is_an_empty_list_not_null() -> None:
    none = Verdicts(AskedNodes([], (), {}, 1), [(Reason.AFFINITY, ["a"])])
    args = args_of({"Pod": POD, "NodeNames": ["a"]})
    assert write_names(none, args) == b"[]"


def test_a_list_that_all_fits_goes_back_as_it_came() -> None:
    body = b'{"Pod":{"metadata":{"name":"x"}},"NodeNames":[ "b" , "a" ]}'
    args = read_args(body, PodReader())
    all_fit = Verdicts(AskedNodes(["b", "a"], (), {}, 1), ())
    assert write_names(all_fit, args) == b'[ "b" , "a" ]'


def test_whole_nodes_go_back_as_they_came() -> None:
    nodes = [node("b", {"rack": "r"}), node("f"), node("a")]
    args = args_of({"Pod": POD, "Nodes": {"items": nodes}})
    body = write_filter_result(VERDICTS, args, write_names(VERDICTS, args), resolvable=False)
    answer = json.loads(body)
    assert answer["Nodes"]["items"] == [nodes[0], nodes[2]]
    assert answer["NodeNames"] is None


def test_a_fault_has_no_verdicts() -> None:
    assert json.loads(write_filter_error("50% is\nbroken")) == {
        "Nodes": None,
        "NodeNames": None,
        "FailedNodes": None,
        "FailedAndUnresolvableNodes": None,
        "Error": "50 percent is broken",
    }


def test_error_text_is_one_line_without_format_verbs() -> None:
    assert error_text(" a%s\r\n b\t") == "a percents b"
