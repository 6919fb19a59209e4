"""For how long a refused pod is remembered that nobody shows, and what changes may help one."""

from __future__ import annotations

import pytest
from hypothesis import event, given
from hypothesis import strategies as st

from extender.core.model.node_resources import HARD, NO_REQUIREMENTS, Requirements
from extender.core.model.verdict import Reason
from extender.core.timing import LONGEST_PAUSE_SECONDS
from extender.core.verbs.filtering import judge
from extender.features.refused_pods.refusals import (
    GONE_SECONDS,
    TRIED,
    WHOLE_SEARCH,
    Refusal,
    changes_for,
)
from tests import builders, strategies
from tests.builders import model_pod, pod, state_of
from tests.verbs.judging import AFFINITY

HEARD = 100.0


def refusal() -> Refusal:
    return Refusal(model_pod(pod("one")), HEARD)


def seconds_of_looking(refused: Refusal, start: float) -> float:
    """Return for how long after `start` somebody goes on to look for a pod that is not shown."""
    now = start
    while (wait := refused.wait_for_watch(now, known=False)) is not None:
        assert wait <= (now - HEARD) / 8, "it is found soon after it is shown"
        now += wait
    return now - start


def test_nobody_waits_for_a_pod_that_is_shown() -> None:
    assert refusal().wait_for_watch(HEARD + 0.03, known=True) is None


def test_a_pod_that_was_never_shown_is_looked_for_until_the_scheduler_comes_back() -> None:
    looked = seconds_of_looking(refusal(), HEARD + 0.03)
    assert looked == pytest.approx(LONGEST_PAUSE_SECONDS, rel=0.15)


def test_a_pod_that_was_shown_and_is_gone_is_soon_forgotten() -> None:
    refused = refusal()
    refused.wait_for_watch(HEARD + 0.03, known=True)
    looked = seconds_of_looking(refused, HEARD + 0.1)
    assert looked == pytest.approx(GONE_SECONDS, rel=0.15)


def test_a_pod_that_is_refused_anew_is_looked_for_anew() -> None:
    refused = refusal()
    later = HEARD + LONGEST_PAUSE_SECONDS
    assert refused.wait_for_watch(later, known=False) is None
    refused.heard = later
    assert refused.wait_for_watch(later + 0.1, known=False) == pytest.approx(0.1 / 8)


FEW, MANY = ([f"n{number}" for number in range(WHOLE_SEARCH - less)] for less in (1, 0))
DISK = Requirements(unmodelled=(HARD[0],))


@pytest.mark.parametrize(
    ("names", "requirements", "passed"),
    [
        pytest.param(FEW, NO_REQUIREMENTS, FEW, id="all nodes were asked about"),
        pytest.param(MANY, NO_REQUIREMENTS, None, id="a sample of the nodes was asked about"),
        pytest.param(
            MANY, DISK, MANY, id="a sample, and only the scheduler knows which nodes suit"
        ),
        pytest.param(None, DISK, ["before"], id="no nodes are told"),
    ],
)
def test_which_nodes_the_scheduler_let_through(
    names: list[str] | None, requirements: Requirements, passed: list[str] | None
) -> None:
    refused = Refusal(model_pod(pod("one")).with_spec(requirements=requirements), HEARD)
    refused.passed = frozenset(("before",))
    refused.refused = None if names is None else ((Reason.ANTI_AFFINITY, names),)
    refused.take_up()
    assert refused.passed == (None if passed is None else frozenset(passed))


@pytest.mark.thorough
@given(data=st.data())
def test_a_pod_that_takes_a_place_opens_none_for_those_whom_that_cannot_help(
    data: st.DataObject,
) -> None:
    cluster = data.draw(strategies.clusters(), label="cluster")
    waits = model_pod(data.draw(strategies.incoming_pods(cluster, placed=False), label="waits"))
    state = state_of(cluster.nodes, cluster.namespaces, cluster.pods)
    asked = state.nodes.asked(list(state.nodes))

    def fitting() -> set[str]:
        return {*judge(state, waits, asked, AFFINITY).fits.names}

    before, fits = changes_for(state, waits), fitting()
    alike = data.draw(strategies.incoming_pods(cluster, placed=False), label="alike")
    newcomer = builders.pod("x", waits.pod_class.namespace).labels(alike["metadata"]["labels"])
    state.upsert_pod(model_pod(newcomer.on(data.draw(st.sampled_from(strategies.NODE_NAMES)))))
    if changes_for(state, waits) == before:
        event("whom it cannot help")
        assert fitting() <= fits
    else:
        event("who may want company")


@pytest.mark.parametrize("number", [1, TRIED, TRIED + 1, 3 * TRIED])
def test_of_the_nodes_that_were_of_no_use_the_latest_are_remembered(number: int) -> None:
    refused = refusal()
    for each in range(number):
        refused.fail(f"n{each}", HEARD + each)
    assert refused.tried == tuple(f"n{each}" for each in range(max(0, number - TRIED), number))
    assert refused.tried[-1] == f"n{number - 1}"


@pytest.mark.parametrize(
    ("seconds", "outlook", "left"),
    [
        pytest.param(1.0, "before", LONGEST_PAUSE_SECONDS - 1.0, id="nothing has changed"),
        pytest.param(1.0, "another", None, id="something has"),
        pytest.param(LONGEST_PAUSE_SECONDS, "before", None, id="its time is over"),
    ],
)
def test_a_pod_whose_node_the_scheduler_refused_is_held_until_either_ends(
    seconds: float, outlook: str, left: float | None
) -> None:
    refused = refusal()
    refused.hold("before", HEARD)
    assert refused.held(outlook, HEARD + seconds) == left
    # What has ended begins again by another refusal alone.
    assert refused.held("before", HEARD + seconds) == left
