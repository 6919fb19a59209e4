"""A real scheduler refuses the nodes of each public report for the reasons that explain gives."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import yaml

from affinityctl import cli
from tests.e2e.applying import path_of
from tests.e2e.sandbox import SETTLE_S
from tests.e2e.scheduling import STOCK
from tests.e2e.storing import removed_afterwards
from tests.events import messages

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import pytest

    from tests.e2e.api import Api, Mirror
    from tests.e2e.objects import JSON
    from tests.e2e.sandbox import Sandbox

REPORTS = Path(__file__).parents[1] / "cases" / "public"
EVENTS = "/apis/events.k8s.io/v1/events"
WORKLOADS = {"Deployment", "ReplicaSet", "StatefulSet", "DaemonSet", "Job", "ResourceQuota"}
"""No controller runs here."""
BY_SANDBOX = {"Node", "Namespace"}
OTHER_NODE = "node(s) didn't satisfy plugin(s) [NodeAffinity]"
"""What the event says of nodes that a DaemonSet's pod is not for, which explain leaves out."""
ENOUGH = 25
TRIES = 3
"""At the first one the scheduler may not have seen yet what was made a moment ago."""


async def test_the_scheduler_refuses_what_explain_refuses(
    sandbox: Sandbox, capsys: pytest.CaptureFixture[str], say: Callable[[str], None]
) -> None:
    asked = 0
    async with sandbox.scheduled_by(STOCK), sandbox.api.mirror(EVENTS) as events:
        for file in sorted(REPORTS.iterdir()):
            things = [_admissible(each) for each in yaml.safe_load_all(file.read_text())]
            waiting = [each for each in things if _waits(each)]
            if not waiting:
                continue
            async with removed_afterwards(sandbox.api, "PodDisruptionBudget"):
                made = await _create(sandbox, things)
                for pod in waiting:
                    nodes = _explained(file, pod, capsys)
                    others = [[OTHER_NODE]] * (len(sandbox.nodes) - len(nodes))
                    expected = messages([*nodes, *others])
                    said = await _said(sandbox.api, events, pod, expected)
                    assert said.startswith(expected), (file.name, said, expected)
                    asked += 1
                for path in made:
                    await sandbox.api.delete(path)
            await sandbox.clear()
    say(f"{asked} pods of public reports")
    assert asked >= ENOUGH


def _waits(thing: JSON) -> bool:
    return thing["kind"] == "Pod" and "nodeName" not in thing["spec"]


def _admissible(thing: JSON) -> JSON:
    """Return a thing as an API server takes it: its priority is that of a class."""
    metadata, spec = thing["metadata"], thing.get("spec", {})
    for name in ("uid", "ownerReferences"):
        metadata.pop(name, None)
    if thing["kind"] == "PersistentVolume":
        spec["claimRef"].pop("uid")
    if priority := spec.pop("priority", 0):
        spec["priorityClassName"] = f"of-{priority}"
    return thing


def _classes(things: list[JSON]) -> Iterator[JSON]:
    there = {each["metadata"]["name"] for each in things if each["kind"] == "PriorityClass"}
    named = {each.get("spec", {}).get("priorityClassName", "") for each in things}
    for name in sorted(named - there):
        if name.startswith("of-"):
            head = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass"}
            yield {**head, "metadata": {"name": name}, "value": int(name.removeprefix("of-"))}


async def _create(sandbox: Sandbox, things: list[JSON]) -> list[str]:
    """Create what is there before the pods that wait; return the paths of what is cluster-wide."""
    made = []
    for thing in (*_classes(things), *things):
        kind = thing["kind"]
        if kind in BY_SANDBOX:
            await sandbox.add(thing)
        elif kind not in WORKLOADS and not _waits(thing):
            path = await path_of(sandbox.api, thing)
            await sandbox.api.create(path.rpartition("/")[0], thing)
            if kind in {"PriorityClass", "RuntimeClass"}:
                made.append(path)
    return made


def _explained(file: Path, pod: JSON, capsys: pytest.CaptureFixture[str]) -> list[list[str]]:
    """Return the reasons that explain gives for each node."""
    metadata = pod["metadata"]
    command = ["explain", metadata["name"], "-n", metadata["namespace"], "-o", "json"]
    cli.main([*command, "--cluster", str(file)])
    told = json.loads(capsys.readouterr().out)
    return [each["reason"].split(", ") for each in told["nodes"]]


async def _said(api: Api, events: Mirror, pod: JSON, expected: tuple[str, ...]) -> str:
    """Create the pod, and return what the first event about it says."""
    place = f"/api/v1/namespaces/{pod['metadata']['namespace']}/pods"
    said = ""
    for _ in range(TRIES):
        uid = (await api.create(place, pod))["metadata"]["uid"]

        def notes(uid: str = uid) -> list[str]:
            every = events.objects.values()
            return [str(each["note"]) for each in every if each["regarding"].get("uid") == uid]

        await events.until(lambda: bool(notes()), SETTLE_S, f"an event about {uid}")
        said = notes()[0]
        await api.delete(f"{place}/{pod['metadata']['name']}")
        if said.startswith(expected):
            break
    return said
