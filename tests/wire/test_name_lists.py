"""A list of names that was just answered is known by its bytes."""

from __future__ import annotations

import pytest
from msgspec import Raw

from extender.cluster.counts.nodes import NodeRegistry
from extender.errors import ObjectError
from extender.wire.extender_args import REMEMBERED, NameLists

RAW = b'["b","a"]'


def some_nodes() -> NodeRegistry:
    """Make two nodes known."""
    nodes = NodeRegistry()
    nodes.learn("a", {})
    nodes.learn("b", {})
    return nodes


def test_an_answered_list_is_not_looked_up_again() -> None:
    lists = NameLists(some_nodes())
    asked = lists.read(Raw(RAW))
    lists.remember(RAW, asked)
    assert lists.read(Raw(RAW)) is asked


def test_a_remembered_list_does_not_outlive_a_change_of_nodes() -> None:
    nodes = some_nodes()
    lists = NameLists(nodes)
    lists.remember(RAW, lists.read(Raw(RAW)))
    nodes.forget("a")
    assert lists.read(Raw(RAW)).unknown == ["a"]


def test_numbers_are_those_of_the_names_that_are_known() -> None:
    nodes = some_nodes()
    asked = NameLists(nodes).read(Raw(b'["b","stranger","a"]'))
    assert (asked.names, asked.unknown) == (["b", "a"], ["stranger"])
    assert list(asked.numbers) == [nodes.number("b"), nodes.number("a")]
    asked = NameLists(nodes).read(Raw(b'["b","a"]'))
    assert (asked.names, asked.unknown) == (["b", "a"], ())
    assert list(asked.numbers) == [nodes.number("b"), nodes.number("a")]


def test_only_a_few_lists_are_remembered() -> None:
    lists = NameLists(some_nodes())
    asked = lists.read(Raw(RAW))
    lists.remember(RAW, asked)
    for number in range(REMEMBERED):
        lists.remember(b'["%d"]' % number, asked)
    assert lists.read(Raw(RAW)) is not asked


@pytest.mark.parametrize("raw", [b'"a"', b"[1]", b'{"a":1}', b'["a"', b"[null]"])
def test_what_is_no_list_of_names_is_refused(raw: bytes) -> None:
    with pytest.raises(ObjectError) as caught:
        NameLists(some_nodes()).read(Raw(raw))
    assert caught.value.path.startswith("NodeNames")
