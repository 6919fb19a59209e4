"""Rules of placed pods that are many or long: no question goes through all of their terms."""

from __future__ import annotations

from collections.abc import Callable
from itertools import islice

import pytest

from extender.cluster.audits.violations import patrol
from extender.cluster.counts.large_rules import LOOK_UP, MANY_TERMS, are_large
from extender.cluster.state import ClusterState
from extender.cluster.view import AT_ONCE
from extender.model import memory
from extender.model.conjunctions import MOST_ENTRIES
from extender.model.objects import PodClass
from extender.verbs.explaining.explain import explanation_of
from extender.verbs.explaining.explanation import Question
from extender.verbs.filtering import judge
from extender.verbs.inter_pod_affinity import InterPodAffinity
from extender.verbs.interaction import repelled_keys
from extender.warm_up import AT_MOST
from simulation.invariants.recount import mismatches
from tests.builders import (
    HOST,
    Json,
    Pod,
    model_namespace,
    model_node,
    model_pod,
    namespace,
    node,
    pod,
    requirement,
    term,
)
from tests.calls import calls_during
from tests.hostile import crowded, narrow, unlike_anything

TERMS = 400
PLACED = 50
PLAIN = pod("new", "ns1").labels(app="new")
PLUGIN = InterPodAffinity()


def unlike(number: int) -> list[Json]:
    """Build terms that no other pod has, which are about nearly everybody."""
    found = [requirement("app", "NotIn", f"x{number}-{each}") for each in range(TERMS)]
    return [term(HOST, {"matchExpressions": [each]}, namespaceSelector={}) for each in found]


def apart(number: int) -> Pod:
    return pod(f"h{number}", "ns0").labels(app="h").anti_affinity(*unlike(number))


def near(number: int) -> Pod:
    return pod(f"h{number}", "ns0").labels(app="h").affinity(*unlike(number))


def preferring(number: int) -> Pod:
    return pod(f"h{number}", "ns0").labels(app="h").prefers(3, *unlike(number))


def long(number: int) -> Pod:
    conditions = [requirement(f"k{number}-{each}", "DoesNotExist") for each in range(TERMS)]
    rule = term(HOST, {"matchExpressions": conditions}, namespaceSelector={})
    return pod(f"h{number}", "ns0").labels(app="h").anti_affinity(rule)


def placed(state: ClusterState, raw: Pod, number: int) -> None:
    state.upsert_pod(model_pod(raw.on(f"n{number % 20}")))


@pytest.fixture
def state() -> ClusterState:
    return crowded(classes=6, pods=24, nodes=20)


def class_of(raw: Pod) -> PodClass:
    return model_pod(raw).pod_class


def calls_of(state: ClusterState, raw: Pod) -> int:
    """Answer filter and prioritize about a pod; return how many Python functions were called."""
    asked, read = state.nodes.asked([f"n{n}" for n in range(20)]), model_pod(raw)

    def answer() -> None:
        judge(state, read, asked, [PLUGIN])
        scores = PLUGIN.prepare(state, read)
        if scores is not None:
            scores.raw(asked)

    return calls_during(answer)[1]


@pytest.mark.thorough
@pytest.mark.parametrize("kind", [apart, near, preferring, long])
def test_a_pod_beside_many_large_ones_is_prepared_in_slices(
    state: ClusterState, kind: Callable[[int], Pod]
) -> None:
    for number in range(PLACED):
        placed(state, kind(number), number)
    asked = model_pod(PLAIN)
    steps = list(state.preparing(asked.pod_class, AT_MOST.slice))
    assert sum(steps) >= PLACED, "each is compared with"
    assert max(steps) <= AT_MOST.slice + TERMS + LOOK_UP
    assert sum(state.preparing(asked.pod_class, AT_MOST.slice)) == 0
    assert calls_of(state, PLAIN) < 40 * PLACED, "not every term"


def test_one_more_large_pod_is_compared_alone(state: ClusterState) -> None:
    for number in range(PLACED):
        placed(state, near(number), number)
    asked = class_of(PLAIN)
    list(state.preparing(asked, AT_MOST.slice))
    placed(state, near(PLACED), PLACED)
    assert 0 < sum(state.preparing(asked, AT_MOST.slice)) <= 2 * TERMS + LOOK_UP
    state.remove_pod("ns0/h0", "ns0-h0")
    assert sum(state.preparing(asked, AT_MOST.slice)) == 0, "what goes costs nothing"


@pytest.mark.parametrize("change", ["labels of its namespace", "a label key that no node had"])
def test_what_was_found_out_is_true_as_long_as_it_is_kept(state: ClusterState, change: str) -> None:
    spaces = {"matchLabels": {"team": "t1"}}
    rules = [
        term(key, {}, namespaceSelector=spaces) for key in (HOST, "rack") for _ in range(TERMS)
    ]
    placed(state, pod("h", "ns0").anti_affinity(*rules), 0)
    asked = state.nodes.asked(["n0", "n20"])
    refused = {name for _, names in judge(state, model_pod(PLAIN), asked, [PLUGIN]).refused
               for name in names}  # fmt: skip
    assert refused == {"n0", "n20"}, "the second is unknown"
    if change.startswith("labels"):
        state.upsert_namespace(model_namespace(namespace("ns1", {"team": "other"})))
    else:
        for name in ("n0", "n20"):
            state.upsert_node(model_node(node(name, {HOST: name, "rack": "r"})))
    asked = state.nodes.asked(["n0", "n20"])
    fits = judge(state, model_pod(PLAIN), asked, [PLUGIN]).fits.names
    assert list(fits) == (["n0"] if change.startswith("labels") else [])


@pytest.mark.thorough
def test_pods_with_the_same_rules_share_them(state: ClusterState) -> None:
    before = len(state.existing_terms)
    for number in range(PLACED):
        raw = pod(f"h{number}", "ns0").labels(pod_name=f"h{number}").anti_affinity(*unlike(0))
        placed(state, raw, number)
    assert len(state.existing_terms) == before + TERMS
    assert state.existing_terms.most_large == 1
    assert mismatches(state) == []


def test_what_is_known_of_rules_that_are_gone_is_forgotten(state: ClusterState) -> None:
    asked = class_of(PLAIN)
    for number in range(PLACED):
        placed(state, near(number), number)
        list(state.preparing(asked, AT_MOST.slice))
        state.remove_pod(f"ns0/h{number}", f"ns0-h{number}")
    placed(state, near(PLACED), 0)
    list(state.preparing(asked, AT_MOST.slice))
    matches = state._prefilter_states.large_matches
    assert len(matches._of(asked).matched) <= 3


def test_what_is_known_is_bounded(state: ClusterState, monkeypatch: pytest.MonkeyPatch) -> None:
    budget = 64 << 10
    monkeypatch.setattr(memory, "LARGE_MATCHES", budget)
    state = crowded(classes=6, pods=24, nodes=20)
    for number in range(5):
        placed(state, near(number), number)
    for number in range(200):
        list(state.preparing(class_of(pod(f"new-{number}").labels(app=f"{number}")), AT_MOST.slice))
    known = state._prefilter_states.large_matches._known
    assert 0 < len(known) < 200
    assert known.size <= budget


def test_from_how_many_on_rules_are_large() -> None:
    def rules(terms: list[Json]) -> bool:
        return are_large(class_of(pod("x").anti_affinity(*terms)).affinity)

    assert (rules(narrow(MANY_TERMS)), rules(narrow(MANY_TERMS + 1))) == (False, True)
    assert not rules(unlike_anything(MANY_TERMS))
    assert are_large(class_of(long(0)).affinity)
    values = [f"v{number}" for number in range(MOST_ENTRIES + 1)]
    wide = (rules([term(HOST, {"matchExpressions": [requirement("app", "In", *values[:number])]})])
            for number in (MOST_ENTRIES, MOST_ENTRIES + 1))  # fmt: skip
    assert (*wide,) == (False, True)


def test_an_explanation_tells_pods_with_the_same_terms_apart(state: ClusterState) -> None:
    """What two pods have in common is about the pod; they differ in what is not."""
    others = [term(HOST, {"matchLabels": {"app": f"other-{n}"}}) for n in range(2)]
    for number in range(2):
        raw = pod(f"h{number}", "ns1").anti_affinity(*unlike(0), others[number])
        state.upsert_pod(model_pod(raw.on(f"n{number}")))
    found = explanation_of(state, Question(model_pod(PLAIN), ["n0", "n1", "n2"], [PLUGIN]))
    assert sorted(
        (each.nodes, [blocker.key for blocker in each.pods]) for each in found.refusals
    ) == [(["n0"], ["ns1/h0"]), (["n1"], ["ns1/h1"])]


def test_patrol_looks_at_one_pods_rules_at_a_time(state: ClusterState) -> None:
    placed(state, apart(0), 0)
    few = len(list(patrol(state, 1)))
    for number in range(1, PLACED):
        placed(state, apart(number), number)
    assert len(list(patrol(state, 1))) > few + PLACED


def test_terms_that_are_taken_apart_in_steps_count_once_they_are_placed(
    state: ClusterState,
) -> None:
    read = model_pod(apart(0).on("n0"))
    steps = state.taking_up(read)
    next(steps)
    assert list(state.existing_terms.large) == [], "not before all terms are there"
    asked = state.nodes.asked(["n0", "n1"])
    state.upsert_pod(read)
    assert list(judge(state, model_pod(PLAIN), asked, [PLUGIN]).fits.names) == ["n1"]
    list(steps)
    state.remove_pod(read.key, read.uid)
    assert state.existing_terms.most_large == 1, "held by who began, until the next event"
    placed(state, PLAIN, 0)
    assert state.existing_terms.most_large == 0
    assert mismatches(state) == []


@pytest.mark.parametrize("kind", [apart, near, long])
def test_what_placed_rules_exclude_is_what_their_terms_do(
    state: ClusterState, kind: Callable[[int], Pod]
) -> None:
    owner, other = class_of(kind(0)), class_of(PLAIN)
    before = repelled_keys(state, owner, other)
    placed(state, kind(0), 0)
    asked = class_of(PLAIN)
    list(state.preparing(asked, AT_MOST.slice))
    assert repelled_keys(state, owner, asked) == before
    assert before == (frozenset() if kind is near else frozenset({HOST}))


def test_who_asks_next_does_not_pay_for_what_others_left_behind(state: ClusterState) -> None:
    for number in range(PLACED):
        placed(state, apart(number), number)
    for number in range(PLACED):
        state.remove_pod(f"ns0/h{number}", f"ns0-h{number}")
    asking = class_of(pod("x", "ns1").anti_affinity(term(HOST, {})))
    assert sum(state.preparing(asking, AT_MOST.slice)) < TERMS
    assert state.do_deferred() > TERMS, "that is done by and by"


def test_rules_that_an_index_finds_are_looked_up_in_slices_as_well(state: ClusterState) -> None:
    for number in range(1000):
        rules = [
            term(HOST, {"matchLabels": {"app": f"{number}-{n}"}}) for n in range(MANY_TERMS + 1)
        ]
        placed(state, pod(f"p{number}", "ns2").anti_affinity(*rules), number)
    asked = model_pod(PLAIN)
    steps = list(state.preparing(asked.pod_class, AT_MOST.slice))
    assert sum(steps) > AT_ONCE
    assert max(steps) <= AT_MOST.slice
    assert sum(state.preparing(asked.pod_class, AT_MOST.slice)) == 0


def test_preempt_unites_no_tables_for_each_candidate(state: ClusterState) -> None:
    for number in range(300):
        unlike_it = {"matchExpressions": [requirement("app", "NotIn", f"x{number}")]}
        placed(state, pod(f"p{number}", "ns1").anti_affinity(term(HOST, unlike_it)), number)
    asked = model_pod(PLAIN)
    judge(state, asked, state.nodes.asked([f"n{number}" for number in range(20)]), [PLUGIN])
    (union,) = state.prefilter_state(asked.pod_class).existing_anti_affinity
    before = union._versions
    for number in range(20):
        name, there = f"n{number}", state.pods_on(f"n{number}")
        one = state.nodes.asked([name])
        assert not judge(state, asked, one, [PLUGIN], gone=there[:-1]).fits.names
        assert judge(state, asked, one, [PLUGIN], gone=there).fits.names == [name]
    assert union._versions == before, "it was not made anew"


def test_rules_of_a_usual_workload_are_not_looked_at_one_by_one(state: ClusterState) -> None:
    for number in range(500):
        rules = [term(HOST, {"matchLabels": {"app": f"{number}-{n}"}}) for n in range(6)]
        placed(state, pod(f"p{number}", "ns2").anti_affinity(*rules), number)
    asked = model_pod(PLAIN)
    assert sum(state.preparing(asked.pod_class, AT_MOST.slice)) == 0
    assert calls_of(state, PLAIN) < 2_000, "four for each of those workloads is too much"


def test_pages_of_terms_pass_over_large_rules(state: ClusterState) -> None:
    for number in range(PLACED):
        placed(state, apart(number), number)
    terms, every = state.existing_terms, [each.number for each in state.existing_terms]
    assert every == sorted(every)
    for number in (0, every[0], every[1], every[-TERMS] - 1, every[-TERMS], every[-1] - 1):
        following = [each for each in every if each > number]
        assert [each.number for each in islice(terms.after(number), 2)] == following[:2]
    assert calls_during(lambda: next(terms.after(every[-1] - 1)))[1] < 10 * PLACED
    assert not list(terms.after(every[-1]))
