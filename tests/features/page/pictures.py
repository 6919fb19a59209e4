"""Takes the pictures of docs/page.md: `python -m tests.features.page.pictures FOLDER`."""

from __future__ import annotations

import asyncio
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Final, Literal

from aiohttp.test_utils import TestServer

from extender.core.model.objects import Said
from extender.core.model.verdict import Reason
from tests.features.every import shown_over
from tests.features.page.clusters import of_many_nodes
from tests.features.page.test_browser import chromium
from tests.web.showing import Seen, app_of

SIZE: Final = {"width": 1100, "height": 760}
PICTURES: Final[tuple[tuple[str, Literal["light", "dark"], str], ...]] = (
    ("page-light.png", "light", "/"),
    ("page-dark.png", "dark", "/page/explain?namespace=team-1&pod=waits-3"),
)


WAITING: Final = (
    (
        9,
        7_400,
        f"0/5000 nodes are available: 5000 {Reason.ANTI_AFFINITY.value}.",
    ),
    (5, 1_260, f"0/5000 nodes are available: 4640 Insufficient memory, 360 {Reason.TAINT.value}."),
    (2, 340, f"0/5000 nodes are available: 5000 {Reason.VOLUME_ZONE.value}."),
)
"""How many pods wait, for how many seconds, and what the scheduler says."""


def assisting() -> Seen:
    """Show a cluster of 5,000 nodes in mode assist, with pods that wait."""
    seen, now = of_many_nodes(waiting=17), time.time()
    pods = iter([*seen.state.waiting_pods])
    for number, age, message in WAITING:
        for _ in range(number):
            said = Said("Unschedulable", message)
            told = next(pods).with_status(said=said, created=int(now - age))
            seen.state.upsert_pod(told)
    status = dict(seen.status()) | {"mode": "assist", "calls": {"prioritize": now - 2}}
    return replace(seen, refused=None, status=lambda: status)


async def take(folder: Path) -> None:
    """Take all pictures."""
    seen = assisting()
    app = app_of(seen, parts=shown_over(seen))
    async with TestServer(app) as server, chromium() as browser:
        for name, scheme, path in PICTURES:
            page = await browser.new_page(viewport=SIZE, color_scheme=scheme)  # type: ignore[arg-type]
            await page.goto(str(server.make_url(path)))
            await page.screenshot(path=folder / name)
            await page.close()


if __name__ == "__main__":
    asyncio.run(take(Path(sys.argv[1])))
