"""Reserved pods count from the moment they are reserved until something settles them."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from extender.core.cluster.ledgers.reservations import Claim
from extender.core.cluster.state import ClusterState
from extender.core.model.keys import Identity, Key
from extender.core.model.objects import Pod
from simulation.invariants.recount import mismatches, room_mismatches
from tests.builders import (
    ZONE,
    model_node,
    model_pod,
    node,
    pod,
    selector,
    state_of,
    term,
)
from tests.builders import Pod as Manifest

NODES = [node("a", {ZONE: "a"}), node("b", {ZONE: "b"})]
WEB = pod("web").labels(app="web").anti_affinity(term(ZONE, selector(app="web")))
KEY, UID = "default/web", "default-web"
DEADLINE = 10.0

Step = Callable[[ClusterState], None]


def occupied(state: ClusterState) -> list[str]:
    """Return the zones that refuse another replica, and check the books."""
    assert mismatches(state) == []
    (union,) = state.prefilter_state(model_pod(WEB).pod_class).anti_affinity
    (table,) = union.tables
    return sorted(table.by_value())


def reserved(on: str = "a", *, seen: bool = True) -> ClusterState:
    """Build a state with a reservation, for a pod that the watch has shown or not."""
    state = state_of(NODES, [], [WEB] if seen else [])
    state.reserve(model_pod(WEB), on, DEADLINE)
    return state


def upsert(raw: Manifest) -> Step:
    return lambda state: state.upsert_pod(model_pod(raw))


def remove(uid: str) -> Step:
    return lambda state: state.remove_pod(KEY, uid)


def expire(now: float) -> Step:
    """Let time pass."""

    def step(state: ClusterState) -> None:
        state.expire(now)

    return step


@pytest.mark.parametrize(
    ("step", "zones", "left"),
    [
        pytest.param(upsert(WEB), ["a"], 1, id="the watch shows it waiting still"),
        pytest.param(upsert(WEB.labels(more="x")), ["a"], 1, id="it is relabelled while it waits"),
        pytest.param(upsert(WEB.on("a")), ["a"], 0, id="the watch shows it where it was promised"),
        pytest.param(upsert(WEB.on("b")), ["b"], 0, id="somebody else bound it elsewhere"),
        pytest.param(upsert(WEB.phase("Failed")), [], 0, id="it failed"),
        pytest.param(remove(UID), [], 0, id="it is deleted"),
        pytest.param(remove("older"), ["a"], 1, id="an older pod of its name is deleted"),
        pytest.param(upsert(WEB.uid("second")), [], 0, id="it is re-created"),
        pytest.param(upsert(WEB.being_deleted()), [], 0, id="it ends, and a finalizer keeps it"),
        pytest.param(
            upsert(WEB.on("a").being_deleted()), ["a"], 0, id="it ends after it was bound"
        ),
        pytest.param(expire(DEADLINE - 1), ["a"], 1, id="its time is not over"),
        pytest.param(expire(DEADLINE), [], 0, id="its time is over"),
    ],
)
def test_what_settles_a_reservation(step: Step, zones: list[str], left: int) -> None:
    state = reserved()
    step(state)
    assert (occupied(state), len(state.reservations)) == (zones, left)


def test_a_pod_that_no_watch_has_shown_yet_can_be_reserved() -> None:
    state = reserved(seen=False)
    assert occupied(state) == ["a"]
    state.upsert_pod(model_pod(WEB.on("a")))
    assert (occupied(state), len(state.reservations)) == (["a"], 0)


def test_a_refusal_releases_at_once() -> None:
    state = state_of(NODES, [], [WEB])
    claim = state.reserve(model_pod(WEB), "a", DEADLINE)
    state.release(claim)
    assert (occupied(state), len(state.reservations)) == ([], 0)
    state.release(claim)
    assert occupied(state) == []


def test_the_same_promise_again_renews_it() -> None:
    state = reserved()
    state.reserve(model_pod(WEB), "a", DEADLINE + 5)
    assert (occupied(state), len(state.reservations)) == (["a"], 1)
    assert state.expire(DEADLINE) == []


def test_a_refusal_ends_no_claim_but_its_own() -> None:
    state = state_of(NODES, [], [WEB])
    indeterminate = state.reserve(model_pod(WEB), "a", DEADLINE)
    state.hold(indeterminate, DEADLINE)
    # The same deadline: claims are told apart by what they are, not by what they say.
    state.release(state.reserve(model_pod(WEB), "a", DEADLINE))
    assert (occupied(state), len(state.reservations)) == (["a"], 1)
    state.release(state.reserve(model_pod(WEB), "a", DEADLINE + 60))
    assert state.expire(DEADLINE) == [indeterminate.reservation.pod], (
        "a refusal does not prolong it"
    )
    assert occupied(state) == []


def test_the_first_of_two_binds_at_a_time_is_refused() -> None:
    state = state_of(NODES, [], [WEB])
    first = state.reserve(model_pod(WEB), "a", DEADLINE)
    second = state.reserve(model_pod(WEB), "a", DEADLINE)
    state.release(first)
    assert occupied(state) == ["a"]
    state.hold(second, DEADLINE + 5)
    assert state.expire(DEADLINE + 4) == []


def test_a_bind_that_ends_forgets_none_that_is_under_way() -> None:
    state = state_of(NODES, [], [WEB])
    first = state.reserve(model_pod(WEB), "a", DEADLINE)
    second = state.reserve(model_pod(WEB), "a", DEADLINE)
    state.hold(second, DEADLINE + 5)
    assert first.reservation.under_way
    state.hold(first, DEADLINE + 20)
    assert state.expire(DEADLINE + 10) == []
    assert occupied(state) == ["a"]


def test_binds_that_end_unclearly_again_and_again_take_no_more_memory() -> None:
    state = state_of(NODES, [], [WEB])
    for attempt in range(1000):
        state.hold(state.reserve(model_pod(WEB), "a", DEADLINE), DEADLINE + attempt)
    (reservation,) = state.reservations
    assert len(reservation.claims) == 1
    assert reservation.deadline == DEADLINE + 999


@pytest.mark.parametrize("confirmed_first", [True, False])
def test_an_unclear_end_shortens_no_place_that_is_held_for_longer(*, confirmed_first: bool) -> None:
    """A bind has succeeded and no watch shows it; the scheduler binds again, and nobody answers."""
    state = state_of(NODES, [], [WEB])
    ends = [(DEADLINE + 600, True), (DEADLINE + 180, False)]
    for deadline, is_confirmed in ends if confirmed_first else reversed(ends):
        state.hold(state.reserve(model_pod(WEB), "a", DEADLINE), deadline)
        if is_confirmed:
            state.settle(model_pod(WEB), "a", deadline)
    (reservation,) = state.reservations
    assert reservation.deadline == DEADLINE + 600
    assert state.expire(DEADLINE + 599) == []
    assert occupied(state) == ["a"]
    assert len(state.expire(DEADLINE + 600)) == 1
    assert occupied(state) == []


def test_a_place_that_is_given_up_leaves_those_of_other_pods_and_nodes() -> None:
    state = reserved()
    other = model_pod(pod("other").labels(app="db"))
    claims = {node: state.reserve(other, node, DEADLINE) for node in "ab"}
    state.release(claims["a"])
    held = state.reservations
    on = {node: [each.key for each in held.on(node)] for node in "abc"}
    assert on == {"a": [KEY], "b": ["default/other"], "c": []}
    assert [each.pod.node for each in held.of("default/other", "default-other")] == ["b"]
    assert [each.pod.node for each in held.of(KEY, UID)] == ["a"]
    state.release(claims["b"])
    assert (len(held), [each.pod.key for each in held]) == (1, [KEY])
    assert occupied(state) == ["a"]


def test_only_of_a_pod_that_was_bound_it_is_known_to_be_there() -> None:
    state = state_of(NODES, [], [WEB])
    state.hold(state.reserve(model_pod(WEB), "a", DEADLINE), DEADLINE)
    assert (len(state.reservations.on("a")), state.reservations.confirmed_on("a")) == (1, [])
    state.hold(state.reserve(model_pod(WEB), "a", DEADLINE), DEADLINE)
    state.settle(model_pod(WEB), "a", DEADLINE)
    assert [each.key for each in state.reservations.confirmed_on("a")] == [KEY]
    assert state.reservations.confirmed_on("b") == []


def test_reserved_pods_are_told_apart_by_key_and_uid() -> None:
    state = reserved()
    state.reserve(model_pod(WEB.uid("second")), "b", DEADLINE, "17")
    assert state.reservations.pods() == {
        Identity(Key(KEY), UID): "",
        Identity(Key(KEY), "second"): "17",
    }
    assert [each.pod.node for each in state.reservations.of(KEY, "second")] == ["b"]
    # The watch has shown it meanwhile: any later list that lacks it is proof.
    state.reserve(model_pod(WEB.uid("second")), "b", DEADLINE)
    assert state.reservations.pods()[Identity(Key(KEY), "second")] == ""


def test_a_place_is_held_until_the_last_claim_to_it_ends() -> None:
    state = state_of(NODES, [], [WEB])
    claims = [state.reserve(model_pod(WEB), "a", DEADLINE + later) for later in (5, 9, 2)]
    (reservation,) = state.reservations
    assert reservation.deadline == DEADLINE + 9
    state.release(claims[1])
    assert reservation.deadline == DEADLINE + 5


def test_a_pod_that_is_bound_is_reserved_nowhere_else() -> None:
    state = reserved()
    state.hold(state.reserve(model_pod(WEB), "b", DEADLINE), DEADLINE)
    state.settle(model_pod(WEB), "b", DEADLINE + 60)
    assert (occupied(state), len(state.reservations)) == (["b"], 1)
    assert state.expire(DEADLINE + 59) == []
    state.settle(model_pod(WEB), None, 0)
    assert (occupied(state), len(state.reservations)) == ([], 0)


def test_a_pod_relabelled_between_two_binds_counts_as_it_is_now() -> None:
    state = reserved()
    state.reserve(model_pod(WEB.labels(app="other")), "a", DEADLINE)
    assert (occupied(state), len(state.reservations)) == ([], 1)
    assert room_mismatches(state) == []


def test_a_pod_that_is_relabelled_counts_so_where_it_is_reserved() -> None:
    state = reserved()
    state.upsert_pod(model_pod(WEB.labels(app="other")))
    assert (occupied(state), len(state.reservations)) == ([], 1)
    state.upsert_pod(model_pod(WEB))
    assert (occupied(state), len(state.reservations)) == (["a"], 1)
    assert room_mismatches(state) == []


def test_an_unclear_bind_is_held_on_both_nodes() -> None:
    state = reserved()
    state.reserve(model_pod(WEB), "b", DEADLINE)
    assert occupied(state) == ["a", "b"]
    state.upsert_pod(model_pod(WEB.on("b")))
    assert (occupied(state), len(state.reservations)) == (["b"], 0)


def test_a_reserved_pod_is_not_its_own_neighbour() -> None:
    state = reserved()
    with state.without(KEY, UID):
        (union,) = state.prefilter_state(model_pod(WEB).pod_class).anti_affinity
        assert union.domains() is None
    assert occupied(state) == ["a"]


def test_a_reservation_waits_for_its_node_like_a_pod() -> None:
    state = reserved(on="c")
    assert occupied(state) == []
    state.upsert_node(model_node(node("c", {ZONE: "c"})))
    assert occupied(state) == ["c"]


def test_an_older_list_does_not_unbind_a_pod() -> None:
    state = state_of(NODES, [], [WEB.on("a")])
    state.upsert_pod(model_pod(WEB))
    assert occupied(state) == ["a"]


class Binding(RuleBasedStateMachine):
    """Binds, watch events and time in any order; the books always balance."""

    names = st.sampled_from(["web", "db"])
    uids = st.sampled_from(["1", "2"])
    nodes = st.sampled_from(["a", "b", "unknown"])

    def __init__(self) -> None:
        super().__init__()
        self.now = 0.0
        self.state = state_of(NODES, [], [])
        self.state.prefilter_state(model_pod(WEB).pod_class)

    def pod(self, name: str, uid: str) -> Manifest:
        """Build a pod that excludes others of its kind, in any namespace."""
        rule = term(ZONE, selector(app="web"), namespaceSelector={})
        return pod(name).uid(uid).labels(app="web").anti_affinity(rule)

    @rule(name=names, uid=uids, node=nodes, seconds=st.integers(1, 5))
    def reserve(self, name: str, uid: str, node: str, seconds: int) -> None:
        """ExpectedPlacement a node to a pod that is not known to be bound."""
        known = self.state.pods.get(f"default/{name}")
        if known is None or known.uid != uid or known.node is None:
            self.state.reserve(model_pod(self.pod(name, uid)), node, self.now + seconds)

    @precondition(lambda self: len(self.state.reservations) > 0)
    @rule(data=st.data())
    def release(self, data: st.DataObject) -> None:
        """Have a bind refused."""
        self.state.release(self.any_claim(data))

    @precondition(lambda self: len(self.state.reservations) > 0)
    @rule(data=st.data(), seconds=st.integers(1, 5))
    def hold(self, data: st.DataObject, seconds: int) -> None:
        """Have a bind end, well or unclearly."""
        self.state.hold(self.any_claim(data), self.now + seconds)

    @precondition(lambda self: len(self.state.reservations) > 0)
    @rule(data=st.data(), node=st.none() | nodes)
    def settle(self, data: st.DataObject, node: str | None) -> None:
        """Learn from the API server where a pod is."""
        pod = self.any_claim(data).reservation.pod
        self.state.settle(pod, node, self.now + 1)
        assert {each.pod.node for each in self.state.reservations.of(pod.key, pod.uid)} <= {node}

    def any_claim(self, data: st.DataObject) -> Claim:
        """Choose a bind whose place is reserved."""
        claims = [claim for each in self.state.reservations for claim in each.claims]
        return claims[data.draw(st.integers(0, len(claims) - 1))]

    @rule(name=names, uid=uids, node=st.none() | nodes, terminal=st.booleans())
    def watch(self, name: str, uid: str, node: str | None, *, terminal: bool) -> None:
        shown = self.pod(name, uid)
        if node is not None:
            shown = shown.on(node)
        self.state.upsert_pod(model_pod(shown.phase("Succeeded") if terminal else shown))

    @rule(name=names, uid=uids)
    def remove(self, name: str, uid: str) -> None:
        self.state.remove_pod(f"default/{name}", uid)

    @rule(seconds=st.integers(0, 3))
    def pass_time(self, seconds: int) -> None:
        self.now += seconds
        self.state.expire(self.now)
        assert all(each.deadline > self.now for each in self.state.reservations)

    @rule(name=names, uid=uids)
    def leave_out(self, name: str, uid: str) -> None:
        """Judge a pod without itself: nothing of it may be left in any count."""
        key = f"default/{name}"
        others = [each for each in self.state.placed_pods if (each.key, each.uid) != (key, uid)]
        with self.state.without(key, uid):
            counted = sum(sum(each.on_nodes.values()) for each in self.state.placed_classes)
            assert counted == len(others)

    @invariant()
    def the_books_balance(self) -> None:
        """Compare every counter with a recount."""
        assert mismatches(self.state) == []
        assert room_mismatches(self.state) == []

    @invariant()
    def no_promise_outlives_its_fulfilment(self) -> None:
        """A pod that the watch has shown on a node needs no reservation."""
        bound: list[Pod] = [each for each in self.state.pods.values() if each.node is not None]
        assert all(not self.state.reservations.of(each.key, each.uid) for each in bound)

    @invariant()
    def every_reservation_is_claimed_and_counted_once(self) -> None:
        """One that nobody claims would be kept for ever."""
        held = [(each.pod.key, each.pod.uid, each.pod.node) for each in self.state.reservations]
        assert len(held) == len({*held}) == len(self.state.reservations)
        assert all(each.claims for each in self.state.reservations)


TestBinding = pytest.mark.thorough(Binding.TestCase)
