"""Filter and prioritize against the naive evaluator, on clusters nobody would think of."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from extender.core.verbs.inter_pod_affinity import min_max
from extender.core.verbs.prioritizing import scale
from extender.core.wire.affinity import Gates
from tests import oracle, strategies
from tests.builders import state_of
from tests.verbs.judging import (
    MAX_SCORE,
    actual_refusals,
    actual_scores,
    expected_refusals,
    expected_scores,
)


@pytest.mark.thorough
@given(data=st.data())
def test_answers_equal_the_oracles(data: st.DataObject) -> None:
    cluster = data.draw(strategies.clusters(), label="cluster")
    pod = data.draw(strategies.incoming_pods(cluster), label="pod")
    names = data.draw(strategies.asked_names(cluster), label="names")
    args = data.draw(strategies.plugin_args(), label="args")
    state = state_of(cluster.nodes, cluster.namespaces, cluster.pods)

    assert actual_refusals(state, pod, names) == expected_refusals(cluster, pod, names, args)
    assert actual_scores(state, pod, names, args) == expected_scores(cluster, pod, names, args)


@pytest.mark.thorough
@given(data=st.data(), gates=st.builds(Gates, st.booleans(), st.booleans()))
def test_fields_whose_gate_is_off_mean_nothing(data: st.DataObject, gates: Gates) -> None:
    cluster = data.draw(strategies.clusters(), label="cluster")
    pod = data.draw(strategies.incoming_pods(cluster), label="pod")
    names = data.draw(strategies.asked_names(cluster), label="names")
    args = replace(
        data.draw(strategies.plugin_args(), label="args"),
        match_label_keys=gates.match_label_keys,
        namespace_selector=gates.namespace_selector,
    )
    state = state_of(cluster.nodes, cluster.namespaces, cluster.pods, gates=gates)

    expected = expected_refusals(cluster, pod, names, args)
    assert actual_refusals(state, pod, names, gates) == expected
    ranked = expected_scores(cluster, pod, names, args)
    assert actual_scores(state, pod, names, args, gates) == ranked


@pytest.mark.thorough
@given(data=st.data())
def test_an_answer_does_not_depend_on_what_was_asked_before(data: st.DataObject) -> None:
    cluster = data.draw(strategies.clusters(), label="cluster")
    pods = [data.draw(strategies.incoming_pods(cluster)) for _ in range(3)]
    names = data.draw(strategies.asked_names(cluster), label="names")
    args = data.draw(strategies.plugin_args(), label="args")
    state = state_of(cluster.nodes, cluster.namespaces, cluster.pods)

    for pod in [*pods, *reversed(pods)]:
        assert actual_refusals(state, pod, names) == expected_refusals(cluster, pod, names, args)
        assert actual_scores(state, pod, names, args) == expected_scores(cluster, pod, names, args)


@example(raw=[0, 29, 100])
@given(raw=st.lists(st.integers(-10_000, 10_000), min_size=1, max_size=8))
def test_scores_are_scaled_to_the_last_digit(raw: list[int]) -> None:
    expected = oracle.normalised({str(score): score for score in raw})
    scaled = scale(min_max(raw), MAX_SCORE)
    assert {str(score): scaled[score] for score in raw} == expected
