"""Each event leaves counters that equal a recount, and says what it should."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import pytest

from extender.core.cluster.counts.count_tables import versions
from extender.core.cluster.counts.pod_sets import MANY_TERMS
from extender.core.cluster.state import ClusterState
from extender.core.model import memory
from extender.core.model.objects import Said
from simulation.invariants.recount import mismatches
from tests.builders import (
    HOST,
    ZONE,
    Json,
    model_namespace,
    model_node,
    model_pod,
    namespace,
    node,
    pod,
    requirement,
    selector,
    state_of,
    term,
)

A1 = node("a1", {HOST: "a1", ZONE: "a"})
A2 = node("a2", {HOST: "a2", ZONE: "a"})
B1 = node("b1", {HOST: "b1", ZONE: "b"})
NODES = (A1, A2, B1)

WEB = pod("web").labels(app="web")
APART = term(ZONE, selector(app="web"))
LONER = WEB.anti_affinity(APART)
"""Wants a zone to itself among pods of its app."""
RED_ONLY = term(ZONE, selector(), namespaceSelector=selector(team="red"))


def cluster(*pods: Json) -> ClusterState:
    """Build two zones with some pods."""
    return state_of(NODES, [namespace("default")], pods)


def matching(state: ClusterState, asking: Json = LONER) -> Mapping[str, int]:
    """Return how many pods per domain match the own anti-affinity term of a pod."""
    (union,) = state.prefilter_state(model_pod(asking).pod_class).anti_affinity
    (table,) = union.tables
    return table.by_value()


def owners(state: ClusterState, asking: Json = WEB) -> Mapping[str, int]:
    """Return how many pods per domain carry anti-affinity against a pod."""
    unions = state.prefilter_state(model_pod(asking).pod_class).existing_anti_affinity
    return {
        value: count
        for union in unions
        for table in union.tables
        for value, count in table.by_value().items()
    }


Step = Callable[[ClusterState], None]


def upsert(raw: Json) -> Step:
    return lambda state: state.upsert_pod(model_pod(raw))


def relabel_node(raw: Json) -> Step:
    return lambda state: state.upsert_node(model_node(raw))


@pytest.mark.parametrize(
    ("steps", "expected"),
    [
        pytest.param([upsert(WEB)], {}, id="a waiting pod counts nowhere"),
        pytest.param([upsert(WEB.on("a1"))], {"a": 1}, id="a placed pod counts in its domain"),
        pytest.param([upsert(WEB), upsert(WEB.on("b1"))], {"b": 1}, id="a pod is bound"),
        pytest.param(
            [upsert(WEB.on("a1")), upsert(WEB.on("a1"))], {"a": 1}, id="an event comes twice"
        ),
        pytest.param(
            [upsert(WEB.on("a1")), upsert(WEB.on("a1").being_deleted())],
            {"a": 1},
            id="a pod that is being deleted counts until it is gone",
        ),
        pytest.param(
            [upsert(WEB.on("a1")), upsert(WEB.on("a1").phase("Succeeded"))],
            {},
            id="a pod that succeeded no longer counts",
        ),
        pytest.param([upsert(WEB.on("a1").phase("Failed"))], {}, id="a failed pod never counts"),
        pytest.param(
            [upsert(WEB.on("a1")), upsert(WEB.on("a1").labels(app="db"))],
            {},
            id="an update takes the matching label away",
        ),
        pytest.param(
            [upsert(WEB.on("a1")), upsert(WEB.uid("second").on("b1"))],
            {"b": 1},
            id="a new uid under the same name replaces the old pod",
        ),
        pytest.param(
            [
                upsert(WEB.uid("second").on("b1")),
                lambda state: state.remove_pod("default/web", "default-web"),
            ],
            {"b": 1},
            id="a late deletion of the old uid leaves the new pod alone",
        ),
        pytest.param(
            [upsert(WEB.on("a1")), lambda state: state.remove_pod("default/web", "default-web")],
            {},
            id="a deleted pod no longer counts",
        ),
        pytest.param([upsert(WEB.on("new"))], {}, id="a pod on an unknown node counts nowhere yet"),
        pytest.param(
            [upsert(WEB.on("new")), relabel_node(node("new", {ZONE: "c"}))],
            {"c": 1},
            id="a pod counts from the moment its node appears",
        ),
        pytest.param(
            [upsert(WEB.on("a1")), lambda state: state.remove_node("a1")],
            {},
            id="a pod whose node is gone counts nowhere",
        ),
        pytest.param(
            [
                upsert(WEB.on("a1")),
                lambda state: state.remove_node("a1"),
                relabel_node(node("a1", {ZONE: "b"})),
            ],
            {"b": 1},
            id="a node is back with another label",
        ),
        pytest.param(
            [upsert(WEB.on("a1")), relabel_node(node("a1", {ZONE: "b"}))],
            {"b": 1},
            id="a relabelled node takes its pods along",
        ),
        pytest.param(
            [upsert(WEB.on("a1")), relabel_node(node("a1"))],
            {},
            id="a node that lost the key takes its pods out of the domains",
        ),
    ],
)
@pytest.mark.parametrize("asked_first", [True, False], ids=["kept up to date", "counted anew"])
def test_matching_pods_are_counted(
    steps: list[Step], expected: dict[str, int], asked_first: bool
) -> None:
    state = cluster()
    if asked_first:
        assert matching(state) == {}
    for step in steps:
        step(state)
    assert matching(state) == expected
    assert mismatches(state) == []


def test_a_pod_that_starts_moves_no_counter() -> None:
    state = state_of([node("a")], [], [pod("p").on("a")])
    version = state.version
    for when, seconds in (("1970-01-01T00:01:00Z", 60), ("1970-01-01T00:02:00+00:00", 120)):
        state.upsert_pod(model_pod(pod("p").started(when).on("a")))
        assert [each.started for each in state.pods_on("a")] == [seconds]
        assert state.pods["default/p"].started == seconds
    assert state.version == version
    state.remove_pod("default/p", "default-p")
    assert not state.pods_on("a")


def test_whether_any_pod_is_less_important_is_known_as_pods_come_and_go() -> None:
    lesser = [pod(name).priority(1).on("a") for name in ("p", "q")]
    state = state_of([node("a")], [], [*lesser, pod("r").priority(5).on("a")])
    assert [state.has_less_important(each) for each in (1, 2)] == [False, True]
    state.remove_pod("default/p", "default-p")
    assert state.has_less_important(2)
    state.remove_pod("default/q", "default-q")
    assert [state.has_less_important(each) for each in (5, 6)] == [False, True]


def test_what_a_scheduler_has_said_is_known_and_moves_no_counter() -> None:
    waits = model_pod(pod("p"))
    state = ClusterState()
    state.upsert_pod(waits)
    version = state.version
    for message in ("no cpu", "no memory"):
        said = Said("Unschedulable", message)
        state.upsert_pod(waits.with_status(said=said))
        assert state.pods["default/p"].status.said == said
        assert [each.status.said for each in state.waiting_pods] == [said]
    assert state.version == version


def test_carriers_of_a_term_are_counted_and_forgotten() -> None:
    state = cluster(LONER.on("a1"))
    assert owners(state) == {"a": 1}
    state.remove_pod("default/web", "default-web")
    assert owners(state) == {}
    assert len(state.existing_terms) == 0


def test_a_pod_is_left_out_only_for_a_while() -> None:
    state = cluster(LONER.on("a1"))
    with state.without("default/web", "default-web"):
        assert owners(state) == matching(state) == {}
    assert owners(state) == matching(state) == {"a": 1}
    assert mismatches(state) == []


@pytest.mark.parametrize(
    ("key", "uid"),
    [
        pytest.param("default/other", "x", id="a pod that nobody knows"),
        pytest.param("default/web", "x", id="another uid of the same name"),
    ],
)
def test_leaving_out_a_stranger_changes_nothing(key: str, uid: str) -> None:
    state = cluster(LONER.on("a1"))
    with state.without(key, uid):
        assert owners(state) == {"a": 1}


def test_two_pods_are_not_left_out_at_once() -> None:
    state = cluster(LONER.on("a1"))
    with (
        pytest.raises(RuntimeError, match="default/other cannot be left out: default/web is left"),
        state.without("default/web", "default-web"),
        state.without("default/other", "default-other"),
    ):
        pytest.fail("left out twice")
    assert owners(state) == matching(state) == {"a": 1}
    with state.without("default/web", "default-web"):
        assert owners(state) == {}


def test_a_relabelled_namespace_moves_its_pods_in_and_out_of_terms() -> None:
    asking = pod("asking").anti_affinity(RED_ONLY)
    state = cluster(WEB.on("a1"))
    assert matching(state, asking) == {}
    state.upsert_namespace(model_namespace(namespace("default", {"team": "red"})))
    assert matching(state, asking) == {"a": 1}
    state.remove_namespace("default")
    assert matching(state, asking) == {}
    assert mismatches(state) == []


def test_a_relabelled_namespace_counts_by_those_of_many_terms_that_are_about_it() -> None:
    terms = [
        term(
            ZONE, selector(), namespaceSelector=selector(requirement("team", "In", "red", f"{at}"))
        )
        for at in range(MANY_TERMS + 1)
    ]
    asking = pod("asking").anti_affinity(*terms)
    state = cluster(WEB.on("a1"))
    assert matching(state, asking) == {}
    for team, terms_about_it in (("red", len(terms)), ("3", 1), ("red", len(terms)), ("green", 0)):
        state.upsert_namespace(model_namespace(namespace("default", {"team": team})))
        assert matching(state, asking) == ({"a": terms_about_it} if terms_about_it else {})
        assert mismatches(state) == []


def test_a_namespace_that_nobody_knows_has_no_labels() -> None:
    not_red = selector(requirement("team", "NotIn", "red"))
    asking = pod("asking").anti_affinity(term(ZONE, selector(), namespaceSelector=not_red))
    stranger = pod("stranger", "unheard-of").on("b1")
    assert matching(cluster(stranger), asking) == {"b": 1}


def test_sets_beyond_the_bound_are_given_up_and_counted_again() -> None:
    state = ClusterState(most_matching_sets=2, most_prefilter_states=2)
    for raw in NODES:
        state.upsert_node(model_node(raw))
    state.upsert_pod(model_pod(WEB.on("a1")))
    apps = [pod("x").anti_affinity(term(ZONE, selector(app=app))) for app in ("web", "b", "c")]
    for _ in range(2):
        assert [matching(state, asking) for asking in apps] == [{"a": 1}, {}, {}]
        assert len(state.matching_sets) == 2
    state.upsert_pod(model_pod(WEB.on("b1")))
    assert matching(state, apps[0]) == {"b": 1}
    assert mismatches(state) == []


def test_a_question_with_more_terms_than_may_be_kept_is_still_exact() -> None:
    state = ClusterState(most_matching_sets=1)
    state.upsert_node(model_node(A1))
    state.upsert_pod(model_pod(WEB.on("a1")))
    asking = WEB.anti_affinity(APART, term(HOST, selector(app="web")))
    question = state.prefilter_state(model_pod(asking).pod_class)
    counts = [union.tables[0].by_value() for union in question.anti_affinity]
    assert counts == [{"a": 1}, {"a1": 1}]
    state.remove_pod("default/web", "default-web")
    again = state.prefilter_state(model_pod(asking).pod_class)
    assert [union.tables[0].by_value() for union in again.anti_affinity] == [{}, {}]


def test_the_same_question_is_resolved_once() -> None:
    state = cluster(WEB.on("a1"))
    asking = model_pod(LONER).pod_class
    first = state.prefilter_state(asking)
    state.upsert_pod(model_pod(WEB.on("b1")))
    assert state.prefilter_state(asking) is first
    state.upsert_pod(model_pod(LONER.uid("carrier").on("b1")))
    assert state.prefilter_state(asking) is not first, "a new term may match the class"


@pytest.mark.parametrize(
    ("labels", "moved"),
    [
        pytest.param({HOST: "a1", ZONE: "a", "heartbeat": "2"}, set(), id="one that no term uses"),
        pytest.param({HOST: "a1", ZONE: "c"}, {ZONE}, id="one of two that terms use"),
        pytest.param({HOST: "a1"}, {ZONE}, id="one that is taken away"),
        pytest.param({HOST: "other", ZONE: "c"}, {HOST, ZONE}, id="both"),
        pytest.param({HOST: "a1", ZONE: "a"}, set(), id="none"),
    ],
)
def test_a_change_of_labels_moves_the_tables_over_their_keys_alone(
    labels: dict[str, str], moved: set[str]
) -> None:
    apart = (term(key, selector(app="web")) for key in (HOST, ZONE))
    asking = WEB.anti_affinity(*apart)
    state = cluster(asking.on("a1"))
    prefilter = state.prefilter_state(model_pod(asking).pod_class)
    tables = [
        table
        for union in (*prefilter.anti_affinity, *prefilter.existing_anti_affinity)
        for table in union.tables
    ]
    before = versions(tables)
    state.upsert_node(model_node(node("a1", labels)))
    changed = zip(tables, before, versions(tables), strict=True)
    assert {table.topology.key for table, then, now in changed if then != now} == moved
    assert mismatches(state) == []


def test_a_node_name_is_free_again_when_node_and_pods_are_gone() -> None:
    state = cluster(WEB.on("a1"))
    state.remove_node("a1")
    state.remove_pod("default/web", "default-web")
    state.upsert_node(model_node(node("c1", {ZONE: "c"})))
    state.upsert_pod(model_pod(WEB.on("c1")))
    assert matching(state) == {"c": 1}
    assert mismatches(state) == []


def test_numbers_are_those_of_the_names_that_are_known() -> None:
    nodes = cluster(WEB.on("a1")).nodes
    asked = nodes.asked(["b1", "stranger", "a1"])
    assert (asked.names, asked.unknown) == (["b1", "a1"], ["stranger"])
    assert list(asked.numbers) == [nodes.number("b1"), nodes.number("a1")]


def test_names_next_to_each_other_mean_the_same_nodes() -> None:
    state = cluster(WEB.on("a1"))
    before = {name: state.nodes.asked([name]).numbers for name in state.nodes}
    state.compact()
    assert {name: state.nodes.asked([name]).numbers for name in state.nodes} == before
    state.remove_node("a1")
    assert state.nodes.asked(["a1", "b1"]).unknown == ["a1"]


def test_a_set_that_holds_many_domains_takes_its_share_of_the_entries(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(memory, "MATCHING_ENTRIES", 512)
    hosts = [node(f"n-{number}", {ZONE: f"z-{number}"}) for number in range(100)]
    pods = [pod(f"p-{number}").labels(app="web").on(f"n-{number}") for number in range(100)]
    state = state_of(hosts, [], pods)
    for number in range(20):
        other = requirement("app", "NotIn", f"other-{number}")
        wide = selector(other, requirement("tier", "DoesNotExist"))
        state.prefilter_state(model_pod(pod("x").anti_affinity(term(ZONE, wide))).pod_class)
    assert len(state.matching_sets) == 4, "each has a hundred entries"


def test_pods_without_a_node_are_known_while_they_wait() -> None:
    waits, other = pod("waits"), pod("other")
    state = state_of([], [], [waits, other, pod("placed").on("a"), pod("done").phase("Succeeded")])
    state.upsert_pod(model_pod(waits.priority(5)))
    assert {each.key: each.spec.priority for each in state.waiting_pods} == {
        "default/waits": 5,
        "default/other": 0,
    }
    state.upsert_pod(model_pod(waits.on("a")))
    state.upsert_pod(model_pod(other.uid("another")))
    assert [each.uid for each in state.waiting_pods] == ["another"]
    state.remove_pod("default/other", "another")
    assert not list(state.waiting_pods)


@pytest.mark.parametrize(
    "later", [None, "earlier-preemptor"], ids=["by a scheduler", "by a late request"]
)
def test_a_pod_on_its_way_out_goes_for_nobody_else(later: str | None) -> None:
    state = cluster()
    marked = model_pod(WEB.on("a1")).with_status(victim_of="preemptor")
    state.upsert_pod(marked)
    state.upsert_pod(marked.with_status(deleting=True, preempted=True))
    state.upsert_pod(marked.with_status(deleting=True, preempted=True, victim_of=later))
    assert [each.uid for each in state.victims_of("preemptor")] == [marked.uid]
    state.remove_pod(marked.key, marked.uid)
    assert not state.victims_of("preemptor")


def test_a_pod_that_stays_goes_for_whom_it_was_marked_last() -> None:
    state = cluster()
    marked = model_pod(WEB.on("a1")).with_status(victim_of="preemptor")
    state.upsert_pod(marked)
    state.upsert_pod(marked.with_status(victim_of="another"))
    assert not state.victims_of("preemptor")
    assert [each.uid for each in state.victims_of("another")] == [marked.uid]


@pytest.mark.parametrize("now", [WEB, WEB.uid("successor"), WEB.phase("Failed"), None])
def test_who_observes_pods_hears_of_each_of_which_something_is_shown(now: Json | None) -> None:
    state = cluster(WEB)
    uid = model_pod(WEB).uid
    told: list[str] = []
    state.pod_observers.append(told.append)
    if now is None:
        state.remove_pod("default/web", uid)
    else:
        state.upsert_pod(model_pod(now))
    assert {*told} == {uid, uid if now is None else model_pod(now).uid}
