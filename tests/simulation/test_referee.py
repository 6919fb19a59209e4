"""What the judge of binds takes an extender to have known."""

from __future__ import annotations

import pytest

from simulation import templates
from simulation.apiserver.store import Store
from simulation.apiserver.verbs import bind
from simulation.invariants.referee import Referee

EXTENDER = "extender-1"
QUIET_SECONDS = 60.0
"""For how long a watch has shown nothing: nothing has changed either."""


class Court:
    """A cluster, and a judge of what becomes of it."""

    def __init__(self) -> None:
        self.now = 0.0
        self.store = Store()
        self.referee = Referee(
            self.store, lambda: self.now, lambda: EXTENDER, lambda _, at: at - QUIET_SECONDS
        )
        self.store.create("namespaces", templates.namespace("default", "blue"), "users")
        self.made_of = templates.template("apart by host", "app", "app")

    def add_node(self, name: str) -> None:
        """Add a node."""
        self.store.create("nodes", templates.node(name, "z0", 8), "users")

    def place(self, name: str, node: str) -> None:
        """Have the extender bind a pod that excludes all others of its app from its node."""
        pod = templates.pod(
            name, "default", self.made_of, owner="app", scheduler="scheduler-1", milli=10
        )
        uid = self.store.create("pods", pod, "controllers")["metadata"]["uid"]
        self.referee.asked.add((uid, node))
        bind(self.store, f"default/{name}", uid, node, EXTENDER)

    @property
    def broken(self) -> list[str]:
        """Return the invariants that do not hold."""
        return [each.invariant for each in self.referee.broken]


@pytest.fixture
def court() -> Court:
    court = Court()
    court.now = 1.0
    court.add_node("one")
    court.now = 30.0
    court.place("first", "one")
    return court


def test_nobody_may_think_of_a_node_as_not_yet_there_that_it_binds_to(court: Court) -> None:
    court.now = 31.0
    court.place("second", "one")
    assert court.broken == ["excluding pods met"]


def test_a_label_may_not_have_been_known(court: Court) -> None:
    court.add_node("two")
    court.now = 32.0
    court.store.update("nodes", "two", lambda node: _with_host(node, "one"), "users")
    court.place("second", "two")
    assert not court.broken


def _with_host(node: dict[str, object], host: str) -> dict[str, object]:
    metadata = node["metadata"]
    assert isinstance(metadata, dict)
    labels = {**metadata["labels"], templates.HOST: host}
    return {**node, "metadata": {**metadata, "labels": labels}}
