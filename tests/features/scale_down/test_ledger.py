"""The pods of each controller, moved by events, against those that there are."""

from __future__ import annotations

import json

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule
from msgspec import structs

from extender.core.cluster.ledgers.reservations import Claim
from extender.core.cluster.state import ClusterState
from extender.core.model.keys import Key
from extender.core.model.objects import Controller, PodClass
from extender.core.model.objects import Pod as ModelPod
from extender.features.scale_down.cost import DeletionCost
from extender.features.scale_down.ledger import Replica, Replicas
from tests.builders import HOST, Pod, model_node, node, pod, selector, term
from tests.features.scale_down import ranked
from tests.features.scale_down.ranked import READER, ranked_state, replica_mismatches, replicas_in

NODES = ("a", "b")
OWNERS = ("ReplicaSet/web", "ReplicaSet/api", "StatefulSet/db", None)
COSTS = (None, *(DeletionCost(cost, given) for cost in (-1001, -2001) for given in (True, False)))


def read(raw: Pod) -> ModelPod:
    """Read a pod as the extender does where it gives costs."""
    return READER.read(json.dumps(raw).encode())


def replica(name: str, owner: str | None = OWNERS[0], generation: int = 0) -> Pod:
    """Build a pod that keeps from its like."""
    made = pod(name).uid(f"{name}-{generation}").labels(app="web")
    made = made.anti_affinity(term(HOST, selector(app="web")))
    return made if owner is None else made.owned_by(owner)


class Replicating(RuleBasedStateMachine):
    """Pods of some controllers come, are bound, get other costs and go."""

    def __init__(self) -> None:
        super().__init__()
        self.state = ranked_state()
        for name in NODES:
            self.state.upsert_node(model_node(node(name, {HOST: name})))
        self.claims: list[Claim] = []
        self.generation = 0

    @rule(
        name=st.sampled_from("pqr"),
        owner=st.sampled_from(OWNERS),
        on=st.sampled_from((*NODES, None)),
        cost=st.sampled_from(COSTS),
        again=st.booleans(),
        fate=st.sampled_from(("", "", "deleting", "terminal")),
    )
    def show(
        self,
        name: str,
        owner: str | None,
        on: str | None,
        cost: DeletionCost | None,
        fate: str,
        *,
        again: bool,
    ) -> None:
        """Show a pod as the watch does; now and then another one of the name."""
        self.generation += again
        made = read(replica(name, owner, self.generation))
        self.state.upsert_pod(
            ranked.costing(structs.replace(made, node=on), cost).with_status(
                deleting=fate == "deleting", terminal=fate == "terminal"
            )
        )

    @rule(name=st.sampled_from("pqr"), on=st.sampled_from(NODES), cost=st.sampled_from(COSTS))
    def reserve(self, name: str, on: str, cost: DeletionCost | None) -> None:
        """Reserve a place for one bind; nobody binds a pod that is known to be bound."""
        made = ranked.costing(read(replica(name, generation=self.generation)), cost)
        known = self.state.pod(made.key, made.uid)
        if known is None or known.node is None:
            self.claims.append(self.state.reserve(made, on, 10.0))

    @precondition(lambda self: self.claims)
    @rule(held=st.booleans())
    def end(self, *, held: bool) -> None:
        """End a bind, clearly or not."""
        claim = self.claims.pop()
        if held:
            self.state.hold(claim, 20.0)
        else:
            self.state.release(claim)

    @rule(now=st.sampled_from((5.0, 15.0, 25.0)))
    def expire(self, now: float) -> None:
        self.state.expire(now)

    @rule(name=st.sampled_from("pqr"))
    def remove(self, name: str) -> None:
        known = self.state.pods.get(f"default/{name}")
        if known is not None:
            self.state.remove_pod(known.key, known.uid)

    @rule(name=st.sampled_from("pqr"))
    def leave_out(self, name: str) -> None:
        """Look at the cluster without a pod."""
        known = self.state.pods.get(f"default/{name}")
        if known is not None:
            with self.state.without(known.key, known.uid):
                assert replica_mismatches(self.state) == []

    @invariant()
    def every_replica_is_known_once(self) -> None:
        """Compare both ways."""
        assert replica_mismatches(self.state) == []
        for owner in replicas_in(self.state):
            assert set(replicas_in(self.state).of(owner).values()) <= {1}


TestReplicating = Replicating.TestCase

WEB = Controller("default", "ReplicaSet/web")


def a_state() -> ClusterState:
    """Build a state with one replica."""
    state = ranked_state()
    state.upsert_node(model_node(node("a", {HOST: "a"})))
    state.upsert_pod(read(replica("p").on("a")))
    return state


def test_changes_are_told_once_and_nobody_who_is_gone() -> None:
    state = a_state()
    replicas = replicas_in(state)
    assert list(replicas.take_changed()) == [WEB]
    assert list(replicas.take_changed()) == []
    state.upsert_pod(read(replica("q", "ReplicaSet/api").on("a")))
    state.remove_pod("default/q", "q-0")
    assert list(replicas.take_changed()) == []
    assert list(replicas) == [WEB]
    replicas.note_all()
    assert list(replicas.take_changed()) == [WEB]


class Asked(str):
    """A namespace that notes how often it is compared with others."""

    __slots__ = ()
    times = 0

    def __hash__(self) -> int:
        Asked.times += 1
        return super().__hash__()


def test_a_relabelled_namespace_costs_nothing_for_controllers_of_others() -> None:
    replicas, made = Replicas(ClusterState()), read(replica("p").on("a"))
    replicas.placed(made, "a", 1)
    for number in range(100):
        name = Asked(f"other-{number}")
        of_other = PodClass(name, made.pod_class.labels, made.pod_class.affinity)
        replicas.placed(structs.replace(made, pod_class=of_other), "a", 1)
    assert len(list(replicas.take_changed())) == 101
    assert Asked.times > 0
    Asked.times = 0
    replicas.note_all("default")
    assert Asked.times == 0
    assert list(replicas.take_changed()) == [WEB]


@pytest.mark.parametrize("amount", [1, -1])
def test_the_audit_finds_who_is_not_known_as_he_is(amount: int) -> None:
    state = a_state()
    assert replica_mismatches(state) == []
    (ledger,) = state.ledgers
    assert set(ledger.audit()) == {None}
    known = state.pods["default/p"]
    replicas_in(state).placed(known, "b" if amount > 0 else "a", amount)
    assert set(replica_mismatches(state)) == {"default/p"}
    assert "default/p among the pods of its controller" in list(ledger.audit())


def test_one_replica_is_what_a_scale_down_goes_by() -> None:
    state = a_state()
    assert list(replicas_in(state).of(WEB)) == [Replica(Key("default/p"), "p-0", "a", None)]
