"""Replicas of 0.1 are replaced by those of this revision, or these by those, while pods come.

Judged by what the API server shows, as in test_replicas.py, and by what is left at the end.
"""

from __future__ import annotations

import asyncio
import json
from asyncio.subprocess import PIPE
from datetime import datetime
from itertools import product
from time import time
from typing import TYPE_CHECKING

import pytest
import yaml

from affinityctl.commands.config.run import converted
from tests.beside import AFFINITY_ANNOTATION
from tests.e2e.controlplane.credentials import ADMIN
from tests.e2e.controlplane.toolchain import MissingToolError
from tests.e2e.extending import ASSIST, REPLACE, SHADOW
from tests.e2e.moving import LEASE, QUIET_S
from tests.e2e.replicas import replicated
from tests.e2e.replicas_report import Report, recorded
from tests.e2e.revisions import THIS, Revision, before_promises, older
from tests.e2e.test_leftovers import TRACES

if TYPE_CHECKING:
    from pathlib import Path

    from tests.e2e.objects import JSON
    from tests.e2e.sandbox import Sandbox

OURS = "affinity-extender.io/"
"""Begins the names of what the program writes."""
COST = "controller.kubernetes.io/pod-deletion-cost"
ALL = {"", *(each.name for each in TRACES if each.place != "field")}
"""What replicas that write leave behind: on pods, and the Lease."""
TO, FROM = "upgrade", "downgrade"
REPORT = Report(
    "upgrade",
    "Two replicas of an older revision that are replaced by two of this one, and the way back",
    "A row names the mode, the direction and the other revision where it is not 0.1, the last "
    "commit before the configuration `v1`. "
    "Pods come all the time, and in `assist` and `replace` two have to move while replicas are "
    "replaced, one after the other. It passes if no rule is broken, no bind is lost, no pod is "
    "refused but by a rule, none is evicted twice, every pod gets its place, and `leftovers "
    "--remove` leaves nothing of what either has written.",
)
BRIEF = {(REPLACE, TO)}
"""The row that CI runs."""
TABLE = [
    pytest.param(*row, id="-".join(row), marks=[] if row in BRIEF else [pytest.mark.long])
    for row in product((SHADOW, ASSIST, REPLACE), (TO, FROM))
]


@pytest.fixture(scope="module")
def before(request: pytest.FixtureRequest) -> Revision:
    """Return the program of 0.1, or of the revision that is named."""
    try:
        return older(request.config.getoption("--older") or before_promises())
    except MissingToolError as error:
        pytest.skip(str(error))


@pytest.mark.parametrize(("mode", "way"), TABLE)
async def test_no_rule_is_broken_while_another_revision_takes_over(
    request: pytest.FixtureRequest, sandbox: Sandbox, before: Revision, mode: str, way: str
) -> None:
    old, new = (before, THIS) if way == TO else (THIS, before)
    async with recorded(request, REPORT) as waits:
        async with replicated(sandbox, mode, 2, old) as replicas:
            of_old = replicas.all[0].extender.config
            if mode != SHADOW:
                await replicas.break_rule()
            replicas.revision = new
            await replicas.renew()
            of_new = replicas.all[0].extender.config
            if mode != SHADOW:
                await replicas.until_moved()
            await asyncio.sleep(QUIET_S)
            await replicas.until_placed()
            waits.extend(replicas.waits())
            assert await replicas.faults() == []
            assert await replicas.refusals() == []
        assert_converts(*((of_old, of_new) if way == TO else (of_new, of_old)))
        written = await traces(sandbox)
        assert {key for _, key in written} == (set() if mode == SHADOW else ALL)
        assert await leftovers(sandbox) == written
        await until_let_go(sandbox)
        assert await leftovers(sandbox, "--remove") == set()
        assert await traces(sandbox) == set()


def assert_converts(old: Path, new: Path) -> None:
    """Assert that `config convert` makes what runs now from what ran before."""
    assert yaml.safe_load(converted(old.read_text(), old.name)) == json.loads(new.read_text())


async def traces(sandbox: Sandbox) -> set[tuple[str, str]]:
    """Return what the program has written on objects, by their names."""
    found = set()
    for each in (await sandbox.api.get("/api/v1/pods"))["items"]:
        metadata, status = each["metadata"], each["status"]
        keys = {*metadata.get("annotations", ()), *(c["type"] for c in status["conditions"])}
        keys = {key for key in keys if key.startswith(OURS) or key == COST}
        found |= {(metadata["name"], key) for key in keys - {AFFINITY_ANNOTATION}}
        if status.get("nominatedNodeName"):
            found.add((metadata["name"], "nominatedNodeName"))
    return found | {(LEASE.rpartition("/")[2], "") for _ in await leases(sandbox)}


async def until_let_go(sandbox: Sandbox) -> None:
    """Return once the Lease is no replica's: one that was too late to release it lets it lapse."""
    for spec in await leases(sandbox):
        if spec.get("holderIdentity"):
            lapses = datetime.fromisoformat(spec["renewTime"]).timestamp()
            await asyncio.sleep(lapses + spec["leaseDurationSeconds"] + 1 - time())


async def leases(sandbox: Sandbox) -> list[JSON]:
    """Return what the Lease of the program says, if there is one."""
    folder, _, ours = LEASE.rpartition("/")
    found = (await sandbox.api.get(folder))["items"]
    return [each["spec"] for each in found if each["metadata"]["name"] == ours]


async def leftovers(sandbox: Sandbox, *flags: str) -> set[tuple[str, str]]:
    """Return what the program says that it has left."""
    kubeconfig = str(sandbox.control_plane.kubeconfig(ADMIN))
    command = (*THIS.program, "leftovers", "-o", "json", "--kubeconfig", kubeconfig, *flags)
    asked = await asyncio.create_subprocess_exec(*command, stdout=PIPE)
    told, _ = await asked.communicate()
    left = json.loads(told)["left"]
    found = [each for each in left if each["writtenBy"] == "program" and not each["removed"]]
    assert asked.returncode == bool(found)
    return {(each["name"], each["key"]) for each in found}
