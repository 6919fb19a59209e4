"""Domains are numbered, and numbers are given back."""

from __future__ import annotations

import pytest

from extender.core.cluster.counts.topology import NO_DOMAIN, DomainTable, Topology


def test_nodes_of_one_value_share_a_domain() -> None:
    zones = Topology("zone")
    for node, value in enumerate(("a", "b", "a", None)):
        zones.place(node, f"node-{node}", value)
    assert zones.domain_of == [0, 1, 0, NO_DOMAIN]


def test_a_domain_without_nodes_gives_its_number_to_the_next() -> None:
    hosts = Topology("host")
    hosts.place(0, "node-0", "old")
    hosts.place(0, "node-0", None)
    hosts.place(0, "node-0", "new")
    assert hosts.values == ["new"]
    assert hosts.number_of("old") == NO_DOMAIN


def test_a_node_that_stays_keeps_the_number_of_its_domain() -> None:
    hosts = Topology("host")
    hosts.place(0, "node-0", "same")
    hosts.place(0, "node-0", "same")
    assert hosts.domain_of == [0]
    assert hosts.values == ["same"]


def test_which_nodes_are_alone_in_their_domain() -> None:
    zones = Topology("zone")
    for node, value in enumerate(("a", "b", "a", None)):
        zones.place(node, f"node-{node}", value)
    assert [zones.is_alone(node) for node in range(4)] == [False, True, False, False]
    zones.place(0, "node-0", "b")
    assert [zones.is_alone(node) for node in range(4)] == [False, False, True, False]
    zones.place(2, "node-2", None)
    assert [zones.is_alone(node) for node in range(4)] == [False] * 4


def test_entries_that_come_to_zero_are_removed() -> None:
    zones = Topology("zone")
    zones.place(0, "node-0", "a")
    table = DomainTable(zones)
    table.add(0, 5)
    table.add(0, -5)
    assert table.counts == {}


def test_a_node_without_the_key_counts_nowhere() -> None:
    zones = Topology("zone")
    zones.place(0, "node-0", None)
    table = DomainTable(zones)
    table.add(0, 1)
    assert table.counts == {}
    assert table.version == 0


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        pytest.param(["node-0", None], True, id="each value is its node's name"),
        pytest.param(["node-0", "node-0"], False, id="a value is another node's name"),
        pytest.param(["zone", "zone"], False, id="values are shared"),
        pytest.param(["zone", "node-1", "node-0"], True, id="until the stranger is relabelled"),
    ],
)
def test_whether_values_are_the_names_of_their_nodes(
    values: list[str | None], expected: bool
) -> None:
    topology = Topology("key")
    for step, value in enumerate(values):
        topology.place(step % 2, f"node-{step % 2}", value)
    assert topology.values_are_names is expected
