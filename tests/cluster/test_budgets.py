"""Disruption budgets are found by an index, and it finds all of a pod and no others."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from extender.core.cluster.ledgers.budgets import MOST_OF_BUDGETS, BudgetLedger
from extender.core.model.disruption import PodDisruptionBudget
from extender.core.model.keys import key_of
from extender.core.model.labels import EVERYTHING, NOTHING, Operator, Requirement, Selector
from extender.core.model.objects import Pod
from tests.builders import model_pod, pod
from tests.calls import calls_during

SPACES, KEYS, VALUES = ("blue", "red"), ("app", "tier"), ("a", "b", "c")

requirements = st.builds(
    Requirement,
    st.sampled_from(KEYS),
    st.sampled_from((Operator.IN, Operator.NOT_IN)),
    st.frozensets(st.sampled_from(VALUES), min_size=1),
)
selectors = st.just(NOTHING) | st.builds(Selector.of, st.lists(requirements, max_size=2))
budgets = st.builds(
    lambda space, name, selector, allowed: PodDisruptionBudget(
        key_of(space, name), f"{space}-{name}", selector, allowed
    ),
    st.sampled_from(SPACES),
    st.sampled_from("vwxyz"),
    selectors,
    st.integers(0, 2),
)
pods = st.builds(
    lambda space, labels: model_pod(pod("x", space).labels(labels)),
    st.sampled_from(SPACES),
    st.dictionaries(st.sampled_from(KEYS), st.sampled_from(VALUES)),
)


@given(came=st.lists(budgets, max_size=12), gone=st.sets(st.sampled_from("vwxyz")), asked=pods)
def test_the_budgets_of_a_pod_are_found_as_they_come_change_and_go(
    came: list[PodDisruptionBudget], gone: set[str], asked: Pod
) -> None:
    ledger, kept = BudgetLedger(), {}
    for each in came:
        ledger.upsert(each)
        kept[each.key] = each
    for key in [key for key in kept if key[-1] in gone]:
        ledger.remove(key, "another")
        ledger.remove(key, kept.pop(key).uid)
    labels, space = asked.pod_class.labels, asked.pod_class.namespace
    selecting = [
        each for each in kept.values() if each.namespace == space and each.selector.matches(labels)
    ]
    expected = {each.key for each in selecting}
    found = [each.key for each in ledger.protecting(asked)]
    assert (len(found), {*found}) == (len(expected), expected)
    charged = [each for each in selecting if each.is_charged_for(asked)]
    assert bool(ledger.violated_by([asked])) is any(not each.allowed for each in charged)


def test_budgets_behind_the_first_by_name_that_is_overdrawn_are_not_charged() -> None:
    ledger = BudgetLedger()
    everyone = Selector.of([Requirement("tier", Operator.NOT_IN, frozenset("x"))])
    of_db = Selector.of([Requirement("app", Operator.IN, frozenset(("db",)))])
    ledger.upsert(PodDisruptionBudget(key_of("red", "b1"), "b1", everyone, 1))
    ledger.upsert(PodDisruptionBudget(key_of("red", "b0"), "b0", of_db, 0))
    db, web = (model_pod(pod(app, "red").labels(app=app)) for app in ("db", "web"))
    assert ledger.violated_by([db, web]) == {db.uid}


def test_budgets_of_other_applications_are_not_looked_at() -> None:
    ledger = BudgetLedger()
    for number in range(1_000):
        of_one = Selector.of([Requirement("app", Operator.IN, frozenset((f"a{number}",)))])
        ledger.upsert(PodDisruptionBudget(key_of("red", f"b{number}"), f"u{number}", of_one, 1))
    victims = [model_pod(pod(f"p{n}", "red").labels(app=f"a{n // 2}")) for n in range(100)]
    before = ledger._index.compared
    assert len(ledger.violated_by(victims)) == 50
    assert ledger._index.compared - before == len(victims)


def of_one_namespace(number: int, *conditions: Requirement) -> BudgetLedger:
    """Write so many budgets with the same conditions that each allow one pod to go."""
    ledger, selector = BudgetLedger(), Selector.of(conditions)
    for each in range(number):
        ledger.upsert(PodDisruptionBudget(key_of("red", f"b{each}"), f"u{each}", selector, 1))
    return ledger


IN_APP = Requirement("app", Operator.IN, frozenset("a"))
NOT_A = Selector.of([Requirement("app", Operator.NOT_IN, frozenset("a"))])
NOT_IN_MANY = [Requirement(f"k{n}", Operator.NOT_IN, frozenset("a")) for n in range(5_000)]


@pytest.mark.parametrize(
    ("number", "conditions"),
    [
        pytest.param(5_000, [IN_APP], id="all select it"),
        pytest.param(5_000, NOT_IN_MANY[:1], id="no index finds them"),
        pytest.param(1, NOT_IN_MANY, id="one has thousands of conditions"),
    ],
)
def test_a_pod_for_which_very_much_has_to_be_compared_is_beyond_a_budget(
    number: int, conditions: list[Requirement]
) -> None:
    ledger = of_one_namespace(number, *conditions)
    victims = [model_pod(pod(f"p{n}", "red").labels(app="a")) for n in range(100)]
    others = [model_pod(pod("p", "blue").labels(app="a")), model_pod(pod("without", "red"))]
    found, calls = calls_during(lambda: ledger.violated_by([*victims, *others]))
    assert found == {each.uid for each in victims}
    assert calls < 300 * len(victims)


def test_a_pod_of_fewer_budgets_is_charged_for_each() -> None:
    ledger = of_one_namespace(MOST_OF_BUDGETS // 2, IN_APP)
    first, second = (model_pod(pod(name, "red").labels(app="a")) for name in "xy")
    assert ledger.violated_by([first, second]) == {second.uid}
    assert ledger.violations([first], [second]) == 1


@pytest.mark.parametrize(
    ("selector", "labels", "before", "now"),
    [
        pytest.param(EVERYTHING, {"app": "a"}, False, True, id="an empty one"),
        pytest.param(EVERYTHING, {}, False, True, id="an empty one, of a pod without labels"),
        pytest.param(NOT_A, {}, False, True, id="by absence, a pod without labels"),
        pytest.param(NOT_A, {"tier": "b"}, True, True, id="by absence, a pod with others"),
        pytest.param(NOT_A, {"app": "a"}, False, False, id="not one that does not match"),
        pytest.param(NOTHING, {"app": "a"}, False, False, id="a missing one, nobody"),
    ],
)
def test_whom_a_budget_protects_before_1_38_and_since(
    selector: Selector, labels: dict[str, str], *, before: bool, now: bool
) -> None:
    victim = model_pod(pod("p", "red").labels(labels))
    for empty_selects_all, expected in ((False, before), (True, now)):
        ledger = BudgetLedger(empty_selects_all=empty_selects_all)
        ledger.upsert(PodDisruptionBudget(key_of("red", "b"), "u", selector, 0))
        ledger.upsert(PodDisruptionBudget(key_of("blue", "b"), "v", EVERYTHING, 0))
        assert bool(ledger.violated_by([victim])) is expected


def test_what_a_budget_allows_is_what_was_said_last() -> None:
    ledger = BudgetLedger()
    with_app = Selector.of([Requirement("app", Operator.EXISTS)])
    of_all = PodDisruptionBudget(key_of("red", "b"), "u", with_app, 0)
    ledger.upsert(of_all)
    victim = model_pod(pod("p", "red").labels(app="a"))
    assert ledger.violated_by([victim]) == {victim.uid}
    ledger.upsert(replace(of_all, allowed=1))
    assert not ledger.violated_by([victim])
