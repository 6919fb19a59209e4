"""`explain` and `simulate` beside a real scheduler and controllers, on drawn clusters.

`make worlds` asks about 200 of them, and writes bench/results/worlds.md.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING

from tests.e2e.controlplane.cluster import CONTROLLERS, control_plane
from tests.e2e.controlplane.credentials import SCHEDULER
from tests.e2e.scheduling import bare, configured
from tests.e2e.worlds.comparing import Found, compare
from tests.e2e.worlds.drawing import draw
from tests.e2e.worlds.living import Living, RestlessError
from tests.e2e.worlds.report import page, tally

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    import pytest

    from tests.e2e.controlplane.binaries import Binaries

REPORT = Path(__file__).resolve().parents[2] / "bench" / "results" / "worlds.md"
QPS = 1000
MANY = 100
"""Of so many worlds, some come to all that is compared."""


async def test_what_is_said_of_a_cluster_comes_true(
    binaries: Binaries,
    tmp_path: Path,
    request: pytest.FixtureRequest,
    say: Callable[[str], None],
) -> None:
    """The worlds are the same in each run, unless `--seed` names another first one."""
    first = request.config.getoption("--seed") or 1
    seeds = range(first, first + request.config.getoption("--worlds"))
    worlds = [each async for each in _compared(binaries, tmp_path, seeds, say)]
    if request.config.getoption("--record"):
        REPORT.write_text(page(worlds))
    assert not [(each.world.seed, each.differences) for each in worlds if each.differences]
    if len(worlds) >= MANY:
        assert min(tally(worlds).values()) >= MANY / 20, tally(worlds)


async def _compared(
    binaries: Binaries, folder: Path, seeds: range, say: Callable[[str], None]
) -> AsyncIterator[Found]:
    controllers = (*CONTROLLERS, "disruption-controller")
    with control_plane(binaries, folder, [SCHEDULER], controllers=controllers) as plane:
        async with (
            configured(plane, bare(), folder, qps=QPS) as scheduler,
            Living.opened(plane, scheduler) as living,
        ):
            for seed in seeds:
                begun, world, files = time.monotonic(), draw(seed), folder / str(seed)
                files.mkdir()
                try:
                    found = await compare(living, world, files)
                except RestlessError as error:
                    found = Found(world, differences=[str(error)])
                took = f"{time.monotonic() - begun:.1f} s"
                by = found.by.name.lower() if found.by else "unexplained"
                say(f"world {seed}, {world.change['kind']}, {took}: {by} {found.differences or ''}")
                yield found
