"""A group with rules in annotations waits where the place of one member decides about another."""

from __future__ import annotations

from itertools import permutations

import pytest

from extender.core.cluster.state import ClusterState
from extender.core.model.objects import Pod as ModelPod
from extender.features.groups import annotated
from extender.features.groups.annotated import entangled
from extender.features.groups.ledger import Members
from tests.annotating import moved
from tests.beside import covering, needs_rules
from tests.builders import ZONE, Pod, model_pod, namespace, node, pod, selector, state_of, term

pytestmark = needs_rules

NODES = [node("a", {ZONE: "a"}), node("b", {ZONE: "b"})]
WEB, DB = selector(app="web"), selector(app="db")


def web(name: str) -> Pod:
    """Build a pod of the group that others may speak of."""
    return pod(name).labels(app="web", index=name).in_group("gang")


def solo(name: str) -> Pod:
    """Build one that wants a zone without its like."""
    return web(name).anti_affinity(term(ZONE, WEB))


def crew(name: str) -> Pod:
    """Build one that wants to be with its like."""
    return web(name).affinity(term(ZONE, WEB))


def worker(name: str) -> Pod:
    """Build one that nobody speaks of, and that wants to be where the web is."""
    return pod(name).in_group("gang").affinity(term(ZONE, WEB))


@pytest.mark.parametrize(
    ("asked", "there", "expected"),
    [
        pytest.param(solo("1"), [solo("1"), solo("2")], True, id="both repel each other"),
        pytest.param(web("1"), [web("1"), solo("2")], True, id="the other repels this one"),
        pytest.param(
            pod("3").in_group("gang"), [solo("1"), solo("2")], True, id="two others of the group"
        ),
        pytest.param(solo("1"), [solo("2")], True, id="the watch has not shown this one yet"),
        pytest.param(solo("1"), [solo("1")], False, id="alone it repels nobody"),
        pytest.param(solo("1"), [solo("1"), solo("2").on("a")], False, id="the other has its node"),
        pytest.param(
            solo("1"), [solo("1"), pod("2").in_group("gang")], False, id="the other is not meant"
        ),
        pytest.param(
            solo("1"),
            [solo("1"), pod("2").labels(app="web")],
            False,
            id="the other is in no group, so it is bound before the next is asked about",
        ),
        pytest.param(
            solo("1"),
            [solo("1"), pod("2").labels(app="web").in_group("other")],
            False,
            id="the other is in another group",
        ),
        pytest.param(
            web("1").anti_affinity(term(ZONE, DB)),
            [web(n).anti_affinity(term(ZONE, DB)) for n in "12"],
            False,
            id="they repel strangers",
        ),
        pytest.param(
            web("1").anti_affinity(term(ZONE, selector(index="1"))),
            [web(n).anti_affinity(term(ZONE, selector(index="1"))) for n in "12"],
            True,
            id="one of them is what all repel",
        ),
        pytest.param(
            web("1").anti_affinity(term(ZONE, selector(index="1"))),
            [web("1").anti_affinity(term(ZONE, selector(index="1"))), web("2")],
            False,
            id="one that repels nobody but itself",
        ),
        pytest.param(crew("1"), [crew("1"), crew("2")], True, id="either may start the crew"),
        pytest.param(
            crew("1"), [crew("1"), crew("2"), crew("3").on("a")], False, id="the crew has started"
        ),
        pytest.param(worker("1"), [worker("1"), web("leader")], True, id="a leader to follow"),
        pytest.param(web("leader"), [worker("1"), web("leader")], True, id="a leader to be"),
        pytest.param(
            worker("1"), [worker("1"), web("leader").on("a")], False, id="a leader that is placed"
        ),
        pytest.param(
            worker("1"), [worker("1"), worker("2")], False, id="a leader that is none of them"
        ),
        pytest.param(
            web("1").affinity(term(ZONE, WEB), term(ZONE, DB)),
            [web(n).affinity(term(ZONE, WEB), term(ZONE, DB)) for n in "12"],
            False,
            id="one wish of several that the other meets is not enough",
        ),
        pytest.param(
            web("1").avoids(100, term(ZONE, WEB)).prefers(100, term(ZONE, WEB)),
            [web(n).avoids(100, term(ZONE, WEB)) for n in "12"],
            False,
            id="soft rules refuse nobody",
        ),
    ],
)
def test_which_groups_are_left_alone(asked: Pod, there: list[Pod], expected: bool) -> None:
    state = state_of(NODES, [namespace("default")], [moved(each) for each in there])
    assert (entangled(state, model_pod(moved(asked))) is not None) is expected
    state = state_of(NODES, [namespace("default")], there)
    assert entangled(state, model_pod(asked)) is None, "the scheduler keeps rules in specs"


STRANGE, CLOSE = term(ZONE, DB), term(ZONE, WEB)
LIMIT = {"maxMatchingPods": 1}


@pytest.mark.parametrize(
    "made",
    [
        pytest.param(
            [web("x").anti_affinity(STRANGE, CLOSE), web("y"), web("z")], id="a term of several"
        ),
        pytest.param(
            [web("x").anti_affinity(STRANGE | LIMIT, CLOSE | LIMIT), web("y"), web("z")],
            id="a limit of several",
        ),
        pytest.param(
            [web("x").anti_affinity(STRANGE), web("y").anti_affinity(CLOSE), web("z")],
            id="a pod of several that keep away",
        ),
        pytest.param(
            [web("x").affinity(STRANGE), worker("y"), web("z")], id="a pod of several that follow"
        ),
        pytest.param(
            [web("x").affinity(STRANGE), web("y").anti_affinity(CLOSE), web("z")],
            id="one that keeps away beside one that follows",
        ),
    ],
)
def test_whichever_of_several_rules_speaks_of_another_entangles_them(made: list[Pod]) -> None:
    for there in permutations(made):
        state = state_of(NODES, [namespace("default")], [moved(each) for each in there])
        for asked in there:
            assert entangled(state, model_pod(moved(asked))) is not None


def test_a_limit_of_one_member_speaks_of_another() -> None:
    limited = {**term(ZONE, WEB), "maxMatchingPods": 1}
    there = [moved(web(n).anti_affinity(limited)) for n in "12"]
    state = state_of(NODES, [namespace("default")], there)
    assert entangled(state, model_pod(there[0])) is not None


def test_rules_in_annotations_that_do_not_count_leave_a_group_alone() -> None:
    state = ClusterState(scope=covering(None))
    there = [model_pod(moved(solo(n))) for n in "12"]
    state.book_with(Members(state))
    for each in there:
        state.upsert_pod(each)
    assert entangled(state, there[0]) is None


def test_a_pod_without_a_group_is_judged_whatever_waits_beside_it() -> None:
    loose = [moved(pod(n).labels(app="web").anti_affinity(term(ZONE, WEB))) for n in "12"]
    state = state_of(NODES, [namespace("default")], loose)
    assert entangled(state, model_pod(loose[0])) is None


def test_a_group_that_would_take_long_to_compare_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(annotated, "MOST_PAIRS", 1)
    there = [moved(web(n).anti_affinity(term(ZONE, DB))) for n in "12"]
    state = state_of(NODES, [namespace("default")], there)
    assert "too long to compare" in (entangled(state, model_pod(there[0])) or "")


def test_a_rule_that_many_members_have_counts_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(annotated, "MOST_PAIRS", 3)
    there = [moved(web(n).anti_affinity(term(ZONE, DB))) for n in "123"]
    state = state_of(NODES, [namespace("default")], there)
    assert entangled(state, model_pod(there[0])) is None


def test_a_group_is_compared_once_while_nothing_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    compared: list[str] = []
    compare = annotated._entangled

    def counted(state: ClusterState, group: str, pod: ModelPod) -> str | None:
        compared.append(pod.key)
        return compare(state, group, pod)

    monkeypatch.setattr(annotated, "_entangled", counted)
    one, two, three = (moved(web(n).anti_affinity(term(ZONE, DB))) for n in "123")
    state = state_of(NODES, [namespace("default")], [one, two])
    for each in (one, two, one):
        assert entangled(state, model_pod(each)) is None
    assert len(compared) == 1
    state.upsert_pod(model_pod(moved(web("3").anti_affinity(term(ZONE, WEB)))))
    assert entangled(state, model_pod(one)) is not None, "another member"
    state.upsert_pod(model_pod(three))
    assert entangled(state, model_pod(one)) is None, "a member that has changed"
    assert len(compared) == 3
    state.upsert_pod(model_pod(pod("stranger").on("a")))
    entangled(state, model_pod(one))
    assert len(compared) == 4, "a place"
    entangled(state, model_pod(moved(web("1").anti_affinity(term(ZONE, WEB)))))
    assert len(compared) == 5, "not as the watch has it"
