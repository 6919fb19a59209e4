"""Label keys are merged once, the way the API server does on create."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec import structs

from extender.core.model.labels import NOTHING, Operator, Requirement, Selector
from extender.core.model.objects import PodClass
from extender.core.model.pod_affinity import PodSelector, Term, WrittenAffinity, WrittenTerm

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


@pytest.mark.parametrize(
    "others",
    [
        pytest.param({}, id="none beside the selector"),
        pytest.param({"namespaces": frozenset(("a", "b"))}, id="namespaces"),
        pytest.param({"namespace_selector": Selector((APP,))}, id="a namespaceSelector"),
        pytest.param({"namespace_selector": Selector()}, id="all namespaces"),
    ],
)
@pytest.mark.parametrize("key", ["match", "mismatch"])
def test_merging_changes_the_selector_and_nothing_else(others: dict[str, Any], key: str) -> None:
    plain = written(Selector((APP,)))
    term = Term(structs.replace(plain.term.pods, **others), "zone")
    operator = Operator.IN if key == "match" else Operator.NOT_IN
    keys = ((HASH,), ()) if key == "match" else ((), (HASH,))
    expected = structs.replace(term.pods, selector=Selector.of((APP, has(operator, "v1"))))
    assert WrittenTerm(term, *keys).merged({HASH: "v1"}) == Term(expected, "zone")


def pod_class(rules: WrittenAffinity, labels: dict[str, str]) -> PodClass:
    """Build the class of a pod created with these labels."""
    return PodClass("default", labels, rules.merged(labels), rules)


def test_an_edited_label_does_not_merge_again() -> None:
    rules = WrittenAffinity(required_anti=(written(Selector((APP,)), HASH),))
    created, edited = pod_class(rules, {HASH: "v1"}), pod_class(rules, {HASH: "v2"})
    after = created.relabelled(edited)
    assert after.labels == {HASH: "v2"}
    assert after.affinity == created.affinity


def test_rules_that_were_rewritten_are_taken_over() -> None:
    created = pod_class(WrittenAffinity(), {HASH: "v1"})
    rules = WrittenAffinity(required_anti=(written(Selector((APP,)), HASH),))
    edited = pod_class(rules, {HASH: "v2"})
    assert created.relabelled(edited) is edited
