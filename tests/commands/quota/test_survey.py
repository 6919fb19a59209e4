"""Who uses cross-namespace affinity, and whom a quota refuses or would refuse."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from affinityctl.commands.quota.survey import survey
from extender.core.cluster.state import ClusterState
from extender.core.wire.quantities import BILLIONTHS
from extender.features.quota.ledger import quotas_of
from extender.features.quota.rules import Cause
from extender.features.quota.survey import Refusal
from tests.builders import Pod, crossing, node, pod, quota, selector, state_of, term

FAR = term("zone", selector(app="none"), namespaceSelector={})


def user(name: str, namespace: str = "shop", cpu: str | None = None) -> Pod:
    """Build a pod that uses affinity across namespaces."""
    made = pod(name, namespace).anti_affinity(FAR)
    made["spec"]["containers"] = [{"resources": {"requests": {"cpu": cpu}} if cpu else {}}]
    return made


def cluster() -> ClusterState:
    """Build a cluster with users in two namespaces and a quota without users in a third."""
    return state_of(
        [node("n")],
        [],
        [
            user("waits"),
            user("b", cpu="1").on("n"),
            user("a", cpu="2").on("n"),
            user("late").deadline(9).on("n"),
            user("done").on("n").phase("Succeeded"),
            pod("plain", "shop").on("n"),
            user("alone", "office"),
            pod("plain", "yard").on("n"),
        ],
        [
            quota("q", {"pods": 3}, crossing(), namespace_name="shop"),
            quota("barred", {"pods": 0}, crossing(), namespace_name="zoo"),
        ],
    )


def keys(refusals: Sequence[Refusal]) -> list[str]:
    return [each.pod.key for each in refusals]


def test_each_namespace_with_users_or_quotas_is_told() -> None:
    office, shop, zoo = survey(cluster())
    assert (office.name, shop.name, zoo.name) == ("office", "shop", "zoo")
    assert [pod.key for pod in shop.placed] == ["shop/a", "shop/b", "shop/late"]
    assert [pod.key for pod in shop.waiting] == ["shop/waits"]
    assert (office.in_scope, shop.in_scope, zoo.in_scope) == (1, 4, 0)
    ((used,), (limit,)) = ([each.used for each in shop.quotas], [each.used for each in zoo.quotas])
    assert (used, limit) == ({"pods": 3 * BILLIONTHS}, {})


def test_who_waits_for_a_quota() -> None:
    office, shop, _ = survey(cluster())
    assert (keys(office.refused_now), keys(shop.refused_now)) == ([], ["shop/waits"])
    assert shop.refused_now[0].shortfall.cause is Cause.EXCEEDED
    office, shop, _ = survey(cluster(), limited=True)
    assert (keys(office.refused_now), keys(shop.refused_now)) == (["office/alone"], ["shop/waits"])
    assert office.refused_now[0].shortfall.cause is Cause.UNCOVERED


@pytest.mark.parametrize(
    ("hard", "refused"),
    [
        pytest.param({"pods": 0}, ["shop/a", "shop/b", "shop/late", "shop/waits"], id="barred"),
        pytest.param({"pods": 2}, ["shop/late", "shop/waits"], id="placed ones come first"),
        pytest.param({"pods": 4}, [], id="room for all"),
        pytest.param(
            {"requests.cpu": 2},
            ["shop/b", "shop/late", "shop/waits"],
            id="cpu, which not all ask for",
        ),
        pytest.param(
            {"limits.memory": 9, "pods": 9},
            ["shop/a", "shop/b", "shop/late", "shop/waits"],
            id="a limit that nobody sets",
        ),
        pytest.param({}, [], id="no limit at all"),
    ],
)
def test_whom_another_quota_would_refuse(hard: dict[str, int], refused: list[str]) -> None:
    state = cluster()
    what_if = {name: amount * BILLIONTHS for name, amount in hard.items()}
    (shop,) = survey(state, ["shop"], what_if)
    assert keys(shop.refused_if) == refused
    assert keys(shop.refused_now) == ["shop/waits"], "what is supposed changes nothing else"
    assert list(quotas_of(state)) == ["shop/q", "zoo/barred"]


def test_namespaces_that_nobody_is_in_are_left_out() -> None:
    assert survey(cluster(), ["yard", "nowhere"]) == []
    (zoo,) = survey(cluster(), ["zoo"])
    assert zoo.name == "zoo"
