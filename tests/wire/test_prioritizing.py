"""Scores are written as Go reads them."""

from __future__ import annotations

import pytest

from extender.cluster.counts.nodes import NodeRegistry
from extender.verbs.prioritizing import Scored
from extender.wire.extender_results import PriorityWriter


def nodes_named(*names: str) -> NodeRegistry:
    """Make some nodes known, numbered in order."""
    nodes = NodeRegistry()
    for name in names:
        nodes.learn(name, {})
    return nodes


@pytest.mark.parametrize(
    ("scored", "expected"),
    [
        pytest.param(Scored(), b"[]", id="nothing to say"),
        pytest.param(
            Scored([0, 1, 2], [9, -1, 4], {9: 20, -1: 0, 4: 7}),
            b'[{"Host":"a","Score":20},{"Host":"c","Score":7}]',
            id="hosts that score 0 are left out",
        ),
        pytest.param(Scored([1], [5], {5: 1}), b'[{"Host":"b","Score":1}]', id="one host"),
    ],
)
def test_priorities(scored: Scored, expected: bytes) -> None:
    assert PriorityWriter(nodes_named("a", "b", "c")).write(scored) == expected


def test_a_number_that_means_another_node_by_now() -> None:
    nodes = nodes_named("old", "kept")
    writer = PriorityWriter(nodes)
    one = Scored([0], [1], {1: 3})
    assert writer.write(one) == b'[{"Host":"old","Score":3}]'
    nodes.forget("old")
    nodes.learn("new", {})
    nodes.learn("more", {})
    assert writer.write(one) == b'[{"Host":"new","Score":3}]'
    assert writer.write(Scored([2], [1], {1: 3})) == b'[{"Host":"more","Score":3}]'


def test_a_name_that_needs_escaping_is_escaped() -> None:
    writer = PriorityWriter(nodes_named('a"\\b'))
    assert writer.write(Scored([0], [1], {1: 3})) == b'[{"Host":"a\\"\\\\b","Score":3}]'
