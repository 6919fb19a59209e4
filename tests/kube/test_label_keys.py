"""Label keys of pods that an API server has stored: merged at their creation, and never again."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

from aiohttp import ClientSession

from extender.runtime import Running, running
from tests.builders import HOST, node, pod, requirement, selector, term
from tests.kube.program import live
from tests.kube.rig import Rig

WAIT = 10.0
NODES = ("a", "b", "c")
KEYS = {"matchLabelKeys": ["version"]}
V1 = {"app": "web", "version": "1"}
V2 = {"app": "web", "version": "2"}

APART = term(HOST, selector(app="web"), **KEYS)
MERGED = term(HOST, selector(requirement("version", "In", "1"), app="web"), **KEYS)

PODS = [
    # Created without the label, which was added while it ran: it keeps away from every version.
    pod("late").labels(V1).anti_affinity(APART).on("a"),
    pod("early").labels(V1).anti_affinity(MERGED).on("b"),
]


async def test_a_label_added_to_a_running_pod_is_not_merged_by_a_restart(
    rig: Rig, tmp_path: Path
) -> None:
    for each in (*(node(name, {HOST: name}) for name in NODES), *PODS):
        rig.api.collection(f"/api/v1/{each['kind'].lower()}s").put(each)
    incoming = pod("new").labels(V2)
    # A waiting pod that got the label after its creation wants to be apart from every version.
    waiting = pod("waits").labels(V2).anti_affinity(APART)
    async with asyncio.timeout(WAIT), running(live(rig, tmp_path, mode="replace")) as program:
        await until_ready(program)
        assert await refused(program, incoming) == {"a"}
        assert await refused(program, waiting) == {"a", "b"}


async def test_a_manifest_is_explained_as_it_will_be_once_it_is_created(
    rig: Rig, tmp_path: Path
) -> None:
    for each in (*(node(name, {HOST: name}) for name in NODES), pod("old").labels(V1).on("a")):
        rig.api.collection(f"/api/v1/{each['kind'].lower()}s").put(each)
    new = pod("new").labels(V2).uid(None).anti_affinity(APART)
    created = {**new, "metadata": {**new["metadata"], "resourceVersion": "7"}}
    async with asyncio.timeout(WAIT), running(live(rig, tmp_path)) as program:
        await until_ready(program)
        assert await unfit(program, new) == set(), "its rule is about pods of its own version"
        assert await unfit(program, created) == {"a"}, "it had no version when it was created"


async def unfit(program: Running, manifest: Any) -> set[str]:
    """Ask for an explanation; return the nodes that the pod does not fit on."""
    async with (
        ClientSession() as session,
        session.post(f"{program.ops_url}/explain", json=manifest) as response,
    ):
        return {each["node"] for each in (await response.json())["nodes"] if not each["fits"]}


async def until_ready(program: Running) -> None:
    """Return once everything is synced."""
    while program.lifecycle.unready() is not None:  # noqa: ASYNC110 - tasks of the program
        await asyncio.sleep(0.01)


async def refused(program: Running, incoming: Any) -> set[str]:
    """Ask filter; return the nodes that are refused."""
    body = {"Pod": incoming, "Nodes": None, "NodeNames": list(NODES)}
    async with (
        ClientSession() as session,
        session.post(f"{program.callbacks_url}/filter", json=body) as response,
    ):
        answer = await response.json()
    assert answer["Error"] == ""
    return {*answer["FailedAndUnresolvableNodes"]}
