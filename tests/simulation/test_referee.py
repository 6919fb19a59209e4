"""What the judge of binds takes an extender to have known."""

from __future__ import annotations

from functools import partial

import pytest

from simulation import templates
from simulation.apiserver.store import Store, patched_status
from simulation.apiserver.verbs import DISRUPTION_TARGET, bind, delete, mark
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
        self.space = "default"

    def add_node(self, name: str) -> None:
        self.store.create("nodes", templates.node(name, "z0", 8), "users")

    def create(self, name: str, priority: int = 0) -> str:
        """Create a pod that excludes all others of its app from its domain; return its uid."""
        made_of = {**self.made_of, "priority": priority}
        pod = templates.pod(
            name, self.space, made_of, owner="app", scheduler="scheduler-1", milli=10
        )
        uid: str = self.store.create("pods", pod, "controllers")["metadata"]["uid"]
        return uid

    def place(self, name: str, node: str) -> None:
        """Have the extender bind such a pod."""
        uid = self.create(name)
        self.referee.asked[uid, node] = self.now
        bind(self.store, f"{self.space}/{name}", uid, node, EXTENDER)

    def preempt(self, victim: str, preemptor: str, uid: str) -> None:
        """Have the extender evict a pod for another one, which it nominates to the node."""
        node = self.store.get("pods", f"default/{victim}")["spec"]["nodeName"]
        nominated = partial(patched_status, nominatedNodeName=node)
        self.store.update("pods", f"default/{preemptor}", nominated, EXTENDER)
        target = {"type": DISRUPTION_TARGET, "status": "True", "message": f"for it (uid {uid})"}
        mark(self.store, f"default/{victim}", [target], EXTENDER)
        delete(self.store, f"default/{victim}", EXTENDER, grace=0.0)

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


def test_a_fourth_set_of_victims_is_one_too_many(court: Court) -> None:
    uid = court.create("preemptor", priority=10)
    for number in range(4):
        assert not court.broken
        court.add_node(f"n{number}")
        court.place(f"victim-{number}", f"n{number}")
        court.preempt(f"victim-{number}", "preemptor", uid)
    assert court.broken == ["too many sets of victims"]


@pytest.mark.parametrize(
    ("node", "later", "broken"),
    [
        pytest.param("two", 1.0, ["held domain taken"], id="in the domain"),
        pytest.param("two", 100.0, [], id="when the preemptor was not bound for long"),
        pytest.param("other", 1.0, [], id="elsewhere"),
    ],
)
def test_a_domain_is_held_against_less_important_pods(
    node: str, later: float, broken: list[str]
) -> None:
    court = Court()
    court.made_of = templates.template("apart by zone", "app", "app")
    for name, zone in (("one", "z0"), ("two", "z0"), ("other", "z1")):
        court.store.create("nodes", templates.node(name, zone, 8), "users")
    court.now = 30.0
    court.place("victim", "one")
    court.now = 31.0
    court.preempt("victim", "preemptor", court.create("preemptor", priority=10))
    court.now += later
    court.place("successor", node)
    assert court.broken == broken


@pytest.mark.parametrize(
    ("room", "broken"),
    [
        pytest.param(1, ["evicted for a quota"], id="full"),
        pytest.param(2, [], id="with room for one more"),
    ],
)
def test_no_pod_is_evicted_for_a_quota(room: int, broken: list[str]) -> None:
    court = Court()
    court.store.create("namespaces", templates.namespace(templates.LIMITED, "green"), "users")
    court.store.create("resourcequotas", templates.quota("crossing", {"pods": str(room)}), "users")
    court.made_of = templates.template("away from a team", "app", "app")
    court.space = templates.LIMITED
    court.add_node("one")
    court.now = 300.0
    court.place("victim", "one")
    court.now = 600.0
    uid, key = court.create("preemptor", priority=10), f"{templates.LIMITED}/victim"
    target = {"type": DISRUPTION_TARGET, "status": "True", "message": f"for it (uid {uid})"}
    mark(court.store, key, [target], EXTENDER)
    path = f"/api/v1/namespaces/{templates.LIMITED}/pods/victim"
    court.referee.note_sent(EXTENDER, "DELETE", path, b"{}")
    assert court.broken == broken


def _with_host(node: dict[str, object], host: str) -> dict[str, object]:
    metadata = node["metadata"]
    assert isinstance(metadata, dict)
    labels = {**metadata["labels"], templates.HOST: host}
    return {**node, "metadata": {**metadata, "labels": labels}}
