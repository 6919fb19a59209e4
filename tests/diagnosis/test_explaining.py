"""An explanation and the verdict cannot differ: same nodes, same plugin and reason, same scores."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from extender.core.cluster.counts.existing_term import Role, carried_by
from extender.core.cluster.state import ClusterState
from extender.core.model.node_selection import NO_NODE_SELECTION, NodeSelection
from extender.core.model.objects import Pod
from extender.core.model.verdict import Reason
from extender.core.verbs.filtering import judge
from extender.core.verbs.inter_pod_affinity import InterPodAffinity
from extender.core.verbs.node_selection import NodeSelectionPlugin
from extender.core.verbs.plugins import FilterPlugin, Plugins, ScorePlugins
from extender.core.verbs.prioritizing import prioritize
from extender.core.verbs.rules import Rule
from extender.core.wire.manifests import EXCLUSIVE_ANNOTATION
from extender.core.wire.node_selection import read_node_selection
from extender.diagnosis.verbs.explain import explanation_of
from extender.diagnosis.verbs.explanation import MOST_BLOCKERS, Question
from extender.diagnosis.verbs.node_room import NodeUnschedulable
from extender.diagnosis.verbs.notes import notes
from extender.diagnosis.verbs.telling import summary
from extender.diagnosis.verbs.waiting import bottleneck
from tests import builders, strategies
from tests.annotating import split
from tests.builders import HOST, model_pod, selector, state_of, term
from tests.features.every import plugins as further_plugins

MAX_SCORE = 20

Case = tuple[ClusterState, Pod, list[str], Plugins, ScorePlugins]


@st.composite
def cases(draw: st.DrawFn) -> Case:
    """Draw a cluster with quotas and node affinity, and a question about it."""
    cluster = draw(strategies.clusters())
    raw = draw(strategies.incoming_pods(cluster))
    if draw(strategies.rarely(2)):
        raw = draw(strategies.with_node_affinity(builders.Pod(raw)))
    pods: list[Any] = list(cluster.pods)
    if draw(strategies.rarely(3)):
        dice = random.Random(draw(st.integers(0, 99)))
        raw = split(raw, dice)
        pods = [split(each, dice) for each in cluster.pods]
    quotas = [draw(strategies.quotas(f"q{n}")) for n in range(draw(st.sampled_from([0, 0, 1, 2])))]
    state = state_of(cluster.nodes, cluster.namespaces, pods, quotas)
    added = draw(strategies.added_affinities())
    of_annotations = draw(strategies.rarely(5))
    node_selection = NodeSelectionPlugin(_read(added), of_annotations=of_annotations)
    args = draw(strategies.plugin_args())
    affinity = InterPodAffinity(
        args.hard_pod_affinity_weight,
        args.ignore_preferred_terms_of_existing_pods,
        of_annotations=of_annotations,
    )
    further = [draw(st.sampled_from(some)) for some in (further_plugins(),) if some]
    every: list[FilterPlugin] = [affinity, node_selection, *further]
    plugins = draw(st.permutations(every))
    names = draw(strategies.asked_names(cluster))
    return state, model_pod(raw), list(dict.fromkeys(names)), plugins, [affinity, node_selection]


def _read(added: object) -> NodeSelection:
    if added is None:
        return NO_NODE_SELECTION
    return read_node_selection(json.dumps({"nodeAffinity": added}).encode())[0]


@pytest.mark.thorough
@given(case=cases())
def test_an_explanation_says_what_filter_and_prioritize_answer_and_why(case: Case) -> None:
    # To draw a case takes far longer than to look at it, so all looks share the draw.
    agree(case)
    each_refusal_has_a_rule_and_the_very_pods_behind_it(case)
    near_misses_would_fit(case)


def agree(case: Case) -> None:
    """Compare an explanation with what filter and prioritize answer about the same pod."""
    state, pod, names, plugins, scoring = case
    found = explanation_of(state, Question(pod, names, plugins, scoring, MAX_SCORE))

    verdicts = judge(state, pod, state.nodes.asked(names), plugins)
    assert list(found.fits) == list(verdicts.fits.names)
    expected = {name: reason for reason, some in verdicts.refused for name in some}
    assert {name: each[0].reason for name, each in found.refused.items()} == expected
    assert sorted(name for each in found.refusals for name in each.nodes) == sorted(expected)
    scored = prioritize(state, pod, lambda: state.nodes.asked(found.fits), scoring, MAX_SCORE)
    scores = zip(scored.names, scored.raw, strict=True)
    by_name = {name: scored.final[raw] for name, raw in scores}
    assert dict(found.final) == by_name
    assert summary(found)
    assert all(note.text for note in notes(state, found))


def each_refusal_has_a_rule_and_the_very_pods_behind_it(case: Case) -> None:
    """Compare rule, topology domain and pods of each refusal with what the state holds."""
    state, pod, names, plugins, _ = case
    own = state.class_of(pod)
    for each in explanation_of(state, Question(pod, names, plugins)).refusals:
        if each.reason is Reason.UNKNOWN_NODE or each.rule.nominated:
            continue
        if not each.rule.terms:
            continue
        labels = [state.nodes.labels(name).get(each.rule.key or "") for name in each.nodes]
        assert {*labels} <= {each.domain}
        assert each.hits >= len(each.nodes)
        there = [
            other
            for other in state.placed_pods
            if other.uid != pod.uid
            and (other.node or "") in state.nodes
            and state.nodes.labels(other.node or "").get(each.rule.key or "") == each.domain
        ]
        match each.reason:
            case Reason.AFFINITY:
                assert each.count == 0
                continue
            case Reason.ANTI_AFFINITY:
                behind = [o for o in there if _about(state, each.rule, o)]
            case _:
                behind = [other for other in there if _carries(each.rule, other)]
                assert all(state.is_about(term, own) for term in each.rule.terms)
        assert each.count == len(behind) > 0
        assert len(each.pods) == min(each.count, MOST_BLOCKERS)
        assert {other.uid for other in each.pods} <= {other.uid for other in behind}


def _carries(rule: Rule, other: Pod) -> bool:
    named = {(term, Role.REQUIRED_ANTI, rule.annotated) for term in rule.terms}
    carried = (each for each, _ in carried_by(other.pod_class))
    return any((term, role, source is not None) in named for term, role, source in carried)


def _about(state: ClusterState, rule: Rule, other: Pod) -> bool:
    return any(state.is_about(term, other.pod_class) for term in rule.terms)


def near_misses_would_fit(case: Case) -> None:
    """Of anti-affinity: with the pods in the way gone, the near misses are hits."""
    state, pod, names, plugins, _ = case
    found = explanation_of(state, Question(pod, names, plugins))
    for miss in found.near_misses:
        pods = miss.pods
        if not pods or miss.count > len(pods) or any(each.rule.nominated for each in miss.refusals):
            continue
        assert all(found.refused[name] == miss.refusals for name in miss.nodes)
        without = judge(state, pod, state.nodes.asked(miss.nodes), plugins, gone=pods)
        assert list(without.fits.names) == miss.nodes
        if miss.preempted_on is not None:
            assert all(other.spec.priority < pod.spec.priority for other in pods)
            assert {other.node for other in pods} == {miss.preempted_on}


@pytest.mark.parametrize(
    ("others", "near"),
    [
        pytest.param([], [], id="nothing is near while the only partner is in the way"),
        pytest.param(["partner"], [["a"]], id="a node is near that has another partner"),
    ],
)
def test_a_pod_that_is_in_the_way_may_be_the_one_that_is_needed(
    others: list[str], near: list[list[str]]
) -> None:
    partner = builders.pod("web").labels({"app": "web"})
    in_the_way = partner.anti_affinity(term(HOST, selector(app="new"))).on("a")
    pods = [in_the_way, *(strategies.named(partner, name, "default").on("a") for name in others)]
    state = state_of([builders.node("a", {HOST: "a"})], [], pods)
    new = builders.pod("new").labels({"app": "new"}).affinity(term(HOST, selector(app="web")))
    question = Question(model_pod(new), ["a"], [InterPodAffinity()])
    assert [miss.nodes for miss in explanation_of(state, question).near_misses] == near


@pytest.mark.parametrize("shared", [False, True], ids=["a node alone", "two nodes in a domain"])
@pytest.mark.parametrize("theirs", [False, True], ids=["own rule", "rule of placed pods"])
def test_all_pods_in_the_way_are_counted_and_ten_are_named(shared: bool, theirs: bool) -> None:
    nodes = [builders.node("a", {HOST: "h"}), builders.node("b", {HOST: "h" if shared else "b"})]
    apart = term(HOST, selector(app="web"))
    web = builders.pod("web").labels(app="web")
    new = builders.pod("new").labels(app="web")
    placed = web.anti_affinity(apart) if theirs else web
    others = [strategies.named(placed, f"web-{n}", "default").on("a") for n in range(12)]
    state = state_of(nodes, [], others)
    reserved = model_pod(strategies.named(placed, "bound-soon", "default"))
    state.reserve(reserved, "a", deadline=1.0)
    asked = model_pod(new if theirs else new.anti_affinity(apart))
    # It counts there itself, and is not in its own way.
    state.reserve(asked, "a", deadline=1.0)
    found = explanation_of(state, Question(asked, ["a", "b"], [InterPodAffinity()]))
    (refusal,) = found.refusals
    assert (refusal.nodes, refusal.count) == (["a", "b"] if shared else ["a"], 13)
    names = [pod.key for pod in refusal.pods]
    assert (len({*names}), names) == (MOST_BLOCKERS, sorted(names))
    assert {*names} <= {"default/bound-soon", *(f"default/web-{n}" for n in range(12))}


@pytest.mark.parametrize("shared", [False, True], ids=["a node alone", "two nodes in a domain"])
@pytest.mark.parametrize("theirs", [False, True], ids=["own rule", "rule of placed pods"])
def test_of_very_many_pods_in_the_way_those_of_the_own_namespace_are_named(
    *, shared: bool, theirs: bool
) -> None:
    """Whatever the others are called."""
    nodes = [builders.node("a", {HOST: "h"}), builders.node("b", {HOST: "h" if shared else "b"})]
    apart = term(HOST, selector(app="web"), namespaceSelector={})
    web, new = builders.pod("web").labels(app="web"), builders.pod("new").labels(app="web")
    placed = web.anti_affinity(apart) if theirs else web
    spaces = {"aaa": 12, "default": 3, "zzz": 12}
    others = [
        strategies.named(placed, f"web-{n}", space).on("a")
        for space, number in spaces.items()
        for n in range(number)
    ]
    state = state_of(nodes, [builders.namespace(space) for space in spaces], others)
    asked = model_pod(new if theirs else new.anti_affinity(apart))
    found = explanation_of(state, Question(asked, ["a", "b"], [InterPodAffinity()]))
    (refusal,) = found.refusals
    names = [pod.key for pod in refusal.pods]
    assert (refusal.count, len(names), names) == (27, MOST_BLOCKERS, sorted(names))
    assert {f"default/web-{n}" for n in range(3)} <= {*names}


CLOSED = ["c", "d", "e"]
"""Three nodes that are not for the pod anyway."""


@pytest.mark.parametrize("why", ["they are cordoned", "it does not ask for them"])
@pytest.mark.parametrize(
    ("names", "expected"),
    [
        pytest.param(["a", "b", *CLOSED], ("anti-affinity", 2), id="two others"),
        pytest.param(["a", *CLOSED], ("anti-affinity", 1), id="one other"),
        pytest.param(CLOSED, (None, 3), id="no others"),
    ],
)
def test_nodes_that_are_not_for_a_pod_hide_no_rule_however_many_they_are(
    names: list[str], expected: tuple[str | None, int], why: str
) -> None:
    cordons = why == "they are cordoned"
    nodes = []
    for name in names:
        made = builders.node(name, {HOST: name, "disk": "hdd" if name in CLOSED else "ssd"})
        if cordons and name in CLOSED:
            made = {**made, "spec": {"unschedulable": True}}
        nodes.append(made)
    web = builders.pod("web").labels(app="web")
    there = [strategies.named(web, f"web-{name}", "default").on(name) for name in names[:2]]
    there = [each for each in there if each["spec"]["nodeName"] not in CLOSED]
    new = builders.pod("new").anti_affinity(term(HOST, selector(app="web")))
    new = new if cordons else new.selects(disk="ssd")
    plugins = [NodeUnschedulable(), NodeSelectionPlugin(), InterPodAffinity()]
    found = explanation_of(state_of(nodes, [], there), Question(model_pod(new), names, plugins))
    limit = bottleneck(found)
    assert limit is not None
    what, refused = expected
    assert limit.refused == refused
    assert ("anti-affinity" in limit.what) is (what is not None)


RACK = "rack"
MINE = term(RACK, selector(builders.requirement("job", "In", "a")), namespaceSelector={})
OTHERS = term(
    RACK,
    selector(builders.requirement("job", "Exists"), builders.requirement("job", "NotIn", "a")),
    namespaceSelector={},
)
TO_WRITE = (
    "write a required podAffinity term with job In [a] and a required podAntiAffinity term with "
    f"job Exists and job NotIn [a], both over {RACK} with namespaceSelector: {{}}"
)
BARE = builders.pod("p")


@pytest.mark.parametrize(
    ("value", "written", "said"),
    [
        pytest.param("job by rack", BARE, TO_WRITE, id="not written"),
        pytest.param("job by rack", BARE.affinity(MINE), TO_WRITE, id="one of the two"),
        pytest.param(
            "job by rack",
            BARE.affinity({**MINE, "namespaceSelector": None}).anti_affinity(OTHERS),
            TO_WRITE,
            id="of its own namespace alone",
        ),
        pytest.param(
            " job by rack ", BARE.affinity(MINE).anti_affinity(OTHERS), None, id="written"
        ),
        pytest.param("team by rack", BARE, "the pod has no label team", id="no such label"),
        pytest.param("job", BARE, "not '<label key> by <topology key>'", id="malformed"),
        pytest.param(None, BARE, None, id="no annotation"),
    ],
)
def test_an_annotation_that_no_policy_has_written_into_the_spec_is_said_to_do_nothing(
    value: str | None, written: builders.Pod, said: str | None
) -> None:
    raw = written.labels(job="a")
    raw = raw if value is None else raw.annotated(EXCLUSIVE_ANNOTATION, value)
    # Where rules in annotations count nowhere, it does nothing just so.
    state = ClusterState()
    found = explanation_of(state, Question(model_pod(raw), [], [InterPodAffinity()]))
    texts = [each.text for each in notes(state, found) if each.kind == "exclusiveNotWritten"]
    assert len(texts) == (said is not None)
    assert all(str(said) in text for text in texts)
