"""Victims whose node is lost may never end: the preemptor goes elsewhere, as with the scheduler."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from extender.core.kube.failures import NoAnswerError
from tests.builders import HOST, model_node, node, node_term, requirement
from tests.features.refused_pods.preempting import ON_A, ON_B, A, B, PreemptionRig
from tests.important_pods import important, server

PREEMPTOR = important().requires_nodes(node_term(requirement("disk", "DoesNotExist")))


def removed(rig: PreemptionRig) -> None:
    rig.state.remove_node("a")


def with_spec(**spec: object) -> Callable[[PreemptionRig], None]:
    def change(rig: PreemptionRig) -> None:
        rig.state.upsert_node(model_node({**server("a"), "spec": spec}))

    return change


def relabelled(rig: PreemptionRig) -> None:
    rig.state.upsert_node(model_node(node("a", {HOST: "a", "disk": "ssd"}, {"pods": "10"})))


async def waiting() -> PreemptionRig:
    """Return a rig in which a pod waits for a victim that does not end."""
    rig = PreemptionRig([A, B], ON_A, ON_B, PREEMPTOR)
    rig.api.grace = True
    rig.refuse()
    await rig.pass_time()
    await rig.tick(4)
    assert rig.evicted() == ["on-a"]
    return rig


LOST = [
    pytest.param(removed, id="gone"),
    pytest.param(with_spec(unschedulable=True), id="cordoned"),
    pytest.param(
        with_spec(taints=[{"key": "node.kubernetes.io/unreachable", "effect": "NoSchedule"}]),
        id="unreachable",
    ),
    pytest.param(relabelled, id="relabelled"),
]


@pytest.mark.parametrize("restarted", [False, True])
@pytest.mark.parametrize("lost", LOST)
async def test_a_preemptor_whose_node_is_lost_does_not_wait_for_its_victims(
    lost: Callable[[PreemptionRig], None], *, restarted: bool
) -> None:
    rig = await waiting()
    lost(rig)
    if restarted:
        rig.controller = rig.another()
    for _ in range(5):
        rig.refuse("important", "b")
        await rig.pass_time(10)
    assert rig.evicted() == ["on-a", "on-b"]


@pytest.mark.parametrize("lost", LOST)
async def test_while_a_victim_may_be_deleted_yet_no_other_goes(
    lost: Callable[[PreemptionRig], None],
) -> None:
    rig = PreemptionRig([A, B], ON_A, ON_B, PREEMPTOR)
    rig.api.fails = lambda call: NoAnswerError("lost") if call == "delete on-a" else None
    rig.refuse()
    await rig.pass_time()
    assert "default-on-a" in rig.api.marked
    lost(rig)
    for _ in range(5):
        rig.refuse("important", "b")
        await rig.pass_time(10)
    assert rig.evicted() == []
