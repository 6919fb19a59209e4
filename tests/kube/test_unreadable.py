"""Objects that exist and make no sense to us: who says so, and what they hold up."""

from __future__ import annotations

import asyncio
from pathlib import Path

from aiohttp import ClientSession

from extender.core.kube.frames import Resource
from extender.core.kube.mirroring import Mirror
from extender.core.kube.observers import Unobserved
from extender.core.kube.pacing import USUAL_TIMING
from extender.core.kube.watching import Snapshot
from extender.runtime import Running, running
from tests.kube.program import live
from tests.kube.pulse import Pulse
from tests.kube.rig import RecordingSink, Rig, read_thing
from tests.kube.test_resources import PODS, pod

WAIT = 20.0


async def until_said(program: Running, session: ClientSession, beginning: str) -> None:
    """Wait until readiness, which does not fail, has a line that begins like this."""
    while True:
        async with session.get(f"{program.ops_url}/readyz?verbose") as response:
            lines = (await response.text()).splitlines(keepends=True)
        if any(each.startswith(beginning) for each in lines):
            assert response.status == 200
            return
        await asyncio.sleep(0.01)


async def test_what_a_list_can_read_is_named_no_more() -> None:
    resource = Resource("things", "", read_thing, {})
    mirror = Mirror(resource, RecordingSink(Pulse()), Unobserved(), USUAL_TIMING, lambda *_: None)
    for found in ({"a": "no", "b": "nor this"}, {"b": "nor this"}, {}):
        unreadable = {key: ("", why) for key, why in found.items()}
        await mirror.replace(Snapshot("1", {}, unreadable))
        assert mirror.unreadable == found


async def test_readiness_names_them_and_does_not_fail(rig: Rig, tmp_path: Path) -> None:
    pods = rig.api.collection(PODS)
    broken = pod("broken", "a") | {"spec": 7}
    pods.put(dict(broken))
    pods.put(pod("web", "a"))
    says = "[+]informer-sync/pods ok: {} cannot be read, shop/{} for example: "
    async with (
        asyncio.timeout(WAIT),
        running(live(rig, tmp_path, mode="replace")) as program,
        ClientSession() as session,
    ):
        await until_said(program, session, says.format(1, "broken"))
        await rig.pulse.until(lambda: bool(pods.open))
        pods.put(pod("web", "a") | {"spec": 7})
        pods.delete("shop/broken")
        await until_said(program, session, says.format(1, "web"))
        assert program.state.pods["shop/web"].node == "a", "what was known of it stays"
        pods.put(pod("web", "a"))
        await until_said(program, session, "[+]informer-sync/pods ok\n")
    assert len(pods.watched) == 1
