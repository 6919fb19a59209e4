"""ResourceQuotas, as files and the API server spell them."""

from __future__ import annotations

from typing import Any

import pytest

from extender.core.errors import ObjectError
from extender.core.wire.quantities import BILLIONTHS
from extender.features.quota.quotas import Charge, ResourceQuota
from tests.builders import crossing, quota
from tests.features.quota.limits import model_quota

PLAIN = Charge(())
LATE = Charge((), terminating=True)
HIGH = Charge((), priority_class="high", best_effort=True)
EXPRESSION = "spec.scopeSelector.matchExpressions[0]"
EVERYBODY = {"plain", "late", "high"}


def applies_to(found: ResourceQuota) -> set[str]:
    """Say which of three pods in scope a quota is about."""
    charges = {"plain": PLAIN, "late": LATE, "high": HIGH}
    return {name for name, charge in charges.items() if found.applies_to(charge)}


def priority(operator: str | None, *values: str) -> dict[str, Any]:
    """Build an expression about the priority class."""
    built: dict[str, Any] = {"scopeName": "PriorityClass"}
    if operator:
        built["operator"] = operator
    return built | ({"values": list(values)} if values else {})


@pytest.mark.parametrize(
    ("expressions", "scopes", "who"),
    [
        pytest.param([crossing()], [], EVERYBODY, id="the scope"),
        pytest.param([], ["CrossNamespacePodAffinity"], EVERYBODY, id="in the older list"),
        pytest.param(
            [{"scopeName": "CrossNamespaceAffinity"}],
            [],
            EVERYBODY,
            id="the proposal's name, without an operator",
        ),
        pytest.param(
            [], ["CrossNamespaceAffinity", "Terminating"], {"late"}, id="both lists at once: all"
        ),
        pytest.param([crossing()], ["NotTerminating"], {"plain", "high"}, id="no deadline"),
        pytest.param([crossing(), {"scopeName": "BestEffort"}], [], {"high"}, id="best effort"),
        pytest.param([crossing()], ["NotBestEffort"], {"plain", "late"}, id="not best effort"),
        pytest.param([crossing()], ["PriorityClass"], {"high"}, id="any class, the older way"),
        pytest.param([crossing(), priority(None)], [], {"high"}, id="any class"),
        pytest.param([crossing(), priority("In", "high", "low")], [], {"high"}, id="one of some"),
        pytest.param([crossing(), priority("In", "low")], [], set(), id="one of others"),
        pytest.param(
            [crossing(), priority("NotIn", "high")],
            [],
            {"plain", "late"},
            id="not this class: pods without any are meant",
        ),
        pytest.param(
            [crossing(), priority("DoesNotExist")], [], {"plain", "late"}, id="without any class"
        ),
        pytest.param(
            [crossing(), {"scopeName": "VolumeAttributesClass"}], [], set(), id="not about pods"
        ),
        *(
            pytest.param(
                [crossing(), {"scopeName": "VolumeAttributesClass", "operator": how, **of}],
                [],
                set(),
                id=f"not about pods, {how}",
            )
            for how, of in (
                ("In", {"values": ["gold"]}),
                ("NotIn", {"values": ["gold"]}),
                ("DoesNotExist", {}),
            )
        ),
    ],
)
def test_whom_a_quota_is_about(expressions: Any, scopes: list[str], who: set[str]) -> None:
    found = model_quota(quota("q", {"pods": "1"}, *expressions, scopes=scopes))
    assert found.is_about_crossing
    assert applies_to(found) == who


@pytest.mark.parametrize(
    "raw",
    [
        pytest.param(quota("q", {"pods": "1"}), id="no scope: about all pods"),
        pytest.param(quota("q", {"pods": "1"}, priority("Exists")), id="another scope"),
        pytest.param({"metadata": {"name": "q"}}, id="no spec"),
    ],
)
def test_quotas_of_other_scopes_are_not_about_crossing(raw: Any) -> None:
    assert not model_quota(raw).is_about_crossing


def test_what_a_quota_limits() -> None:
    raw = quota("q", {"pods": 3, "requests.memory": "1Ki", "limits.cpu": "1m"}, crossing())
    found = model_quota(raw)
    assert (found.key, found.uid, found.namespace) == ("default/q", "quota-q", "default")
    assert found.hard == {
        "pods": 3 * BILLIONTHS,
        "requests.memory": 1024 * BILLIONTHS,
        "limits.cpu": BILLIONTHS // 1000,
    }


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        pytest.param(
            quota("q", {"pods": "many"}), "spec.hard.pods: 'many' is not a quantity", id="a limit"
        ),
        pytest.param(
            quota("q", {}, scopes=["Crossing"]), "spec.scopes[0]: 'Crossing' is no", id="a scope"
        ),
        pytest.param(
            quota("q", {}, crossing(scopeName="Crossing")),
            f"{EXPRESSION}.scopeName: 'Crossing' is not a scope",
            id="a scope in an expression",
        ),
        pytest.param(
            quota("q", {}, crossing(operator="DoesNotExist")),
            f"{EXPRESSION}.operator: scope CrossNamespacePodAffinity takes",
            id="an operator that only a priority class takes",
        ),
        pytest.param(
            quota("q", {}, crossing(operator="Is")), "spec.scopeSelector", id="no operator at all"
        ),
        pytest.param(
            quota("q", {}, priority("In")),
            f"{EXPRESSION}.values: operator In takes at least one value",
            id="no values",
        ),
        pytest.param(
            quota("q", {}, crossing(values=["x"])),
            f"{EXPRESSION}.values: operator Exists takes no values",
            id="values where none belong",
        ),
    ],
)
def test_what_is_wrong_is_named(raw: Any, expected: str) -> None:
    with pytest.raises(ObjectError) as caught:
        model_quota(raw)
    assert str(caught.value).startswith(expected)
