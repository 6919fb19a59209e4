"""The recount of quotas, while the program runs."""

from __future__ import annotations

import pytest

from extender.core.model.signed import shift
from extender.features.quota import ledger
from extender.features.quota.ledger import quotas_of
from tests.builders import (
    ZONE,
    Pod,
    crossing,
    model_pod,
    node,
    pod,
    quota,
    selector,
    state_of,
    term,
)


def crossing_pod(number: int, cpu: str = "1") -> Pod:
    made = pod(f"p{number}").affinity(term(ZONE, selector(app="web"), namespaces=["other"]))
    return made.requests(cpu=cpu).on("n")


@pytest.mark.parametrize("late", [False, True], ids=["the same all the time", "changing meanwhile"])
def test_quotas_are_recounted_some_pods_at_a_time(
    monkeypatch: pytest.MonkeyPatch, *, late: bool
) -> None:
    monkeypatch.setattr(ledger, "AUDITED_PODS", 10)
    monkeypatch.setattr(ledger, "AUDITED_CHARGES", 10)
    limits = [quota(f"q{number}", {"pods": 99}, crossing()) for number in range(5)]
    pods = [crossing_pod(number, cpu=f"{number}") for number in range(35)]
    state = state_of([node("n", {})], [], pods, limits)
    steps = quotas_of(state).audit()
    assert next(steps) is None
    if late:
        state.remove_pod("default/p3", "default-p3")
        state.upsert_pod(model_pod(crossing_pod(40)))
    rest = list(steps)
    assert len(rest) >= 2 + 5
    assert {*rest} == {None}


@pytest.mark.parametrize("what", ["used", "charges", "pods"])
def test_a_quota_that_is_wrong_is_noticed(what: str) -> None:
    state = state_of([node("n", {})], [], [crossing_pod(1)], [quota("q", {"pods": 3}, crossing())])
    known = quotas_of(state)
    if what == "used":
        (in_use,) = known.of("default")
        in_use.used["pods"] = 2
    elif what == "charges":
        (charge,) = known.charges("default")
        known._charges["default"][charge] = 2
        known.pods = 2
    else:
        known.pods = 5
    found = [each for each in quotas_of(state).audit() if each is not None]
    expected = "the sum of all namespaces" if what == "pods" else "default"
    assert found == [f"quotas of {expected}"]


@pytest.mark.parametrize(
    ("where", "more"),
    [
        pytest.param("default", -1, id="fewer than there are"),
        pytest.param("default", 1, id="more than there are"),
        pytest.param("shop", 1, id="some where there are none"),
        pytest.param("nowhere", 1, id="some in a namespace that there is not"),
    ],
)
def test_charges_that_no_pod_makes_are_noticed_as_those_that_are_missed(
    where: str, more: int
) -> None:
    """All else agrees with them: the sum, and what is used of the quota."""
    limits = [quota("q", {"pods": 3}, crossing(), namespace_name=where)]
    state = state_of([node("n", {})], [], [crossing_pod(1), crossing_pod(2)], limits)
    known = quotas_of(state)
    (charge, *_) = known.charges("default")
    shift(known._charges.setdefault(where, {}), charge, more)
    known.pods += more
    for each in known.of(where):
        each.count(charge, more)
    found = [each for each in quotas_of(state).audit() if each is not None]
    assert found == [f"quotas of {where}"]
