"""Domains that are held for a pod that an extender evicts less important ones for."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

import pytest

from extender.core.cluster.ledgers.nominated_pods import MOST_HELD_SECONDS, NominationLedger
from extender.core.cluster.state import ClusterState
from extender.core.model.disruption import Victims
from extender.core.model.verdict import AnyReason, Reason
from extender.core.verbs.filtering import judge
from extender.core.verbs.nominating import Chooser
from extender.core.verbs.victims import on_node
from simulation.invariants.recount import mismatches
from tests.annotating import REQUIRED, annotated
from tests.beside import LIMITS
from tests.builders import HOST, ZONE, Pod, model_pod, node, pod, selector, state_of, term
from tests.verbs.judging import AFFINITY, chosen_of

ROOM = {"pods": "10"}
NODES = [
    node("a1", {HOST: "a1", ZONE: "a"}, ROOM),
    node("a2", {HOST: "a2", ZONE: "a"}, ROOM),
    node("b1", {HOST: "b1", ZONE: "b"}, ROOM),
    node("bare", {}, ROOM),
]
NAMES = ["a1", "a2", "b1", "bare"]
LOW, MIDDLE, HIGH = 10, 20, 30
WEB = selector(app="web")
APART = term(ZONE, WEB)
PREEMPTOR = pod("preemptor").labels(app="web").priority(HIGH).anti_affinity(APART)
UID = "default-preemptor"
UID_OF_VICTIM = "default-victim"
OWN, THEIRS = Reason.ANTI_AFFINITY, Reason.EXISTING_ANTI_AFFINITY


def web(name: str = "web", priority: int = LOW) -> Pod:
    """Build a replica of the victim's workload."""
    return pod(name).labels(app="web").priority(priority).anti_affinity(APART)


def victim(name: str = "victim", on: str = "a1", of: str = UID) -> Pod:
    """Build a pod that is marked to go for the preemptor, as this program marks pods."""
    return web(name).on(on).preempted(of)


def held(*others: Pod) -> ClusterState:
    """Return a cluster in which the only victim has just gone."""
    state = state_of(NODES, [], [PREEMPTOR.nominated("a1"), victim(), *others])
    state.remove_pod("default/victim", "default-victim")
    return state


def refusals(state: ClusterState, asks: Pod) -> dict[str, AnyReason]:
    """Return the reason of each node that is refused."""
    found = judge(state, model_pod(asks), state.nodes.asked(NAMES), AFFINITY).refused
    assert mismatches(state) == []
    return {name: reason for reason, names in found for name in names}


IN_ZONE_A = {"a1": OWN, "a2": OWN}


@pytest.mark.parametrize(
    ("asks", "expected"),
    [
        pytest.param(web(), IN_ZONE_A, id="the victim's successor goes to no other node there"),
        pytest.param(
            pod("plain").labels(app="web").priority(LOW),
            {"a1": THEIRS, "a2": THEIRS},
            id="so it is where only the preemptor has a rule",
        ),
        pytest.param(
            pod("shy").priority(LOW).anti_affinity(APART),
            IN_ZONE_A,
            id="and where only the other has",
        ),
        pytest.param(web(priority=HIGH), {"a1": OWN}, id="an equal yields on the node alone"),
        pytest.param(web(priority=HIGH + 1), {}, id="a more important one yields nowhere"),
        pytest.param(pod("other").labels(app="db"), {}, id="no rule is about it"),
        pytest.param(
            pod("near").labels(app="db").affinity(APART),
            dict.fromkeys(NAMES, Reason.AFFINITY),
            id="nobody is near a pod that is not there yet",
        ),
    ],
)
def test_the_domain_is_held_against_less_important_pods(
    asks: Pod, expected: dict[str, Reason]
) -> None:
    assert refusals(held(), asks) == expected


def test_what_holds_a_domain_is_looked_at_by_hints_and_preemption() -> None:
    state, asks = held(web("rival").priority(0).on("a2")), model_pod(web())
    state.remove_pod("default/rival", "default-rival")
    chosen = {
        Chooser(state, AFFINITY).choose(asks, avoid=(), placements=(), chance=chance / 8)
        for chance in range(8)
    }
    assert chosen == {"b1", "bare"}


def test_nobody_is_evicted_in_a_domain_that_is_held() -> None:
    lesser = pod("lesser").labels(app="web").priority(0).on("a2")
    state, asks = held(lesser), model_pod(web())
    assert on_node(state, asks, AFFINITY, "a2") is None
    proposed = {"a2": Victims(["default-lesser"], 0)}
    assert chosen_of(state, asks, proposed, AFFINITY, may_be_empty=False) == {}


def test_a_limit_counts_who_holds_a_domain() -> None:
    rule = {"podAntiAffinity": {REQUIRED: [{**APART, "maxMatchingPods": 2}]}}
    both = (*AFFINITY, *LIMITS)

    def limited(each: Pod) -> Pod:
        return Pod(annotated(each.labels(app="web"), rule))

    there = [limited(pod("there").priority(LOW).on("a2")), limited(victim())]
    preemptor = limited(pod("preemptor").priority(HIGH).nominated("a1"))
    state = state_of(NODES, [], [preemptor, *there])
    state.remove_pod("default/victim", "default-victim")
    asks = limited(pod("successor").priority(LOW))
    found = judge(state, model_pod(asks), state.nodes.asked(NAMES), both).refused
    assert {name for _, names in found for name in names} == {"a1", "a2"}
    equal = limited(pod("equal").priority(HIGH))
    found = judge(state, model_pod(equal), state.nodes.asked(NAMES), both).refused
    assert {name for _, names in found for name in names} == {"a1"}


# What begins it


@pytest.mark.parametrize(
    "pods",
    [
        pytest.param([PREEMPTOR.nominated("a1"), victim()], id="the nomination comes first"),
        pytest.param(
            [victim(), PREEMPTOR.nominated("a1")], id="the mark comes first, as in a list"
        ),
    ],
)
def test_marks_begin_it_in_every_replica_and_after_a_restart(pods: list[Pod]) -> None:
    state = state_of(NODES, [], [])
    before = state.version
    for each in pods:
        state.upsert_pod(model_pod(each))
    assert state.version > before
    assert [each.uid for each in state.nominated.preempting] == [UID]
    state.remove_pod("default/victim", "default-victim")
    assert refusals(state, web()) == IN_ZONE_A


@pytest.mark.parametrize(
    "there",
    [
        pytest.param(victim(of="other"), id="a victim of another"),
        pytest.param(victim(on="b1"), id="one on another node"),
        pytest.param(
            web("victim").on("a1").preempted(),
            id="one of the scheduler's",
        ),
        pytest.param(victim().phase("Failed"), id="one that has ended"),
    ],
)
def test_nothing_else_begins_it(there: Pod) -> None:
    state = state_of(NODES, [], [PREEMPTOR.nominated("a1"), there])
    assert not state.nominated.preempting


def test_it_is_held_by_whom_we_nominate_before_anything_is_shown() -> None:
    state = state_of(NODES, [], [PREEMPTOR])
    state.expect_nomination(model_pod(PREEMPTOR), "a1", 2.0)
    assert not state.nominated.preempting, "a hint holds no domain"
    before = state.version
    state.expect_nomination(model_pod(PREEMPTOR), "a1", 2.0, held=True)
    assert state.version > before
    assert refusals(state, web()) == IN_ZONE_A


@pytest.mark.parametrize(
    ("then", "expected"),
    [
        pytest.param([], {}, id="which no watch shows: for as long as it is expected"),
        pytest.param([PREEMPTOR.nominated("a1")], IN_ZONE_A, id="which the watch shows"),
        pytest.param([PREEMPTOR.nominated("a1"), PREEMPTOR], {}, id="which is wiped out"),
        pytest.param(
            [PREEMPTOR.nominated("a1"), PREEMPTOR, PREEMPTOR.nominated("a1")],
            IN_ZONE_A,
            id="which is wiped out for a moment",
        ),
        pytest.param([PREEMPTOR.nominated("b1")], {"b1": OWN}, id="which gives way to another"),
        pytest.param([PREEMPTOR.on("b1")], {"b1": OWN}, id="of a pod that is bound elsewhere"),
    ],
)
def test_it_is_held_by_a_nomination_of_the_schedulers(
    then: list[Pod], expected: dict[str, AnyReason]
) -> None:
    state = state_of(NODES, [], [PREEMPTOR])
    state.expect_nomination(model_pod(PREEMPTOR), "a1", 2.0, holds_domains=True)
    assert refusals(state, web()) == IN_ZONE_A
    for each in then:
        state.upsert_pod(model_pod(each))
    state.expire(2.0)
    assert refusals(state, web()) == expected


def test_its_time_is_limited_too() -> None:
    state = state_of(NODES, [], [PREEMPTOR])
    state.expect_nomination(model_pod(PREEMPTOR), "a1", 2.0, holds_domains=True)
    state.upsert_pod(model_pod(PREEMPTOR.nominated("a1")))
    for now in (2.0, 2.0 + MOST_HELD_SECONDS):
        state.expire(now)
    assert refusals(state, web()) == {"a1": OWN}


def test_its_time_runs_only_while_it_holds_any() -> None:
    state = held()
    state.give_up_nomination(UID)
    for now in (2.0, 2.0 + MOST_HELD_SECONDS):
        state.expire(now)
        assert not state.nominated.preempting
    state.expect_nomination(model_pod(PREEMPTOR), "a1", 2.0 * MOST_HELD_SECONDS, held=True)
    state.expire(3.0 + MOST_HELD_SECONDS)
    assert state.nominated.preempting


# What ends it


@pytest.mark.parametrize(
    "end",
    [
        pytest.param(lambda state: state.upsert_pod(model_pod(PREEMPTOR.on("b1"))), id="bound"),
        pytest.param(lambda state: state.remove_pod("default/preemptor", UID), id="deleted"),
        pytest.param(
            lambda state: state.upsert_pod(model_pod(PREEMPTOR.nominated("a1").being_deleted())),
            id="being deleted, which a finalizer may make last",
        ),
        pytest.param(
            lambda state: state.upsert_pod(model_pod(PREEMPTOR.nominated("b1"))),
            id="nominated to another node",
        ),
        pytest.param(
            lambda state: state.upsert_pod(model_pod(PREEMPTOR)), id="the nomination is withdrawn"
        ),
        pytest.param(lambda state: state.give_up_nomination(UID), id="we give it up"),
        pytest.param(
            lambda state: [state.expire(now) for now in (1.0, 1.0 + MOST_HELD_SECONDS)],
            id="its time is over",
        ),
    ],
)
def test_it_ends(end: object) -> None:
    assert callable(end)
    state = held()
    assert state.nominated.preempting
    before = state.version
    end(state)
    assert not state.nominated.preempting
    assert state.version > before


def test_its_time_does_not_begin_anew_with_the_next_event() -> None:
    state = state_of(NODES, [], [PREEMPTOR.nominated("a1"), victim()])
    state.expire(1.0)
    state.expire(1.0 + MOST_HELD_SECONDS)
    state.upsert_pod(model_pod(victim().labels(edited="yes")))
    state.upsert_pod(model_pod(PREEMPTOR.nominated("a1").labels(edited="yes")))
    assert not state.nominated.preempting


@pytest.mark.parametrize("seed", range(40))
def test_one_pod_holds_domains_for_so_long_in_all(seed: int) -> None:
    """Whatever becomes of its nominations, of its victims and of what we begin and give up."""
    chance = Random(seed)
    state = state_of(NODES, [], [PREEMPTOR])
    now = 0.0
    shown = [PREEMPTOR, *(PREEMPTOR.nominated(name) for name in ("a1", "a1", "b1"))]
    acts: list[Callable[[], None]] = [
        lambda: state.upsert_pod(model_pod(chance.choice(shown))),
        lambda: state.upsert_pod(model_pod(victim(on=chance.choice(["a1", "b1"])))),
        lambda: state.remove_pod("default/victim", UID_OF_VICTIM),
        lambda: state.expect_nomination(
            model_pod(PREEMPTOR), chance.choice(["a1", "b1"]), now + 3.0, held=True
        ),
        lambda: state.give_up_nomination(UID),
    ]
    holds = 0
    for second in range(int(4 * MOST_HELD_SECONDS)):
        now = float(second)
        for _ in range(chance.randrange(3)):
            chance.choice(acts)()
        state.expire(now)
        holds += bool(state.nominated.preempting)
    assert holds <= MOST_HELD_SECONDS + 1
    assert holds > MOST_HELD_SECONDS / 2
    # One of the same name is another pod.
    state.remove_pod("default/preemptor", UID)
    state.upsert_pod(model_pod(PREEMPTOR.uid("again")))
    state.expect_nomination(model_pod(PREEMPTOR.uid("again")), "a1", now + 3.0, held=True)
    assert state.nominated.preempting


def test_a_place_that_is_taken_is_held_no_more() -> None:
    state = held()
    state.reserve(model_pod(PREEMPTOR), "b1", 1.0)
    assert set(refusals(state, web())) == {"b1"}


def test_nothing_is_remembered_of_pods_that_are_gone() -> None:
    state = state_of(NODES, [], [])
    for number in range(50):
        name = f"p{number}"
        waits = model_pod(pod(name))
        state.expect_nomination(waits, "a1", 2.0, held=True)
        if number % 2:
            state.upsert_pod(waits)
            state.remove_pod(f"default/{name}", f"default-{name}")
    state.expire(3.0)
    assert isinstance(state.nominated, NominationLedger)
    assert state.nominated.is_empty
