"""Label keys are merged once, the way the API server does on create."""

from __future__ import annotations

import time

import pytest

from extender.model.labels import NOTHING, Operator, Requirement, Selector
from extender.model.objects import PodClass
from extender.model.pod_affinity import Drift, PodSelector, Term, WrittenAffinity, WrittenTerm

HASH = "pod-template-hash"
APP = Requirement("app", Operator.IN, frozenset(("web",)))


def written(selector: Selector, *keys: str, mismatch: tuple[str, ...] = ()) -> WrittenTerm:
    """Write a term in the owner's namespace, on hostnames."""
    pods = PodSelector(selector, frozenset(("default",)))
    return WrittenTerm(Term(pods, "kubernetes.io/hostname"), keys, mismatch)


def has(operator: Operator, value: str) -> Requirement:
    """Build the requirement that merging HASH adds."""
    return Requirement(HASH, operator, frozenset((value,)))


IN_V1, NOT_V1 = (has(operator, "v1") for operator in (Operator.IN, Operator.NOT_IN))
NOT_OLD = has(Operator.NOT_IN, "old")
SEVERAL = frozenset(("v1", "v2"))
IN_SEVERAL, NOT_SEVERAL = (
    Requirement(HASH, operator, SEVERAL) for operator in (Operator.IN, Operator.NOT_IN)
)


@pytest.mark.parametrize(
    ("term", "labels", "expected"),
    [
        pytest.param(
            written(Selector((APP,)), HASH),
            {HASH: "v1"},
            Selector.of((APP, has(Operator.IN, "v1"))),
            id="matchLabelKeys asks for the owner's value",
        ),
        pytest.param(
            written(Selector((APP,)), mismatch=(HASH,)),
            {HASH: "v1"},
            Selector.of((APP, has(Operator.NOT_IN, "v1"))),
            id="mismatchLabelKeys asks for any other value",
        ),
        pytest.param(
            written(Selector((APP,)), HASH),
            {},
            Selector((APP,)),
            id="a key that the owner lacks is skipped",
        ),
        pytest.param(
            written(Selector.of((APP, has(Operator.IN, "old"))), HASH),
            {HASH: "new"},
            Selector.of((APP, has(Operator.IN, "old"))),
            id="a key that is merged already is left alone",
        ),
        pytest.param(
            written(Selector.of((APP, NOT_OLD)), mismatch=(HASH,)),
            {HASH: "new"},
            Selector.of((APP, NOT_OLD, has(Operator.NOT_IN, "new"))),
            id="a mismatch key joins what is written about the same key",
        ),
        pytest.param(
            written(Selector.of((APP, has(Operator.NOT_IN, "v1"))), mismatch=(HASH,)),
            {HASH: "v1"},
            Selector.of((APP, has(Operator.NOT_IN, "v1"))),
            id="a mismatch key that is merged already is there once",
        ),
        pytest.param(
            written(Selector.of((APP, has(Operator.IN, "x"))), mismatch=(HASH,)),
            {HASH: "y"},
            Selector.of((APP, has(Operator.IN, "x"), has(Operator.NOT_IN, "y"))),
            id="the same key with the other operator is merged",
        ),
        pytest.param(
            written(Selector(), HASH),
            {HASH: "v1"},
            Selector((has(Operator.IN, "v1"),)),
            id="an empty selector is narrowed",
        ),
        pytest.param(
            written(NOTHING, HASH), {HASH: "v1"}, NOTHING, id="a missing selector matches nothing"
        ),
    ],
)
def test_merging(term: WrittenTerm, labels: dict[str, str], expected: Selector) -> None:
    assert term.merged(labels).pods.selector == expected


def pod_class(rules: WrittenAffinity, labels: dict[str, str]) -> PodClass:
    """Build the class of a pod created with these labels."""
    return PodClass("default", labels, rules.merged(labels), rules)


def test_an_edited_label_does_not_merge_again() -> None:
    rules = WrittenAffinity(required_anti=(written(Selector((APP,)), HASH),))
    created, edited = pod_class(rules, {HASH: "v1"}), pod_class(rules, {HASH: "v2"})
    after = created.relabelled(edited)
    assert after.labels == {HASH: "v2"}
    assert after.affinity == created.affinity


@pytest.mark.parametrize(
    ("stored", "labels", "drift"),
    [
        pytest.param(
            written(Selector.of((APP, IN_V1)), HASH), {HASH: "v1"}, [], id="the label is as it was"
        ),
        pytest.param(
            written(Selector.of((APP, IN_V1)), HASH),
            {HASH: "v2"},
            [Drift(HASH, frozenset(("v1",)))],
            id="the label was edited",
        ),
        pytest.param(
            written(Selector.of((APP, IN_V1)), HASH),
            {},
            [Drift(HASH, frozenset(("v1",)))],
            id="the label was removed",
        ),
        pytest.param(
            written(Selector((APP,)), HASH),
            {HASH: "v1"},
            [Drift(HASH, frozenset())],
            id="the label was added",
        ),
        pytest.param(written(Selector((APP,)), HASH), {}, [], id="there never was a label"),
        pytest.param(
            written(Selector.of((APP, NOT_V1)), mismatch=(HASH,)),
            {HASH: "v1"},
            [],
            id="a mismatch key as it was",
        ),
        pytest.param(
            written(Selector.of((APP, NOT_V1)), mismatch=(HASH,)),
            {HASH: "v2"},
            [Drift(HASH, frozenset(("v1",)))],
            id="a mismatch key, the label was edited",
        ),
        pytest.param(
            written(Selector.of((APP, NOT_V1, NOT_OLD)), mismatch=(HASH,)),
            {HASH: "v1"},
            [],
            id="more was written about a mismatch key than was merged",
        ),
        pytest.param(
            written(Selector.of((APP, NOT_V1, NOT_OLD)), mismatch=(HASH,)),
            {},
            [Drift(HASH, frozenset(("v1", "old")))],
            id="the same after the label was removed",
        ),
        pytest.param(
            written(Selector.of((APP, NOT_V1, NOT_OLD)), mismatch=(HASH,)),
            {HASH: "v2"},
            [Drift(HASH, frozenset(("v1", "old")))],
            id="the same after the label was edited",
        ),
        pytest.param(
            written(Selector.of((APP, NOT_SEVERAL)), mismatch=(HASH,)),
            {},
            [],
            id="several values of a mismatch key were written, and there never was a label",
        ),
        pytest.param(
            written(Selector.of((APP, IN_SEVERAL)), HASH),
            {},
            [],
            id="several values were written, and there never was a label",
        ),
        pytest.param(
            written(Selector.of((APP, NOT_SEVERAL)), mismatch=(HASH,)),
            {HASH: "v1"},
            [Drift(HASH, frozenset())],
            id="several values were written, and the label was added",
        ),
        pytest.param(
            written(NOTHING, HASH), {HASH: "v1"}, [], id="without a selector no key counts"
        ),
        pytest.param(
            written(Selector.of((APP, IN_V1))), {HASH: "v2"}, [], id="a selector without label keys"
        ),
    ],
)
def test_drift(stored: WrittenTerm, labels: dict[str, str], drift: list[Drift]) -> None:
    assert [each for each in stored.drift(stored.term, labels) if each is not None] == drift


@pytest.mark.parametrize(
    "rules",
    [
        pytest.param(WrittenAffinity(required=(written(Selector(), HASH),)), id="affinity"),
        pytest.param(
            WrittenAffinity(required_anti=(written(Selector(), HASH),)), id="anti-affinity"
        ),
        pytest.param(WrittenAffinity(preferred=((written(Selector(), HASH), -1),)), id="preferred"),
    ],
)
def test_drift_is_found_in_every_kind_of_rule(rules: WrittenAffinity) -> None:
    created, edited = pod_class(rules, {HASH: "v1"}), pod_class(rules, {HASH: "v2"})
    assert list(filter(None, created.drift())) == []
    assert list(filter(None, created.relabelled(edited).drift())) == [
        Drift(HASH, frozenset(("v1",)))
    ]


def test_rules_that_were_rewritten_are_taken_over() -> None:
    created = pod_class(WrittenAffinity(), {HASH: "v1"})
    rules = WrittenAffinity(required_anti=(written(Selector((APP,)), HASH),))
    edited = pod_class(rules, {HASH: "v2"})
    assert created.relabelled(edited) is edited


def test_a_term_of_many_conditions_on_one_label_is_compared_in_one_pass() -> None:
    """Each has values of its own. All of them are one step, in which nobody else is served."""
    others = [Requirement(HASH, Operator.NOT_IN, (f"v{number}",)) for number in range(20_000)]
    term = written(Selector.of((APP, *others)), mismatch=(HASH,))
    begun = time.process_time()
    found = list(term.drift(term.term, {HASH: "v1"}))
    assert time.process_time() - begun < 0.3
    assert found == [None, None]
