"""Filter's answers, byte for byte where the scheduler cares."""

from __future__ import annotations

import json
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from extender.core.cluster.counts.nodes import NodeList
from extender.core.model.verdict import Reason
from extender.core.verbs.plugins import FilterResult
from extender.core.wire.extender_args import ExtenderArgs, error_text, open_args, read_envelope
from extender.core.wire.extender_results import write_filter_error, write_filter_result
from extender.core.wire.objects import PodReader
from tests.builders import node, pod

POD = pod("new")


def args_of(body: Any) -> ExtenderArgs:
    return open_args(read_envelope(json.dumps(body).encode()), PodReader())


VERDICTS = FilterResult(
    NodeList(["b", "a"], (), {}, 1),
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
    body = write_filter_result(VERDICTS, args, resolvable=resolvable)
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
    none = FilterResult(NodeList([], (), {}, 1), [(Reason.AFFINITY, ["a"])])
    args = args_of({"Pod": POD, "NodeNames": ["a"]})
    assert b'"NodeNames":[],' in write_filter_result(none, args, resolvable=False)


def test_a_list_that_all_fits_goes_back_as_it_came() -> None:
    body = b'{"Pod":{"metadata":{"name":"x"}},"NodeNames":[ "b" , "a" ]}'
    args = open_args(read_envelope(body), PodReader())
    all_fit = FilterResult(NodeList(["b", "a"], (), {}, 1), ())
    answer = write_filter_result(all_fit, args, resolvable=False)
    assert b'"NodeNames":[ "b" , "a" ],' in answer


def test_whole_nodes_go_back_as_they_came() -> None:
    nodes = [node("b", {"rack": "r"}), node("f"), node("a")]
    args = args_of({"Pod": POD, "Nodes": {"items": nodes}})
    body = write_filter_result(VERDICTS, args, resolvable=False)
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


@pytest.mark.parametrize("resolvable", [False, True])
@given(
    refused=st.lists(st.lists(st.text(st.sampled_from('a",\\:\n{é'))), max_size=len(Reason)),
    data=st.data(),
)
def test_any_names_are_written(
    refused: list[list[str]], data: st.DataObject, *, resolvable: bool
) -> None:
    seen: set[str] = set()
    verdicts: list[tuple[Reason, list[str]]] = []
    expected: dict[str, Reason] = {}
    for reason, some in zip(Reason, refused, strict=False):
        names = [name for name in dict.fromkeys(some) if name not in seen]
        seen.update(names)
        verdicts.append((reason, names))
        expected |= dict.fromkeys(names, reason)
    waits_for = data.draw(st.sampled_from([None, "", *expected]))
    args = args_of({"Pod": POD, "NodeNames": [*expected]})
    result = FilterResult(NodeList([], (), {}, 1), verdicts)
    written = write_filter_result(result, args, resolvable=resolvable, waits_for=waits_for)
    body = json.loads(written)
    assert written == orjson.dumps(body)
    failed = {
        name
        for name, reason in expected.items()
        if name == waits_for or (resolvable and reason.resolvable)
    }
    assert body["FailedNodes"] == {name: expected[name].value for name in failed}
    assert body["FailedAndUnresolvableNodes"] == {
        name: reason.value for name, reason in expected.items() if name not in failed
    }
