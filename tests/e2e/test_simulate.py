"""What simulate says of pods that would wait is what kube-scheduler then does."""

from __future__ import annotations

import asyncio
import json
import sys
from typing import TYPE_CHECKING

import pytest

from affinityctl import cli
from tests.e2e.controlplane.credentials import ADMIN
from tests.e2e.objects import HOSTNAME, JSON, ZONE, node, pod, term
from tests.e2e.sandbox import SETTLE_S
from tests.e2e.scheduling import STOCK
from tests.e2e.test_rolling_update import (
    DEPLOYMENTS,
    conditions,
    deployment,
    fill_cluster,
    update,
)

if TYPE_CHECKING:
    from pathlib import Path

    from tests.e2e.sandbox import Sandbox

NODES = [node("n1", "a"), node("n2", "a"), node("n3", "b", pods=1)]
WEB = {"app": "web"}


def asking(made: JSON, cpu: str) -> JSON:
    made["spec"]["containers"][0]["resources"] = {"requests": {"cpu": cpu}}
    return made


def simulated(
    line: list[str], folder: Path, cluster: list[JSON], capsys: pytest.CaptureFixture[str]
) -> JSON:
    dump = folder / "dump.json"
    dump.write_text(json.dumps({"kind": "List", "items": cluster}))
    cli.main(["simulate", *line, "--cluster", str(dump), "-o", "json"])
    told: JSON = json.loads(capsys.readouterr().out)
    return told


# Each pod comes when the one before is decided on, so that who waits does not hang on chance.
COMING = [
    # Apart by zone: the third waits.
    *(pod(f"apart-{n}", labels=WEB, apart=[term(ZONE, WEB)]) for n in range(3)),
    # Near to what is not there, and not itself: it waits.
    pod("lonely", near=[term(ZONE, {"app": "nobody"})]),
    # The first of its group, and one that follows.
    *(pod(f"group-{n}", labels={"app": "g"}, near=[term(HOSTNAME, {"app": "g"})]) for n in (1, 2)),
    # Two nodes have 1000 cpu each: the third waits, and n3 has a place for one pod alone.
    *(asking(pod(f"large-{n}"), "900") for n in range(4)),
]


async def test_the_pods_that_wait_are_those_that_simulate_names(
    sandbox: Sandbox, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    manifest = tmp_path / "pods.json"
    manifest.write_text(json.dumps({"kind": "List", "items": COMING}))
    told = simulated(["-f", str(manifest)], tmp_path, NODES, capsys)
    named = {key.partition("/")[2] for each in told["pending"] for key in each["pods"]}

    await sandbox.add(*NODES)
    async with sandbox.scheduled_by(STOCK):
        landed = await sandbox.settle(*COMING)

    assert {name for name, place in landed.items() if place is None} == named
    assert {"apart-2", "lonely"} <= named
    assert "group-2" not in named


@pytest.mark.parametrize(
    ("of_the_term", "gets_stuck"),
    [
        pytest.param({}, True, id="stuck without the key"),
        pytest.param({"matchLabelKeys": ["pod-template-hash"]}, False, id="through with it"),
    ],
)
async def test_an_update_gets_stuck_where_simulate_says_so(
    sandbox: Sandbox,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    of_the_term: dict[str, list[str]],
    gets_stuck: bool,
) -> None:
    nodes = [node("n1"), node("n2"), node("n3")]
    await sandbox.add(*nodes)
    async with (
        sandbox.scheduled_by(STOCK),
        sandbox.kubelet(),
        sandbox.api.mirror(DEPLOYMENTS) as deployments,
    ):
        await fill_cluster(sandbox, deployments, deployment(**of_the_term))
        kinds = [
            *({**each, "kind": "Deployment"} for each in deployments.objects.values()),
            *({**each, "kind": "Pod"} for each in sandbox.pods.objects.values()),
        ]
        told = simulated(["--restart", "deploy/web"], tmp_path, [*nodes, *kinds], capsys)
        assert (told["steps"][-1]["update"]["stuck"] is not None) is gets_stuck

        await update(sandbox)
        reason = "ProgressDeadlineExceeded" if gets_stuck else "NewReplicaSetAvailable"
        await deployments.until(
            lambda: (
                conditions(deployments).get("Progressing") == reason
                and (gets_stuck or _is_updated(deployments.objects["default/web"]))
            ),
            SETTLE_S,
            f"the Deployment to say {reason}",
        )


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


def _is_updated(found: JSON) -> bool:
    status = found["status"]
    seen: bool = status.get("observedGeneration") == found["metadata"]["generation"]
    return seen and status.get("updatedReplicas") == status.get("replicas") == 3
