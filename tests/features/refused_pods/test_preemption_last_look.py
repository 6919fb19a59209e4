"""No victim is deleted for what the API server does not have any more."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from msgspec import structs

from extender.core.errors import ApiError
from extender.core.model.objects import Namespace, SeenPod
from tests.builders import HOST, Pod, model_node, model_pod, pod, selector, term
from tests.features.refused_pods.preempting import ON_A, A, B, PreemptionRig
from tests.important_pods import LOW, important, server


def node_has_moved(rig: PreemptionRig) -> None:
    rig.api.objects.other["nodes/a"] = model_node(server("a", zone="z2"))


def node_is_gone(rig: PreemptionRig) -> None:
    rig.api.objects.other["nodes/a"] = None


def victim_is_edited(rig: PreemptionRig) -> None:
    known = rig.state.pods["default/on-a"]
    rig.api.objects.other["pods/default/on-a"] = SeenPod(known.with_spec(priority=9), "9")


def victim_is_another(rig: PreemptionRig) -> None:
    known = rig.state.pods["default/on-a"]
    rig.api.objects.other["pods/default/on-a"] = SeenPod(structs.replace(known, uid="next"), "9")


def namespace_is_relabelled(rig: PreemptionRig) -> None:
    rig.api.objects.other["namespaces/default"] = Namespace("default", {"team": "new"})


@pytest.mark.parametrize(
    "at_the_server",
    [
        pytest.param(node_has_moved, id="its node is in another zone"),
        pytest.param(node_is_gone, id="its node is gone"),
        pytest.param(victim_is_edited, id="it was edited"),
        pytest.param(victim_is_another, id="another pod has its name"),
        pytest.param(namespace_is_relabelled, id="its namespace was relabelled"),
    ],
)
async def test_a_victim_that_is_not_as_it_was_judged_stays(
    at_the_server: Callable[[PreemptionRig], None],
) -> None:
    rig = PreemptionRig([A], ON_A, important())
    at_the_server(rig)
    rig.refuse()
    await rig.pass_time()
    await rig.pass_time(2)
    assert rig.evicted() == []
    rig.api.objects.other.clear()
    await rig.pass_time(5)
    assert rig.evicted() == ["on-a"]


async def test_the_look_comes_after_the_mark_is_shown_and_before_the_deletion() -> None:
    rig = PreemptionRig([A], ON_A, important())
    rig.api.objects.meanwhile = lambda: rig.api.calls.append("look")
    rig.refuse()
    await rig.pass_time()
    calls = rig.api.calls
    assert calls.index("mark on-a") < len(calls) - 1 - calls[::-1].index("look")
    assert calls.index("delete on-a") > len(calls) - 1 - calls[::-1].index("look")


async def test_without_the_right_to_look_nobody_is_marked() -> None:
    rig = PreemptionRig([A, B], ON_A, important())
    rig.state.remove_node("b")

    def fails() -> None:
        why = 'nodes "a" is forbidden: User "extender" cannot get resource "nodes" in API group ""'
        raise ApiError(403, "Forbidden", why)

    rig.api.objects.meanwhile = fails
    rig.refuse()
    await rig.pass_time()
    await rig.pass_time(5)
    assert rig.done() == []


def of_another_namespace(name: str) -> Pod:
    """Return a pod that has to make way, of another namespace."""
    apart = pod(name, "tenant").priority(LOW).on("a")
    return apart.anti_affinity(term(HOST, selector(), namespaces=["default"]))


async def test_an_event_about_a_victim_names_nobody_of_another_namespace() -> None:
    rig = PreemptionRig([A], of_another_namespace("theirs"), important())
    rig.refuse()
    await rig.pass_time()
    (note,) = rig.api.notes
    assert "a pod of another namespace" in note
    assert "default/important" not in note
    assert model_pod(important()).uid in note


def preemptor_is_gone(rig: PreemptionRig) -> None:
    rig.state.remove_pod("default/important", "default-important")


def preemptor_is_admitted(rig: PreemptionRig) -> None:
    rig.controller.admitted(model_pod(important()))


def preemptor_is_bound(rig: PreemptionRig) -> None:
    rig.state.upsert_pod(model_pod(important().on("b")))


@pytest.mark.parametrize(
    "happens",
    [
        pytest.param(preemptor_is_gone, id="it is gone"),
        pytest.param(preemptor_is_admitted, id="filter has found a node for it"),
        pytest.param(preemptor_is_bound, id="it is bound elsewhere"),
    ],
)
async def test_no_victim_is_deleted_for_a_pod_that_needs_it_no_more_when_the_request_may_go(
    happens: Callable[[PreemptionRig], None],
) -> None:
    rig = PreemptionRig([A], ON_A, important())

    def delayed(call: str) -> None:
        if call == "delete on-a":
            happens(rig)

    rig.api.fails = delayed
    rig.refuse()
    await rig.pass_time()
    assert "default-on-a" in rig.api.pods
    assert rig.eviction_counts() == {}
