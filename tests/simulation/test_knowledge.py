"""What the watches of an extender cannot have shown."""

from __future__ import annotations

import pytest

from simulation import templates
from simulation.apiserver.store import Store
from simulation.invariants.knowledge import AROUND_SECONDS, Knowledge
from tests.clock import Clock


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def store() -> Store:
    return Store()


@pytest.fixture
def knowledge(store: Store, clock: Clock) -> Knowledge:
    return Knowledge(store, clock)


def add_node(store: Store, name: str) -> int:
    """Add a node; return the version at which it is there."""
    store.create("nodes", templates.node(name, "z0", 8), "users")
    return store.version


def test_a_quiet_watch_hides_nothing(knowledge: Knowledge, store: Store, clock: Clock) -> None:
    version = add_node(store, "one")
    clock.now = 60.0
    knowledge.look([{"nodes": version}])
    assert knowledge.since("nodes", 60.0) == 60.0


def test_what_a_watch_has_not_shown_is_unknown_since_it_was_written(
    knowledge: Knowledge, store: Store, clock: Clock
) -> None:
    version = add_node(store, "one")
    clock.now = 50.0
    add_node(store, "two")
    add_node(store, "three")
    clock.now = 60.0
    knowledge.look([{"nodes": version, "pods": version}, {"nodes": store.version}])
    assert knowledge.since("nodes", 60.0) == 50.0
    assert knowledge.since("pods", 60.0) == 60.0


def test_nothing_is_known_before_it_was_listed(
    knowledge: Knowledge, store: Store, clock: Clock
) -> None:
    add_node(store, "one")
    clock.now = 60.0
    knowledge.look([{"nodes": 0}])
    assert knowledge.since("nodes", 60.0) == 0.0


def test_what_was_unknown_a_moment_ago_counts(
    knowledge: Knowledge, store: Store, clock: Clock
) -> None:
    version = add_node(store, "one")
    clock.now = 50.0
    add_node(store, "two")
    clock.now = 53.0
    knowledge.look([{"nodes": version}])
    clock.now = 54.0
    knowledge.look([{"nodes": store.version}])
    assert knowledge.since("nodes", 54.0) == 51.0
    assert knowledge.since("nodes", 53.0 + AROUND_SECONDS) == 53.0 + AROUND_SECONDS
