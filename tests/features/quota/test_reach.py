"""Rules in annotations count for other namespaces only as far as the quotas of their own allow."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from extender.core.cluster.state import ClusterState
from extender.core.model.labels import EVERYTHING, Selector
from extender.features.quota.ledger import book, quotas_of
from simulation.invariants.features.quota import mismatches
from tests.annotating import REQUIRED, annotated, stored
from tests.beside import covering
from tests.builders import (
    ZONE,
    Pod,
    crossing,
    model_namespace,
    model_pod,
    namespace,
    pod,
    put,
    quota,
    selector,
    term,
)
from tests.cluster import test_annotation_scope as scope
from tests.cluster.test_annotation_scope import (
    BATCH,
    CHOSEN,
    EVERYBODY,
    IN_ASSIST,
    JOB,
    PLAIN,
    PLUGINS,
    VICTIM,
    bare,
    on,
)
from tests.features.quota.limits import model_quota

if TYPE_CHECKING:
    from collections.abc import Mapping


def state_of(
    *pods: Mapping[str, Any], annotations: Selector = EVERYTHING, limited: bool = False
) -> ClusterState:
    """Return a cluster of three zones, where reaching out needs a quota or not."""
    state = ClusterState(scope=covering(annotations))
    book(state, limited=limited)
    return scope.filled(state, *pods)


def fits(state: ClusterState, incoming: Mapping[str, Any], *, plugins: Any = PLUGINS) -> str:
    """Return the nodes that a pod may go to; the use of quotas is sound whenever one asks."""
    assert mismatches(state) == []
    return scope.fits(state, incoming, plugins=plugins)


@pytest.mark.parametrize("limited", [False, True])
def test_what_exceeds_a_quota_is_nothing_to_other_namespaces(*, limited: bool) -> None:
    rules = [annotated(bare(name), BATCH) for name in "ab"]
    own = pod("job", "tenant").labels(app="batch")
    state = state_of(on(rules[0], "a"), limited=limited)
    assert fits(state, JOB) == ("abc" if limited else "bc")
    one = model_quota(quota("crossing", {"pods": "1"}, crossing(), namespace_name="tenant"))
    quotas_of(state).upsert(one)
    assert fits(state, JOB) == "bc"
    state.upsert_pod(model_pod(on(rules[1], "b")))
    assert (fits(state, JOB), fits(state, own)) == ("abc", "c")
    state.remove_pod("tenant/plain-b", "tenant-plain-b")
    assert fits(state, JOB) == "bc"
    quotas_of(state).upsert(replace(one, hard={"pods": 0}))
    assert fits(state, JOB) == "abc"
    quotas_of(state).remove(one.key, one.uid)
    assert fits(state, JOB) == ("abc" if limited else "bc")


@pytest.mark.parametrize("plugins", [PLUGINS, IN_ASSIST], ids=["replace", "assist"])
def test_without_a_quota_a_nominated_pod_keeps_away_pods_of_its_own_namespace_alone(
    *, plugins: Any
) -> None:
    state = state_of(Pod(annotated(bare("held"), BATCH)).nominated("a").priority(9), limited=True)
    own = pod("job", "tenant").labels(app="batch")
    assert fits(state, own, plugins=plugins) == "bc"
    assert fits(state, JOB, plugins=plugins) == "abc"
    put(state, quota("one", {"pods": "1"}, crossing(), namespace_name="tenant"))
    assert fits(state, JOB, plugins=plugins) == "bc"


def test_a_pod_beyond_the_quota_is_refused_though_the_api_server_does_not_see_it() -> None:
    state = state_of()
    put(state, quota("none", {"pods": "0"}, crossing(), namespace_name="tenant"))
    assert fits(state, annotated(bare("new"), BATCH)) == ""
    inside = {"podAntiAffinity": {REQUIRED: [term(ZONE, selector(app="batch"))]}}
    assert fits(state, annotated(bare("new"), inside)) == "abc"
    # That one the API server has let through already.
    spec = bare("new").anti_affinity(*BATCH["podAntiAffinity"][REQUIRED])
    assert fits(state, spec) == "abc"
    # An edit that goes beyond it does not count, and is seen.
    for each in PLAIN:
        state.upsert_pod(model_pod(stored(annotated(each, EVERYBODY))))
    assert fits(state, VICTIM) == "abc"
    assert dict(quotas_of(state).used("tenant/none")) == {"pods": 3 * 10**9}


def test_quotas_count_annotations_only_where_these_count() -> None:
    state = state_of(on(annotated(bare("a"), BATCH), "a"), annotations=CHOSEN)
    put(state, quota("some", {"pods": "5"}, crossing(), namespace_name="tenant"))
    for labels, used in (({"rules": "on"}, {"pods": 10**9}), ({}, {})):
        state.upsert_namespace(model_namespace(namespace("tenant", labels)))
        assert dict(quotas_of(state).used("tenant/some")) == used
        assert quotas_of(state).pods == len(used)
        assert mismatches(state) == []


@pytest.mark.parametrize("limited", [False, True])
def test_rules_that_come_to_count_reach_as_far_as_the_quota_allows(*, limited: bool) -> None:
    rules = on(annotated(bare("a"), BATCH), "a")
    state = state_of(rules, annotations=CHOSEN, limited=limited)
    for most, nodes in (("0", "abc"), ("1", "bc")):
        put(state, quota("one", {"pods": most}, crossing(), namespace_name="tenant"))
        for labels in ({"rules": "on"}, {}, {"rules": "on"}):
            state.upsert_namespace(model_namespace(namespace("tenant", labels)))
            assert fits(state, JOB) == (nodes if labels else "abc")


def test_a_pod_that_may_turn_up_on_two_nodes_uses_a_quota_once() -> None:
    state = state_of(Pod(annotated(bare("job-0"), BATCH)))
    one = {"pods": "1"}
    put(state, quota("one", one, crossing(), namespace_name="tenant"))
    (waiting,) = state.waiting_pods
    unclear = state.reserve(waiting, "a", 180.0)
    state.hold(unclear, 180.0)
    assert fits(state, JOB) == "bc"
    again = state.reserve(waiting, "b", 180.0)
    assert (fits(state, JOB), quotas_of(state).used("tenant/one")) == ("c", {"pods": 10**9})
    assert [*quotas_of(state).audit()][-1] is None
    state.release(again)
    assert (fits(state, JOB), quotas_of(state).used("tenant/one")) == ("bc", {"pods": 10**9})
    state.upsert_pod(model_pod(on(annotated(bare("job-0"), BATCH), "b")))
    assert (fits(state, JOB), quotas_of(state).used("tenant/one")) == ("ac", {"pods": 10**9})
    state.remove_pod(waiting.key, waiting.uid)
    assert (fits(state, JOB), quotas_of(state).pods) == ("abc", 0)
