"""The descheduler's cases of duplicates and soft spread, and ours of a lost zone: side by side.

By hand, with a descheduler's binary: `--descheduler PATH --record` writes what both did into
bench/results/descheduler.md.
"""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING

import pytest

from bench.machine import machine
from tests.e2e.controlplane.credentials import ADMIN
from tests.e2e.controlplane.process import Probe, Process, free_port
from tests.e2e.extending import REPLACE
from tests.e2e.moving import Moves
from tests.e2e.objects import HOSTNAME, JSON, ZONE, node
from tests.e2e.scheduling import STOCK
from tests.e2e.test_repair import repairing, replicas

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from tests.e2e.sandbox import Sandbox

REPORT = Path(__file__).resolve().parents[2] / "bench" / "results" / "descheduler.md"
WATCHED_S = 90.0
INTERVAL_S = 10
POLICY = {
    "apiVersion": "descheduler/v1alpha2",
    "kind": "DeschedulerPolicy",
    "profiles": [
        {
            "name": "spread",
            "pluginConfig": [
                {"name": "DefaultEvictor", "args": {"nodeFit": True}},
                {"name": "RemoveDuplicates"},
                {
                    "name": "RemovePodsViolatingTopologySpreadConstraint",
                    "args": {"constraints": ["DoNotSchedule", "ScheduleAnyway"]},
                },
            ],
            "plugins": {
                "balance": {
                    "enabled": [
                        "RemoveDuplicates",
                        "RemovePodsViolatingTopologySpreadConstraint",
                    ]
                }
            },
        }
    ],
}
CASES = {
    "four replicas on one of four hosts": (1, 4, ["a0"], ["b0", "c0", "d0"]),
    "two replicas on one spot node": (1, 2, ["a0"], ["b0"]),
    "a zone of three is back, 2 x 12": (2, 12, ["a0", "a1", "b0", "b1"], ["c0", "c1"]),
}
"""Workloads, replicas of each, the nodes at first, and those that come then."""


def spread(app: str, number: int) -> JSON:
    """Return a ReplicaSet that says the same twice: as preferred anti-affinity, and soft spread."""
    made = replicas(app, number)
    selector = made["spec"]["selector"]
    made["spec"]["template"]["spec"]["topologySpreadConstraints"] = [
        {
            "maxSkew": 1,
            "topologyKey": key,
            "whenUnsatisfiable": "ScheduleAnyway",
            "labelSelector": selector,
        }
        for key in (ZONE, HOSTNAME)
    ]
    return made


@asynccontextmanager
async def descheduling(sandbox: Sandbox, program: str) -> AsyncIterator[Moves]:
    """Run the scheduler alone, and the descheduler beside it."""
    folder, port = sandbox.folder("descheduler"), free_port()
    policy = folder / "policy.yaml"
    policy.write_text(json.dumps(POLICY))
    command = [
        program,
        f"--kubeconfig={sandbox.control_plane.kubeconfig(ADMIN)}",
        f"--policy-config-file={policy}",
        f"--descheduling-interval={INTERVAL_S}s",
        f"--secure-port={port}",
        "--bind-address=127.0.0.1",
        f"--cert-dir={folder}",
        "-v=3",
    ]
    probe = Probe(f"https://127.0.0.1:{port}/healthz")
    process = Process("descheduler", command, folder / "descheduler.log", probe)
    async with sandbox.scheduled_by(STOCK), sandbox.kubelet():
        with process:
            await asyncio.to_thread(process.wait_ready)
            yield Moves(sandbox, [])


def skew(moves: Moves, app: str, nodes: list[str]) -> tuple[int, int]:
    """Return by how many pods zones, and hosts, differ."""
    on = [*moves.running(app).values()]
    zones = Counter(dict.fromkeys((name[0] for name in nodes), 0))
    zones.update(name[0] for name in on)
    by_host = [on.count(name) for name in nodes]
    return max(zones.values()) - min(zones.values()), max(by_host) - min(by_host)


async def outcome(moves: Moves, case: str) -> str:
    """Carry a case out; return its row: evictions, when all was even, and how it ended."""
    workloads, number, first, then = CASES[case]
    apps = [f"app-{each}" for each in range(workloads)]
    for app in apps:
        await moves.create(spread(app, number))
    for name in then:
        await moves.sandbox.add(node(name, name[0]))
    began, names = monotonic(), [*first, *then]

    def even() -> bool:
        found = [skew(moves, app, names) for app in apps]
        return all(max(each) <= 1 for each in found) and all(
            len(moves.running(app)) == number for app in apps
        )

    took = "never"
    with suppress(TimeoutError, AssertionError):
        await moves.until(even, WATCHED_S, "the pods to be spread")
        took = f"{monotonic() - began:.0f} s"
    until_even = len(moves.evicted())
    await asyncio.sleep(max(0.0, WATCHED_S - (monotonic() - began)))
    left = [skew(moves, app, names) for app in apps]
    worst = max(each for each, _ in left), max(each for _, each in left)
    after = len(moves.evicted()) - until_even
    return f"{until_even} | {took} | {after} | {worst[0]}, {worst[1]}"


@pytest.mark.long
async def test_beside_the_descheduler(sandbox: Sandbox, request: pytest.FixtureRequest) -> None:
    program = request.config.getoption("--descheduler")
    if not program:
        pytest.skip("needs --descheduler")
    rows = []
    for case, (_, _, first, _) in CASES.items():
        for name in ("descheduler", "this program"):
            for each in first:
                await sandbox.add(node(each, each[0]))
            running = (
                descheduling(sandbox, program)
                if name == "descheduler"
                else repairing(sandbox, REPLACE)
            )
            async with running as moves:
                rows.append(f"| {case} | {name} | {await outcome(moves, case)} |")
            await sandbox.clear()
    text = (
        "# Beside the descheduler\n\n"
        f"{machine()}. descheduler 0.36.0 with RemoveDuplicates and "
        "RemovePodsViolatingTopologySpreadConstraint (soft ones too), each "
        f"{INTERVAL_S} s, and kube-scheduler alone; this program with `preferredDuringExecution` "
        "(settleSeconds 3, restSeconds 1) in `replace`. The pods say the same twice: preferred "
        "anti-affinity by zone and host, and soft topology spread. Then nodes come; "
        f"{WATCHED_S:.0f} s are watched.\n\n"
        "| case | by | evictions until even | even after | evictions after that | zones, hosts "
        "differ at the end by |\n| --- | --- | ---: | ---: | ---: | --- |\n"
    )
    text += "\n".join(rows) + "\n"
    if request.config.getoption("--record"):
        REPORT.write_text(text)
    assert all("never" not in row for row in rows if "this program" in row), text
