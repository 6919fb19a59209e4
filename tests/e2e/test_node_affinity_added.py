"""What the scheduler adds to the node affinity of every pod, where the extender evicts for pods."""

from __future__ import annotations

from time import monotonic
from typing import TYPE_CHECKING

import pytest
import yaml

from tests.e2e.bursts import create
from tests.e2e.extending import REPLACE, Extender
from tests.e2e.objects import JSON, node
from tests.e2e.preempting import HIGH, LOW, MIDDLE, db, ensure_classes, fill, left, wants
from tests.e2e.scheduling import STOCK, bare, configured, shipped

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.e2e.sandbox import Sandbox

MANY = 120
"""Beyond 100 nodes, a filter call need not have all that pass the scheduler's own plugins."""
WITHIN_S = 10.0
NOT_SYSTEM = {"key": "pool", "operator": "NotIn", "values": ["system"]}
ADDED = {
    "requiredDuringSchedulingIgnoredDuringExecution": {
        "nodeSelectorTerms": [{"matchExpressions": [NOT_SYSTEM]}]
    }
}
SYSTEM = [f"system-{number}" for number in range(10)]


def adding(config: JSON) -> JSON:
    """Have a scheduler add it to all pods."""
    profiles = config.get("profiles") or [{"schedulerName": "default-scheduler"}]
    args = [{"name": "NodeAffinity", "args": {"addedAffinity": ADDED}}]
    return config | {"profiles": [each | {"pluginConfig": args} for each in profiles]}


@pytest.fixture(autouse=True)
async def _crowded(sandbox: Sandbox) -> None:
    """Have a database on each node: one that may go, and cheaper ones where no pod may be."""
    await ensure_classes(sandbox.api)
    names = [f"n{number:03}" for number in range(MANY)]
    right = names[MANY // 2]
    await fill(
        sandbox,
        [*map(node, names), *(node(name, pool="system") for name in SYSTEM)],
        [
            *(db(f"on-{name}", name, MIDDLE if name == right else HIGH) for name in names),
            *(db(f"on-{name}", name, LOW) for name in SYSTEM),
        ],
    )


@pytest.mark.parametrize("mode", [STOCK, REPLACE])
async def test_nobody_is_evicted_where_the_pod_can_never_be(
    sandbox: Sandbox, mode: str, say: Callable[[str], None]
) -> None:
    folder, control_plane, wanted = sandbox.folder(mode), sandbox.control_plane, wants()
    before = left(sandbox)
    if mode == STOCK:
        async with configured(control_plane, adding(bare()), folder):
            seconds = await _placed(sandbox, wanted)
    else:
        file = folder / "added.yaml"
        file.write_text(yaml.safe_dump(adding(bare())))
        options = ("--scheduler-config", str(file))
        async with Extender.running(control_plane, mode, folder, *options) as ours:
            config = adding(shipped(mode, ours.url))
            async with configured(control_plane, config, folder):
                seconds = await _placed(sandbox, wanted)
    say(f"with addedAffinity on {MANY + len(SYSTEM)} nodes, {mode}: bound after {seconds:.1f} s")
    right = sandbox.places()["default/important"]
    assert before - left(sandbox) == {f"on-{right}"}
    assert right == f"n{MANY // 2:03}"


async def _placed(sandbox: Sandbox, wanted: JSON) -> float:
    began = monotonic()
    await create(sandbox, [wanted])
    await sandbox.pods.until(
        lambda: "default/important" in sandbox.places(), WITHIN_S, "the important pod to be bound"
    )
    return monotonic() - began
