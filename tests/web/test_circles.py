"""No answer of the operations port leaves objects that refer to each other in a circle."""

from __future__ import annotations

from typing import Any

import pytest

from extender.core.config.features import features
from tests.circles import left_in_circles
from tests.features.every import pages, routes, shown_over
from tests.web.refused import refused_state
from tests.web.showing import app_of, shown

POD = "namespace=default&pod=db-1"
PATHS = {*pages(), *(path for each in features() for path in routes(each.name))}
PATHS |= {path.partition("?")[0] for path in PATHS}


@pytest.mark.parametrize("query", ["", f"?{POD}"], ids=["asked about all", "asked about a pod"])
@pytest.mark.parametrize("path", [*sorted(PATHS), "/configz", "/readyz", "/metrics"])
async def test_an_answer_is_freed_when_it_is_sent(
    path: str, query: str, aiohttp_client: Any
) -> None:
    state, refused = refused_state()
    seen = shown(state, refused=refused)
    client = await aiohttp_client(app_of(seen, parts=shown_over(seen)))

    async def ask() -> None:
        async with client.get(path + ("" if "?" in path else query)) as answer:
            await answer.read()

    await ask()  # templates are compiled once
    with left_in_circles(object) as found:
        await ask()
    assert found == []
