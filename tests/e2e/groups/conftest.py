"""A control plane that knows pod groups, in the place of the session's."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.e2e.api import key_of
from tests.e2e.classes import ensure_priority_class
from tests.e2e.controlplane.cluster import control_plane
from tests.e2e.controlplane.credentials import SCHEDULER
from tests.e2e.extending import EXTENDER
from tests.e2e.gangs import GROUPS, IMPORTANT, WITH_GROUPS
from tests.e2e.groups.report import Found, merge

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.e2e.controlplane.binaries import Binaries
    from tests.e2e.controlplane.cluster import ControlPlane
    from tests.e2e.sandbox import Sandbox


@pytest.fixture(scope="module")
def cluster(binaries: Binaries, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    folder = tmp_path_factory.mktemp("control-plane-with-groups")
    with control_plane(binaries, folder, [SCHEDULER, EXTENDER], WITH_GROUPS) as running:
        yield running


@pytest.fixture(scope="module")
def found(request: pytest.FixtureRequest) -> Iterator[Found]:
    """Return where to note outcomes; with --record they are kept."""
    noted: Found = {}
    yield noted
    if request.config.getoption("--record"):
        merge(noted)


@pytest.fixture
async def _important(sandbox: Sandbox) -> None:
    """Let groups and their pods be important; no group may take the system's own classes."""
    await ensure_priority_class(sandbox.api, IMPORTANT["priorityClassName"], 1000)


@pytest.fixture
async def _no_groups_left(sandbox: Sandbox) -> None:
    """Remove the groups of an earlier test; the controller that frees them does not run."""
    for each in (await sandbox.api.get(GROUPS))["items"]:
        path = f"{GROUPS}/{key_of(each).rpartition('/')[2]}"
        await sandbox.api.patch(path, {"metadata": {"finalizers": None}})
        await sandbox.api.delete(path)
