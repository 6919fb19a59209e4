"""What the puzzles are: a real cluster, a pod that waits there, and the scheduler's event."""

from __future__ import annotations

import asyncio
import json
import sys
from functools import partial
from typing import TYPE_CHECKING

import pytest

from tests.e2e.api import ApiError, Mirror
from tests.e2e.applying import collection
from tests.e2e.controlplane.credentials import ADMIN
from tests.e2e.sandbox import SETTLE_S, refusal
from tests.e2e.scheduling import STOCK
from tests.e2e.storing import admissible, create, removed_afterwards
from tests.puzzles.recorded import Recording, disagreements
from tests.puzzles.situations import PUZZLES, Puzzle
from tests.volumes import limited

if TYPE_CHECKING:
    from pathlib import Path

    from tests.builders import Json
    from tests.e2e.sandbox import Sandbox

EACH_TIME = {"a-volume-in-the-zone-that-has-its-share", "an-update-waits-for-its-own-old-pods"}
"""A recording changes with Kubernetes alone, so most are compared when that changes."""
KINDS = ("StatefulSet", "PodDisruptionBudget")
EVENTS = "/apis/events.k8s.io/v1/events"


@pytest.mark.parametrize(
    "puzzle",
    [
        pytest.param(each, id=each.name, marks=[] if each.name in EACH_TIME else pytest.mark.long)
        for each in PUZZLES
    ],
)
async def test_a_real_cluster_does_what_is_recorded(
    sandbox: Sandbox, puzzle: Puzzle, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    async with removed_afterwards(sandbox.api, *KINDS):
        pod, event = await _play(sandbox, puzzle)
        items = await _dumped(sandbox, tmp_path / "dumped.json", puzzle)
    found = Recording(request.config.getoption("--kubernetes"), pod, event, items)
    if request.config.getoption("--record"):
        found.save(puzzle.name)
    assert event == Recording.load(puzzle.name).event
    found_of = partial(disagreements, puzzle, found, tmp_path)
    assert await asyncio.to_thread(list, found_of()) == []


async def _play(sandbox: Sandbox, puzzle: Puzzle) -> tuple[str, str]:
    """Let all come, and return the key of the pod that waits in the end, and its event."""
    await sandbox.add(*map(admissible, puzzle.nodes))
    for name in sandbox.nodes:  # as their kubelets do
        await create(sandbox.api, dict(limited(name, None)))
    for each in map(admissible, puzzle.there):
        add = sandbox.add if each["kind"] == "Namespace" else partial(create, sandbox.api)
        await add(each)
    async with (
        sandbox.scheduled_by(STOCK),
        sandbox.kubelet(),
        sandbox.api.mirror(EVENTS) as events,
    ):
        for thing, placed in puzzle.coming:
            await _apply(sandbox, thing)
            await sandbox.pods.until(
                lambda placed=placed: len(sandbox.places()) == placed,  # type: ignore[misc]
                SETTLE_S,
                f"{placed} pods to have a node",
            )
        return await _waiting(sandbox, events, puzzle)


async def _apply(sandbox: Sandbox, thing: Json) -> None:
    """Create a thing, or make it what it is to be from now on."""
    made = admissible(thing)
    path = f"{collection(made)}/{made['metadata']['name']}"
    try:
        await sandbox.api.get(path)
    except ApiError:
        await create(sandbox.api, made)
    else:
        await sandbox.api.patch(path, {"spec": made["spec"]})


async def _waiting(sandbox: Sandbox, events: Mirror, puzzle: Puzzle) -> tuple[str, str]:
    def waiting() -> str | None:
        found = (
            key
            for key, pod in sandbox.pods.objects.items()
            if key.startswith(puzzle.pod)
            and not pod["spec"].get("nodeName")
            and (puzzle.fits or refusal(pod))
        )
        return next(found, None)

    await sandbox.pods.until(lambda: waiting() is not None, SETTLE_S, f"{puzzle.pod} to wait")
    key = str(waiting())
    said = refusal(sandbox.pods.objects[key])
    if said is None:
        return key, ""

    def is_told() -> bool:
        return any(each["note"] == said for each in events.objects.values())

    await events.until(is_told, SETTLE_S, f"the event: {said}")
    return key, said


async def _dumped(sandbox: Sandbox, file: Path, puzzle: Puzzle) -> list[Json]:
    """Return what the program writes of the cluster, without namespaces of other tests."""
    kubeconfig = str(sandbox.control_plane.kubeconfig(ADMIN))
    line = ("dump", "--kubeconfig", kubeconfig, "-o", str(file))
    dump = await asyncio.create_subprocess_exec(sys.executable, "-m", "extender", *line)
    assert await dump.wait() == 0
    items: list[Json] = json.loads(await asyncio.to_thread(file.read_text))["items"]
    own = {"default", *(each["metadata"]["name"] for each in puzzle.there)}
    return [e for e in items if e["kind"] != "Namespace" or e["metadata"]["name"] in own]
