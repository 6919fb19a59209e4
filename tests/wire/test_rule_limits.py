"""How many rules about other pods a pod may have, and what becomes of one that has more."""

from __future__ import annotations

import json

import pytest

from extender.core.wire.limits import OF_RULES as MOST
from tests.annotating import REQUIRED, annotated
from tests.beside import AFFINITY_ANNOTATION, needs_rules
from tests.builders import HOST, ZONE, Pod, model_pod, pod, requirement, selector, state_of, term
from tests.hostile import narrow

AT = f"metadata.annotations[{AFFINITY_ANNOTATION}]"
MORE = MOST.terms + 9


def _wide(values: int) -> Pod:
    said = {"matchExpressions": [requirement("app", "In", *(f"a{n}" for n in range(values)))]}
    return pod("p").affinity(term(ZONE, said))


def test_as_many_terms_as_a_pod_may_have() -> None:
    read = model_pod(pod("p").anti_affinity(*narrow(MOST.terms)))
    assert (len(read.pod_class.affinity), read.spec.broken_rules) == (MOST.terms, None)


def test_terms_beyond_the_limit_are_left_out_in_the_order_of_the_spec() -> None:
    made = pod("p").affinity(*narrow(10)).anti_affinity(*narrow(MORE))
    made = made.prefers(5, term(ZONE, selector(app="b")))
    read = model_pod(made)
    found = read.pod_class.affinity
    # Of a spec: podAffinity, required before preferred, then podAntiAffinity.
    kept = pod("p").affinity(*narrow(10)).anti_affinity(*narrow(MOST.terms - 11))
    expected = model_pod(kept.prefers(5, term(ZONE, selector(app="b")))).pod_class.affinity
    assert found == expected
    last = f"the last {MORE + 11 - MOST.terms} count nowhere"
    fault = f"{MORE + 11} terms are more than {MOST.terms}; {last}"
    assert read.spec.broken_rules == ("spec.affinity", fault)


@pytest.mark.parametrize(
    ("made", "terms"),
    [
        pytest.param(_wide(MOST.conditions), 1, id="as many values as a pod may have"),
        pytest.param(_wide(MOST.conditions + 1), 0, id="more values"),
        pytest.param(
            pod("p").affinity(
                term(HOST, selector(a="b"), namespaces=[f"n{n}" for n in range(MOST.conditions)])
            ),
            0,
            id="names of namespaces",
        ),
        pytest.param(
            pod("p").affinity(
                term(ZONE, selector(a="b")),
                term(ZONE, {"matchExpressions": [requirement("a", "Exists")] * MOST.conditions}),
                term(HOST, selector(a="b")),
            ),
            1,
            id="none after the first that is too long",
        ),
    ],
)
def test_conditions_and_values_and_names_are_counted(made: Pod, terms: int) -> None:
    read = model_pod(made)
    assert len(read.pod_class.affinity) == terms
    fault = read.spec.broken_rules
    if terms == len(made["spec"]["affinity"]["podAffinity"][REQUIRED]):
        assert fault is None
    else:
        assert fault is not None
        assert f"conditions, values and names are more than {MOST.conditions}" in fault[1]


@needs_rules
def test_an_annotation_counts_with_the_spec() -> None:
    own = pod("p").anti_affinity(*narrow(MOST.terms - 3))
    for added, fault in ((3, None), (4, f"{MOST.terms + 1} terms are more than {MOST.terms}")):
        read = model_pod(annotated(own, {"podAntiAffinity": {REQUIRED: narrow(added)}}))
        if fault is None:
            assert (len(read.pod_class.affinity), read.spec.broken_rules) == (MOST.terms, None)
        else:
            assert len(read.pod_class.affinity) == MOST.terms - 3
            assert read.spec.broken_rules == (AT, f"with those of spec.affinity, {fault}")


def test_a_placed_pod_is_named_whatever_annotations_do() -> None:
    made = pod("p").anti_affinity(*narrow(MORE)).on("n1")
    state = state_of([], [], [made, pod("q").on("n1")])
    assert [each.key for each in state.broken_rules] == ["default/p"]
    assert (len(state.broken_rules), state.broken_rules.ignored) == (1, 0)
    with_annotation = annotated(made, {"podAffinity": {REQUIRED: json.loads("[]")}})
    state.upsert_pod(model_pod(with_annotation))
    assert len(state.broken_rules) == 1
    state.upsert_pod(model_pod(pod("p").on("n1")))
    assert [*state.broken_rules] == []
    assert len(state.broken_rules) == 0
