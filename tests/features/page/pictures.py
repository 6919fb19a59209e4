"""Takes the pictures of docs/page.md: `python -m tests.features.page.pictures FOLDER`."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import Final, Literal

from aiohttp.test_utils import TestServer

from tests.features.page.clusters import of_many_nodes
from tests.features.page.test_browser import chromium
from tests.web.showing import app_of

SIZE: Final = {"width": 1100, "height": 760}
PICTURES: Final[tuple[tuple[str, Literal["light", "dark"], str], ...]] = (
    ("page-light.png", "light", "/"),
    ("page-dark.png", "dark", "/page/explain?namespace=team-1&pod=waits-3"),
)


async def take(folder: Path) -> None:
    """Take all pictures of a cluster of 5,000 nodes."""
    async with TestServer(app_of(of_many_nodes(waiting=4))) as server, chromium() as browser:
        for name, scheme, path in PICTURES:
            page = await browser.new_page(viewport=SIZE, color_scheme=scheme)  # type: ignore[arg-type]
            await page.goto(str(server.make_url(path)))
            await page.screenshot(path=folder / name)
            await page.close()


if __name__ == "__main__":
    asyncio.run(take(Path(sys.argv[1])))
