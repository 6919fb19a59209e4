"""`maxMatchingPods`: what it refuses, whom it evicts, and what it says."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import pytest

from extender.core.cluster.counts.domain_limits import DomainLimit
from extender.core.cluster.counts.prefilter_state import MOST_LIMITS
from extender.core.model.disruption import Victims
from extender.core.model.pod_affinity import LimitedTerm
from extender.core.verbs.filtering import indeterminate, judge
from extender.core.verbs.victims import on_node
from extender.diagnosis.verbs.violations import Violation, patrol, witnesses
from extender.features.annotations import rules
from extender.features.annotations.rules import LimitRule
from simulation.invariants.recount import mismatches
from tests.annotating import REQUIRED, annotated
from tests.annotation_questions import LIMITS, differences
from tests.beside import LIMITS as ALONE
from tests.builders import (
    HOST,
    ZONE,
    Json,
    Pod,
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
from tests.verbs.judging import actual_refusals, chosen_of

NODES = [
    node("a", {HOST: "a", ZONE: "x"}, {"pods": "9", "cpu": "9"}),
    node("b", {HOST: "b", ZONE: "x"}, {"pods": "9", "cpu": "9"}),
    node("c", {HOST: "c", ZONE: "y"}, {"pods": "9", "cpu": "9"}),
    node("d", {HOST: "d"}, {"pods": "9", "cpu": "9"}),
]
NAMES = ["a", "b", "c", "d"]
OWN = "node(s) had as many matching pods as the pod's maxMatchingPods allows"
THEIRS = "node(s) had as many matching pods as existing pods' maxMatchingPods allows"
WEB = selector(app="web")


def web(name: str, on: str = "") -> Pod:
    made = pod(name).labels(app="web")
    return made.on(on) if on else made


def limited(raw: Json, most: int, key: str = ZONE, **fields: Any) -> Json:
    one = term(key, WEB, maxMatchingPods=most, **fields)
    return annotated(raw, {"podAntiAffinity": {REQUIRED: [one]}})


DB = pod("db").labels(app="db")


@pytest.mark.parametrize(
    ("incoming", "certain"),
    [
        pytest.param(limited(web("new"), 1), False, id="a limit of its own"),
        pytest.param(web("new"), False, id="a limit of a pod that is placed"),
        pytest.param(DB, True, id="no limit is about it"),
    ],
)
def test_a_limit_is_not_judged_by_a_state_that_is_stale(incoming: Pod, *, certain: bool) -> None:
    state = state_of(NODES, [], [limited(web("old", "a"), 2)])
    assert indeterminate(state, model_pod(incoming), ALONE) is None
    state.stale = "nothing was heard"
    why = None if certain else "nothing was heard"
    assert indeterminate(state, model_pod(incoming), ALONE) == why


@pytest.mark.parametrize(
    ("incoming", "placed", "expected"),
    [
        pytest.param(
            limited(web("new"), 2), [web("1", "a")], {}, id="the owner counts: two are two"
        ),
        pytest.param(
            limited(web("new"), 2),
            [web("1", "a"), web("2", "b")],
            {"a": OWN, "b": OWN},
            id="a third one is one too many in its zone, and nowhere else",
        ),
        pytest.param(
            limited(DB, 1), [web("1", "a")], {}, id="an owner that does not match does not count"
        ),
        pytest.param(
            limited(DB, 1),
            [web("1", "a"), web("2", "b")],
            {"a": OWN, "b": OWN},
            id="nor does it go where there are more already",
        ),
        pytest.param(limited(DB, 0), [web("1", "c")], {"c": OWN}, id="none: anti-affinity"),
        pytest.param(
            limited(web("new"), 0),
            [],
            {"a": OWN, "b": OWN, "c": OWN},
            id="one that matches itself, and none allowed: only a node without the key",
        ),
        pytest.param(
            web("new"),
            [limited(web("1", "a"), 2), web("2", "b")],
            {"a": THEIRS, "b": THEIRS},
            id="symmetric: others keep to the limit of a placed pod",
        ),
        pytest.param(
            web("new"),
            [limited(web("1", "c"), 2), web("2", "a"), web("3", "b")],
            {},
            id="where no owner is, a limit is nothing to others",
        ),
        pytest.param(
            web("new"),
            [limited(pod("db").on("c"), 0)],
            {"c": THEIRS},
            id="symmetric: none beside a placed owner",
        ),
        pytest.param(DB, [limited(web("1", "a"), 1)], {}, id="who does not match is free"),
        pytest.param(
            limited(web("new"), 2, HOST),
            [web("1", "a"), web("2", "a"), web("3", "b")],
            {"a": OWN},
            id="by host",
        ),
        pytest.param(
            limited(web("new"), 2, namespaces=["other"]),
            [web("1", "a"), web("2", "b")],
            {},
            id="about another namespace",
        ),
        pytest.param(
            limited(web("new"), 1, matchLabelKeys=["hash"]),
            [web("1", "a").labels(hash="1"), web("2", "c")],
            {"a": OWN, "b": OWN, "c": OWN},
            id="a label key that the owner lacks narrows nothing",
        ),
        pytest.param(
            limited(web("new").labels(hash="2"), 1, matchLabelKeys=["hash"]),
            [web("1", "a").labels(hash="1"), web("2", "c").labels(hash="2")],
            {"c": OWN},
            id="a label key narrows the pods that count",
        ),
        pytest.param(
            limited(web("new"), 2),
            [web("1", "a"), web("2").nominated("b").priority(9)],
            {"b": OWN},
            id="a nominated pod counts on its node",
        ),
        pytest.param(
            web("new"),
            [web("1", "c"), limited(web("2").nominated("c").priority(9), 2)],
            {"c": THEIRS},
            id="a nominated pod brings its limit",
        ),
        pytest.param(
            limited(web("new"), 2),
            [web("1").nominated("b").priority(9)],
            {},
            id="a nominated pod may be the first in its domain",
        ),
        pytest.param(
            limited(web("new"), 1),
            [web("1").nominated("b").priority(9)],
            {"b": OWN},
            id="and count there, as the only one",
        ),
        pytest.param(
            web("new"),
            [limited(web("1", "c"), 1), web("2").nominated("a").priority(9)],
            {"c": THEIRS},
            id="a placed pod's limit is nothing to where others are nominated",
        ),
        pytest.param(
            web("new"),
            [limited(web("1").nominated("d").priority(9), 1), web("2", "d")],
            {},
            id="a nominated pod brings no limit to a node without the key",
        ),
        pytest.param(
            limited(web("new"), 3),
            [limited(web("1", "a"), 1)],
            {"a": THEIRS, "b": THEIRS},
            id="a wider limit beside a placed pod's narrower one",
        ),
        pytest.param(
            limited(web("new"), 1),
            [limited(web("1", "a"), 3)],
            {"a": OWN, "b": OWN},
            id="a narrower limit beside a placed pod's wider one",
        ),
        pytest.param(
            limited(web("new"), 5),
            [
                limited(web("1", "a"), 5),
                limited(pod("db").labels(app="db").on("c"), 0),
                limited(web("2", "a"), 2, HOST),
            ],
            {"a": THEIRS, "c": THEIRS},
            id="limits of placed pods behind one that is the pod's own",
        ),
        pytest.param(
            annotated(
                web("new").labels(tier="x"),
                {
                    "podAntiAffinity": {
                        REQUIRED: [
                            term(ZONE, WEB, maxMatchingPods=1),
                            term(ZONE, selector(tier="x"), maxMatchingPods=1),
                        ]
                    }
                },
            ),
            [web("1", "a"), pod("x").labels(tier="x").on("c")],
            {"a": OWN, "b": OWN, "c": OWN},
            id="two limits of a pod over one key",
        ),
        pytest.param(
            web("new").labels(tier="x"),
            [
                limited(web("1", "a"), 1),
                annotated(
                    pod("x").labels(tier="x").on("c"),
                    {
                        "podAntiAffinity": {
                            REQUIRED: [term(ZONE, selector(tier="x"), maxMatchingPods=1)]
                        }
                    },
                ),
            ],
            {"a": THEIRS, "b": THEIRS, "c": THEIRS},
            id="limits of two placed pods over one key",
        ),
        pytest.param(
            web("new"),
            [limited(web("1").nominated("c").priority(9), 2)],
            {},
            id="a nominated pod's limit allows as many as it says",
        ),
        pytest.param(
            DB,
            [web("1", "c"), limited(web("2").nominated("c").priority(9), 1)],
            {},
            id="a nominated pod's limit is nothing to a pod that it does not match",
        ),
        pytest.param(
            web("new"),
            [limited(web("1", "c"), 2), web("2").nominated("c").priority(9)],
            {"c": THEIRS},
            id="a nominated pod counts for the limit of a placed one",
        ),
        pytest.param(
            limited(web("new"), 1),
            [web("1").nominated("d").priority(9)],
            {},
            id="a nominated pod counts nowhere on a node without the key",
        ),
    ],
)
def test_nodes_are_refused(incoming: Json, placed: list[Json], expected: dict[str, str]) -> None:
    state = state_of(NODES, [], placed)
    assert actual_refusals(state, incoming, NAMES, plugins=LIMITS) == expected
    for name in NAMES:
        alone = {name: expected[name]} if name in expected else {}
        assert actual_refusals(state, incoming, [name], plugins=LIMITS) == alone


TEAM: dict[str, Any] = {"namespaceSelector": selector(team="a")}


@pytest.mark.parametrize(
    ("incoming", "placed", "expected"),
    [
        pytest.param(
            limited(web("new"), 1, **TEAM), [web("1", "c")], {"c": OWN}, id="it counts itself"
        ),
        pytest.param(
            web("new"), [limited(web("1", "c"), 1, **TEAM)], {"c": THEIRS}, id="a placed pod's"
        ),
        pytest.param(
            web("new"),
            [web("1", "c"), limited(web("2").nominated("c").priority(9), 2, **TEAM)],
            {"c": THEIRS},
            id="a nominated pod's",
        ),
    ],
)
def test_limits_are_about_namespaces_by_their_labels(
    incoming: Json, placed: list[Json], expected: dict[str, str]
) -> None:
    for labels, refused in (({"team": "a"}, expected), ({"team": "b"}, {}), ({}, {})):
        state = state_of(NODES, [namespace("default", labels)], placed)
        assert actual_refusals(state, incoming, NAMES, plugins=LIMITS) == refused


class Inside:
    """Keeps rules that pods carry from other namespaces."""

    def reaches_out(self, namespace: str) -> bool:
        del namespace
        return False

    def note(self, namespace: str) -> tuple[str, str]:
        return namespace, ""


class Outside(Inside):
    """Keeps none."""

    def reaches_out(self, namespace: str) -> bool:
        return not super().reaches_out(namespace)


@pytest.mark.parametrize(
    "limits",
    [
        pytest.param((Inside(),), id="one"),
        pytest.param((Inside(), Outside()), id="the first of two"),
        pytest.param((Outside(), Inside()), id="the last of two"),
    ],
)
def test_a_limit_that_reaches_no_other_namespace_counts_in_that_of_the_nominated_pod(
    limits: tuple[Inside, ...],
) -> None:
    held = limited(pod("held").nominated("c").priority(9), 0, namespaceSelector={})
    state = state_of(NODES, [namespace("default"), namespace("other")], [held])
    state.scope.limits = limits
    for space, expected in (("default", {"c": THEIRS}), ("other", {})):
        incoming = pod("new", space).labels(app="web")
        assert actual_refusals(state, incoming, NAMES, plugins=LIMITS) == expected


@pytest.mark.parametrize("keys", [(ZONE,), (HOST, ZONE), (ZONE, HOST)], ids=str)
def test_pods_that_hold_domains_count_in_each_of_these_for_each_limit(
    keys: tuple[str, ...],
) -> None:
    there = [web(f"held-{on}").nominated(on).priority(9) for on in ("a", "c")]
    terms = [term(key, WEB, maxMatchingPods=1) for key in keys]
    incoming = annotated(web("new"), {"podAntiAffinity": {REQUIRED: terms}})
    state = state_of(NODES, [], there)
    for each in map(model_pod, there):
        state.expect_nomination(each, str(each.status.nominated), 1.0, held=True)
    found = actual_refusals(state, incoming, NAMES, plugins=LIMITS)
    assert found == dict.fromkeys("abc", OWN)


@pytest.mark.parametrize("moves", [False, True])
def test_a_limit_is_counted_once_a_carrier(*, moves: bool) -> None:
    owner = limited(web("1", "a"), 2)
    state = state_of(NODES, [namespace("default")], [owner, limited(web("2", "b"), 2)])
    if moves:
        state.remove_pod("default/2", "default-2")
        state.upsert_pod(model_pod(limited(web("3", "c"), 2)))
    (found,) = state.existing_terms
    assert found.owners.by_value() == ({"x": 1, "y": 1} if moves else {"x": 2})
    assert state.existing_terms.limits == 1
    assert mismatches(state) == []


@pytest.mark.parametrize(("limits", "refused"), [(MOST_LIMITS, True), (MOST_LIMITS + 1, False)])
def test_a_namespace_has_a_say_by_so_many_limits(*, limits: int, refused: bool) -> None:
    chosen = [selector(requirement("k", "NotIn", f"{at}")) for at in range(limits)]
    owners = [
        limited(pod(f"o{at}").on("a"), 0, namespaceSelector=each) for at, each in enumerate(chosen)
    ]
    state = state_of(NODES, [namespace("default")], owners)
    expected = {"a": THEIRS, "b": THEIRS} if refused else {}
    assert actual_refusals(state, web("new"), NAMES, plugins=LIMITS) == expected


@pytest.mark.thorough
@pytest.mark.parametrize("seed", range(0, 400, 50))
def test_random_questions_are_answered_as_by_the_oracle(seed: int) -> None:
    assert [each for at in range(seed, seed + 50) for each in differences(at) if each] == []


def test_the_least_important_pods_are_victims_and_no_more_than_have_to_go() -> None:
    there = [web(str(number), "a").priority(number) for number in range(1, 5)]
    state = state_of(NODES, [], there)
    incoming = model_pod(limited(web("new").priority(9), 3))
    chosen = chosen_of(state, incoming, {"a": Victims((), 0)}, LIMITS, may_be_empty=False)
    assert chosen == {"a": Victims(["default-2", "default-1"], 0)}


def test_own_preemption_spares_the_most_important_pods_that_a_limit_allows() -> None:
    there = [web(str(number), "a").priority(number) for number in (2, 1, 3)]
    state = state_of(NODES, [], there)
    found = on_node(state, model_pod(limited(web("new").priority(9), 2)), LIMITS, "a")
    assert found is not None
    assert [each.uid for each in found.victims] == ["default-2", "default-1"]


@pytest.mark.parametrize(
    ("most", "victims"),
    [
        pytest.param(
            1, ["default-large"], id="whom the limit does not spare leaves room to others"
        ),
        pytest.param(2, ["default-plain"], id="whom it spares does not"),
    ],
)
def test_own_preemption_spares_as_many_as_there_is_room_for_beside_a_limit(
    most: int, victims: list[str]
) -> None:
    large = web("large", "a").priority(5).requests(cpu="4")
    plain = pod("plain").priority(1).requests(cpu="4").on("a")
    state = state_of(NODES, [], [large, plain])
    new = limited(web("new").priority(9).requests(cpu="5"), most)
    found = on_node(state, model_pod(new), LIMITS, "a")
    assert found is not None
    assert [each.uid for each in found.victims] == victims


def test_nobody_is_a_victim_where_the_others_are_too_many() -> None:
    there = [web("1", "a").priority(1), web("2", "b").priority(1), web("3", "b").priority(1)]
    state = state_of(NODES, [], there)
    incoming = model_pod(limited(web("new").priority(9), 1))
    assert chosen_of(state, incoming, {"a": Victims((), 0)}, LIMITS, may_be_empty=False) == {}


@pytest.mark.parametrize(
    ("placed", "broken"),
    [
        pytest.param([limited(web("1", "a"), 2), web("2", "b")], False, id="as many as allowed"),
        pytest.param(
            [limited(web("1", "a"), 2), web("2", "b"), web("3", "b")], True, id="one too many"
        ),
        pytest.param(
            [limited(web("1", "c"), 2), web("2", "a"), web("3", "a"), web("4", "b")],
            False,
            id="too many where no owner is",
        ),
    ],
)
def test_a_domain_above_its_limit_is_a_violation(placed: list[Json], *, broken: bool) -> None:
    state = state_of(NODES, [], placed)
    found: set[Violation] = set().union(*patrol(state, 100))
    assert [(each.domain, isinstance(each.term, LimitedTerm)) for each in found] == (
        [("x", True)] if broken else []
    )
    assert all(witnesses(state, each) is not None for each in found)


def test_where_none_is_allowed_a_domain_that_is_new_takes_none_either() -> None:
    state, alone = state_of(NODES, [namespace("default")], []), limited(web("new"), 0)
    assert "e" not in actual_refusals(state, alone, NAMES, plugins=LIMITS)
    state.upsert_node(model_node(node("e", {HOST: "e", ZONE: "z"})))
    assert actual_refusals(state, alone, [*NAMES, "e"], plugins=LIMITS)["e"] == OWN


def test_where_none_is_allowed_a_node_that_has_lost_its_domain_takes_any() -> None:
    state, alone = state_of(NODES, [namespace("default")], []), limited(web("new"), 0, HOST)
    assert {*actual_refusals(state, alone, NAMES, plugins=LIMITS)} == {*NAMES}
    state.upsert_node(model_node(node("c", {ZONE: "y"})))
    assert {*actual_refusals(state, alone, NAMES, plugins=LIMITS)} == {*NAMES} - {"c"}


def test_whose_limit_it_is_may_be_a_victim_though_he_does_not_count() -> None:
    owner = limited(DB.priority(1).on("a"), 1)
    state = state_of(NODES, [], [web("1", "a").priority(9), owner])
    incoming = model_pod(web("new").priority(9))
    chosen = chosen_of(state, incoming, {"a": Victims((), 0)}, LIMITS, may_be_empty=False)
    assert chosen == {"a": Victims(["default-db"], 0)}


def test_nominated_pods_cost_no_walk_over_all_domains_each(monkeypatch: pytest.MonkeyPatch) -> None:
    nodes = [node(f"n{number}", {HOST: f"n{number}"}) for number in range(40)]
    placed = [limited(web(f"p{number}", f"n{number}"), 1, HOST) for number in range(20)]
    waiting = [Pod(limited(web(f"w{number}"), 1, HOST)) for number in range(10)]
    pods = [*placed, *(each.nominated(f"n{30 + n}") for n, each in enumerate(waiting))]
    state = state_of(nodes, [], pods)
    made: list[Collection[int]] = []

    def noted(limit: DomainLimit, domains: Collection[int]) -> LimitRule:
        made.append(domains)
        return make(limit, domains)

    make = rules._rule
    monkeypatch.setattr(rules, "_rule", noted)
    asked = state.nodes.asked([f"n{number}" for number in range(40)])
    found = judge(state, model_pod(limited(web("new"), 1, HOST)), asked, ALONE)
    assert found.fits.names == [f"n{number}" for number in range(20, 30)]
    large = {id(each) for each in made if len(each) > 1}
    assert len(large) == 2, "its own limit, and that of the placed pods"
