"""What commands say of a live cluster; that it comes true is in test_worlds.py."""

from __future__ import annotations

import asyncio
import json
import sys
from typing import TYPE_CHECKING

from tests.e2e.controlplane.credentials import ADMIN
from tests.e2e.objects import JSON, node, pod
from tests.e2e.sandbox import SETTLE_S
from tests.e2e.test_rolling_update import DEPLOYMENTS, deployment

if TYPE_CHECKING:
    from pathlib import Path

    from tests.e2e.sandbox import Sandbox

WEB = {"app": "web"}


async def test_a_live_cluster_gets_the_answers_of_a_dump_of_it(
    sandbox: Sandbox, tmp_path: Path
) -> None:
    """Without a scheduler: two replicas wait, one of them for a third node."""
    nodes = [node("n1", "a"), node("n2", "b")]
    await sandbox.add(*nodes, pod("old", labels=WEB, on="n1"))
    wanted = deployment()
    wanted["spec"]["replicas"] = 2
    async with sandbox.api.mirror(DEPLOYMENTS) as deployments:
        await sandbox.api.create(DEPLOYMENTS, wanted)
        await deployments.until(lambda: "default/web" in deployments.objects, SETTLE_S, "it")
        await sandbox.pods.until(lambda: len(sandbox.pods.objects) == 3, SETTLE_S, "its two pods")
        items = [
            *nodes,
            *({**each, "kind": "Deployment"} for each in deployments.objects.values()),
            *({**each, "kind": "Pod"} for each in sandbox.pods.objects.values()),
        ]
        dump = tmp_path / "dump.json"
        dump.write_text(json.dumps({"kind": "List", "items": items}))
        kubeconfig = sandbox.control_plane.kubeconfig(ADMIN)
        for line in (["simulate", "--scale", "deploy/web=3", "--lose", "zone=b"], ["advise"]):
            live = await answered(*line, "--kubeconfig", str(kubeconfig))
            assert live == await answered(*line, "--cluster", str(dump))


async def answered(*line: str) -> JSON:
    """Run a command of the program as a process, and return what it answers."""
    told = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "extender", *line, "-o", "json"), stdout=asyncio.subprocess.PIPE
    )
    output, _ = await told.communicate()
    found: JSON = json.loads(output)
    return found
