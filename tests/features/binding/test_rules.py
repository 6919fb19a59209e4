"""Binds are judged against what is placed or reserved by now."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest

from extender.core.cluster.ledgers.reservations import Claim, Reservation
from extender.core.cluster.state import ClusterState
from extender.core.model.verdict import Reason
from extender.core.verbs.filtering import concerned
from extender.core.verbs.inter_pod_affinity import InterPodAffinity
from extender.core.verbs.plugins import Plugins
from extender.features.binding import rules as module
from extender.features.binding.rules import Decision, Support, may_bind, unconfirmed_support
from tests.annotating import REQUIRED, annotated
from tests.builders import (
    ZONE,
    Pod,
    model_node,
    model_pod,
    namespace,
    node,
    pod,
    selector,
    state_of,
    term,
)
from tests.verbs.judging import AFFINITY
from tests.verbs.test_concerned import CLUSTERS, IN_MODES, NAMES, some_cluster
from tests.verbs.test_held_domains import held, web
from tests.verbs.test_nominated_pods import APART, waiting
from tests.verbs.test_nominated_pods import NODES as ZONES

NODES = [node("a", {ZONE: "a"}), node("a2", {ZONE: "a"}), node("b", {ZONE: "b"})]
WEB = selector(app="web")
LONER = pod("loner").labels(app="web").anti_affinity(term(ZONE, WEB))


def cluster(*pods: Pod) -> ClusterState:
    """Build two zones with some pods."""
    return state_of(NODES, [namespace("default")], pods)


def other() -> Pod:
    """Build a second pod that excludes the first."""
    return pod("other").labels(app="web").anti_affinity(term(ZONE, WEB))


def test_a_node_that_is_free_is_bound() -> None:
    assert may_bind(cluster(), model_pod(LONER), "a", AFFINITY).decision is Decision.BIND


def test_a_reservation_made_since_the_filter_refuses() -> None:
    state = cluster()
    state.reserve(model_pod(other()), "a2", 1)
    verdict = may_bind(state, model_pod(LONER), "a", AFFINITY)
    assert verdict.decision is Decision.REFUSE
    assert verdict.why == "a since the filter call: node(s) didn't match pod anti-affinity rules"


def test_a_pod_does_not_exclude_itself_by_its_own_reservation() -> None:
    state = cluster()
    state.reserve(model_pod(LONER), "a", 1)
    assert may_bind(state, model_pod(LONER), "a2", AFFINITY).decision is Decision.BIND


def test_a_node_that_is_gone_refuses() -> None:
    state = cluster()
    state.remove_node("a")
    verdict = may_bind(state, model_pod(LONER), "a", AFFINITY)
    assert verdict.why == "a since the filter call: node(s) unknown to the extender"


def test_a_node_that_is_not_known_yet_refuses_a_pod_that_no_rule_is_about_too() -> None:
    verdict = may_bind(cluster(), model_pod(pod("plain")), "stranger", AFFINITY)
    assert verdict.decision is Decision.REFUSE


def test_a_pod_that_is_there_already_is_done() -> None:
    state = cluster(LONER.on("a"))
    assert may_bind(state, model_pod(LONER), "a", AFFINITY).decision is Decision.DONE


def test_a_pod_that_is_elsewhere_already_is_refused() -> None:
    state = cluster(LONER.on("a"))
    verdict = may_bind(state, model_pod(LONER), "b", AFFINITY)
    assert (verdict.decision, verdict.why) == (Decision.REFUSE, "the pod is bound to a already")


def test_an_older_pod_of_the_name_says_nothing() -> None:
    state = cluster(pod("loner").uid("old").on("b"))
    assert may_bind(state, model_pod(LONER), "b", AFFINITY).decision is Decision.BIND


def test_whom_the_annotation_alone_asks_for_supports_where_specs_are_not_ours() -> None:
    state, plugins = cluster(), (InterPodAffinity(of_annotations=True),)
    near_db = {"podAffinity": {REQUIRED: [term(ZONE, selector(app="db"))]}}
    asking = model_pod(annotated(pod("asking").affinity(term(ZONE, WEB)), near_db))
    state.reserve(model_pod(pod("db").labels(app="db")), "a", 1)
    assert may_bind(state, asking, "a2", plugins).decision is Decision.BIND
    assert len(unconfirmed_support(state, asking, "a2", plugins)) == 1


@pytest.mark.parametrize(
    ("placed", "incoming", "waits"),
    [
        pytest.param([], LONER, True, id="with a hard rule of its own"),
        pytest.param([LONER.on("a")], pod("web").labels(app="web"), True, id="of others"),
        pytest.param([], pod("plain"), False, id="that no rule is about"),
    ],
)
def test_where_a_picture_is_stale_a_pod_waits(
    placed: list[Pod], incoming: Pod, waits: bool
) -> None:
    state = cluster(*placed)
    state.stale = "too old"
    verdict = may_bind(state, model_pod(incoming), "a", AFFINITY)
    assert verdict.decision is (Decision.REFUSE if waits else Decision.BIND)


def test_what_holds_a_domain_is_looked_at() -> None:
    state, asks = held(web("rival").priority(0).on("a2")), model_pod(web())
    state.remove_pod("default/rival", "default-rival")
    verdict = may_bind(state, asks, "a2", AFFINITY)
    assert (verdict.decision, verdict.reason) == (Decision.REFUSE, Reason.ANTI_AFFINITY)
    assert may_bind(state, asks, "b1", AFFINITY).decision is Decision.BIND


def test_a_bind_is_refused_for_a_pod_nominated_since() -> None:
    state = state_of(ZONES, [], [waiting()])
    verdict = may_bind(state, model_pod(APART), "a1", AFFINITY)
    assert (verdict.decision, verdict.reason) == (Decision.REFUSE, Reason.ANTI_AFFINITY)
    assert may_bind(state, model_pod(APART), "a2", AFFINITY).decision is Decision.BIND


@pytest.mark.parametrize("plugins", IN_MODES.values(), ids=IN_MODES)
def test_whom_filter_lets_pass_unlooked_at_bind_refuses_nowhere(plugins: Plugins) -> None:
    passed = 0
    for seed in range(CLUSTERS):
        dice = random.Random(seed)
        state, asking = some_cluster(dice)
        if not concerned(state, asking, plugins):
            passed += 1
            bound = {may_bind(state, asking, name, plugins).decision for name in NAMES}
            assert bound == {Decision.BIND}, seed
    assert passed > CLUSTERS // 20


def test_who_needs_no_company_is_not_found_out_again_while_nothing_changes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rule = term(ZONE, WEB)
    one, two, far = (pod(name).labels(app="web").affinity(rule) for name in ("one", "two", "far"))
    state, asked = cluster(), list[str]()

    def counted(*args: Any) -> list[Reservation]:
        asked.append(args[1].key)
        return unconfirmed_support(*args)

    monkeypatch.setattr(module, "unconfirmed_support", counted)
    support = Support(state, AFFINITY)
    for each in (one, two):
        state.reserve(model_pod(each), "a", 1)
    assert (support.of(model_pod(one), "a"), support.of(model_pod(two), "a")) == ([], [])
    assert asked == ["default/one"]
    # A pod that may not start the group has to be near one of them.
    worker = model_pod(pod("worker").affinity(rule))
    assert len(support.of(worker, "a")) == 2
    # One of the group is known to be in another zone: so it has begun there.
    claim = state.reserve(model_pod(far), "b", 1)
    state.hold(claim, 1)
    assert support.of(model_pod(two), "a") == []
    state.settle(claim.reservation.pod, "b", 1)
    support.changed()
    assert [each.pod.key for each in support.of(model_pod(two), "a")] == ["default/one"]


class Company:
    """Pods that may be near each other, and what may happen to them."""

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)
        self.state = cluster()
        self.support = Support(self.state, AFFINITY)
        rule = term(ZONE, WEB)
        self.pods = [pod(f"web{n}").labels(app="web") for n in range(3)]
        self.asking = [pod("worker").affinity(rule), self.pods[0].affinity(rule)]
        self.claims: list[Claim] = []
        self.now = 0.0
        self.events: list[Callable[[], None]] = [
            *(self.reserve, self.reserve, self.refuse, self.end_unclear, self.bind, self.doubt),
            *(self.show, self.delete, self.relabel, self.expire),
        ]

    def any_pod(self) -> Pod:
        return self.chance.choice(self.pods)

    def reserve(self) -> None:
        asked = model_pod(self.any_pod())
        if self.state.pod(asked.key, asked.uid) is None:
            place = self.chance.choice("ab")
            self.claims.append(self.state.reserve(asked, place, self.now + 5))

    def refuse(self) -> None:
        for claim in self.claims[:1]:
            self.state.release(claim)
        del self.claims[:1]

    def end_unclear(self) -> None:
        for claim in self.claims[:1]:
            self.state.hold(claim, self.now + 5)

    def bind(self) -> None:
        for claim in self.claims[:1]:
            placed = claim.reservation.pod
            self.state.hold(claim, self.now + 5)
            self.state.settle(placed, placed.node, self.now + 5)
            self.support.changed()

    def doubt(self) -> None:
        for each in self.pods:
            self.state.doubt_bind(model_pod(each))

    def show(self) -> None:
        self.state.upsert_pod(model_pod(self.any_pod().on(self.chance.choice("ab"))))

    def delete(self) -> None:
        gone = model_pod(self.any_pod())
        self.state.remove_pod(gone.key, gone.uid)

    def relabel(self) -> None:
        self.state.upsert_node(model_node(node("b", {ZONE: self.chance.choice("ab")})))

    def expire(self) -> None:
        self.now += 3
        self.state.expire(self.now)


@pytest.mark.parametrize("seed", range(10))
def test_whom_a_pod_waits_for_is_what_is_found_anew_whatever_has_happened(seed: int) -> None:
    it = Company(seed)
    for _ in range(80):
        it.chance.choice(it.events)()
        for asking in map(model_pod, it.asking):
            for place in "ab":
                anew = unconfirmed_support(it.state, asking, place, AFFINITY)
                others = [each for each in anew if each.pod.uid != asking.uid]
                assert it.support.of(asking, place) == others


def test_a_place_reserved_for_one_pod_is_company_to_the_next_like_it() -> None:
    # An earlier bind of the one ended unclearly. The group has begun in another zone.
    rule = term(ZONE, WEB)
    one, two, far = (pod(name).labels(app="web").affinity(rule) for name in ("one", "two", "far"))
    state = cluster(far.on("b"))
    state.reserve(model_pod(one), "a", 1)
    support = Support(state, AFFINITY)
    assert support.of(model_pod(one), "a2") == []
    assert [each.pod.key for each in support.of(model_pod(two), "a2")] == ["default/one"]


def test_a_pod_that_is_nominated_there_is_none_to_wait_for_company_for() -> None:
    asks = pod("asks").affinity(term(ZONE, WEB))
    rival = pod("rival").anti_affinity(term(ZONE, selector(app="asks"))).nominated("a")
    company = [pod(name).labels(app="web") for name in ("there", "comes")]
    state = cluster(company[0].on("a"), rival)
    state.reserve(model_pod(company[1]), "a2", 1)
    asking = model_pod(asks.labels(app="asks"))
    assert may_bind(state, asking, "a", AFFINITY).reason is Reason.EXISTING_ANTI_AFFINITY
    assert unconfirmed_support(state, asking, "a", AFFINITY) == []
