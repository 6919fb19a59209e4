"""Places of pods that no watch has shown, and what a list says of them."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from aiohttp import web

from extender.core.cluster.state import ClusterState
from extender.core.model.keys import Identity, key_of
from extender.core.resources import PODS as MIRRORED_PODS
from tests.builders import model_pod
from tests.kube.fake_api import CLOSE, Collection
from tests.kube.rig import Rig
from tests.kube.test_resources import PODS, pod

FOREVER = 1e9
LATE = Identity(key_of("shop", "late"), "uid-of-late")
UNREADABLE = {"metadata": {"name": "web", "namespace": "shop", "uid": "uid-of-web"}, "spec": 7}


def reserve(state: ClusterState, name: str = "web", version: str = "") -> None:
    """Reserve a place for a pod that was read when it was to be bound."""
    state.reserve(model_pod(pod(name, None)), "a", FOREVER, version)


async def lose_the_watch(
    rig: Rig, pods: Collection, change: Callable[[Collection], object]
) -> None:
    """Let something happen that no watch will tell of, and everything be listed again."""
    pods.muted = True
    change(pods)
    pods.muted = False
    pods.compact()
    before = len(pods.watched)
    pods.send(CLOSE)
    await rig.pulse.until(lambda: len(pods.watched) >= before + 2 and pods.open != [])


def come_and_go(pods: Collection) -> None:
    """Create a pod, bind it and delete it."""
    pods.put(pod("web", "a"))
    pods.delete("shop/web")


def come_again(pods: Collection) -> None:
    """Let another pod of its name take its place."""
    come_and_go(pods)
    pods.put(pod("web", None, uid="successor"))


@pytest.mark.parametrize(
    ("change", "places"),
    [
        pytest.param(come_and_go, 0, id="it was bound and deleted"),
        pytest.param(come_again, 0, id="another of its name is there"),
        pytest.param(lambda pods: pods.put(pod("web", "a")), 0, id="it is bound"),
        pytest.param(lambda pods: pods.put(pod("web", "b")), 0, id="it is bound elsewhere"),
        pytest.param(lambda pods: pods.put(pod("web", "a", phase="Failed")), 0, id="it has ended"),
        pytest.param(
            lambda pods: pods.put(pod("web", None, phase="Pending")),
            1,
            id="it is not bound yet, and a bind may be on its way",
        ),
        pytest.param(lambda pods: pods.put(dict(UNREADABLE)), 1, id="it makes no sense to us"),
    ],
)
@pytest.mark.parametrize(
    "streams", [pytest.param(True, id="streamed"), pytest.param(False, id="in pages")]
)
async def test_list_settles_the_place_of_a_pod_that_no_watch_has_shown(
    rig: Rig, streams: bool, change: Callable[[Collection], object], places: int
) -> None:
    pods = rig.api.collection(PODS)
    pods.streams_lists = streams
    async with rig.mirrored(MIRRORED_PODS, pods) as state:
        reserve(state)
        await lose_the_watch(rig, pods, change)
        assert len(state.reservations) == places
    latest = (pods.streamed if streams else pods.listed)[-1]
    assert latest.params.get("resourceVersion", "") == "", "a cache may be older than the pod"


async def test_list_settles_the_place_of_a_pod_that_was_watched(rig: Rig) -> None:
    pods = rig.api.collection(PODS)
    pods.put(pod("web", None))
    async with rig.mirrored(MIRRORED_PODS, pods) as state:
        reserve(state)
        await lose_the_watch(rig, pods, lambda pods: pods.delete("shop/web"))
        assert len(state.reservations) == 0


@pytest.mark.parametrize(
    ("early", "ahead", "left"),
    [
        pytest.param(True, None, {LATE}, id="by versions that are no numbers"),
        pytest.param(True, 1, {LATE}, id="that the watch is about to show"),
        pytest.param(True, 0, set(), id="that existed when the list was made"),
        pytest.param(False, 0, set(), id="that existed, and nobody needs a consistent read"),
        pytest.param(False, 1, {LATE}, id="that comes, and nobody needs a consistent read"),
    ],
)
async def test_list_and_a_place_reserved_after_it_was_asked_for_of_a_pod(
    rig: Rig, early: bool, ahead: int | None, left: set[Identity]
) -> None:
    pods = rig.api.collection(PODS)
    async with rig.mirrored(MIRRORED_PODS, pods) as state:
        if early:
            reserve(state, "early")

        async def reserving(request: web.Request) -> web.StreamResponse:
            answer = await pods.list(request)
            reserve(state, "late", "" if ahead is None else str(rig.api.version + ahead))
            return answer

        pods.lists.append(reserving)
        await lose_the_watch(rig, pods, come_and_go)
        assert state.reservations.pods().keys() == left
