"""The scheduler's question to filter and prioritize, in every shape that it may have."""

from __future__ import annotations

import json
from typing import Any

import pytest

from extender.core.errors import ObjectError, RequestError
from extender.core.wire.extender_args import ExtenderArgs, open_args, read_envelope
from extender.core.wire.objects import PodReader
from tests.builders import node, pod
from tests.missing import needs_depth

POD = pod("new")


def args_of(body: Any) -> ExtenderArgs:
    return open_args(read_envelope(json.dumps(body).encode()), PodReader())


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


@pytest.mark.parametrize(
    ("nodes", "expected"),
    [
        pytest.param({"items": [node("b"), node("a")]}, ["b", "a"], id="as Go writes it"),
        pytest.param({"Items": [node("b"), node("a")]}, ["b", "a"], id="in another case"),
        pytest.param({"metadata": {}, "items": None}, [], id="none at all, as Go writes it"),
        pytest.param({}, [], id="no list"),
    ],
)
def test_a_request_with_whole_nodes(nodes: Any, expected: list[str]) -> None:
    args = args_of({"Pod": POD, "Nodes": nodes, "NodeNames": None})
    assert list(args.nodes or ()) == expected


@needs_depth
@pytest.mark.parametrize("key", ["Pod", "pod"])
def test_a_pod_nested_as_deep_as_the_api_server_takes_it(key: str) -> None:
    """Whoever may write a pod can do that in its managedFields, which old schedulers pass on."""
    fields = b"[" * 9_990 + b"]" * 9_990
    body = json.dumps({key: {**POD, "deep": "?"}, "NodeNames": ["a"]}).encode()
    args = open_args(read_envelope(body.replace(b'"?"', fields)), PodReader())
    assert args.pod.key == "default/new"


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
        open_args(read_envelope(body), PodReader())


@pytest.mark.parametrize(
    ("body", "path"),
    [
        pytest.param({"Pod": None, "NodeNames": []}, "Pod", id="a null pod"),
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


def test_nodes_that_are_no_text_are_refused() -> None:
    """They are answered as they came, so nobody else would notice."""
    body = json.dumps({"Pod": POD, "Nodes": {"items": [node("a", {"zone": "?"})]}}).encode()
    with pytest.raises(ObjectError, match="utf-8") as caught:
        open_args(read_envelope(body.replace(b"?", b"\xff")), PodReader())
    assert caught.value.path == "Nodes"
