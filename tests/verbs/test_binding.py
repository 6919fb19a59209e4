"""Binds are judged against what is placed or reserved by now."""

from __future__ import annotations

from extender.core.cluster.state import ClusterState
from extender.core.verbs.binding import Decision, may_bind, unconfirmed_support
from extender.core.verbs.inter_pod_affinity import InterPodAffinity
from tests.annotating import REQUIRED, annotated
from tests.builders import (
    ZONE,
    Pod,
    model_pod,
    namespace,
    node,
    pod,
    selector,
    state_of,
    term,
)
from tests.verbs.judging import AFFINITY

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
