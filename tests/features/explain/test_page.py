"""The page about a pod, or about those that wait."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from tests.builders import ZONE, pod, state_of
from tests.features.every import has_pages
from tests.features.explain.showing import shown as part_over_shown
from tests.web.reading import read_page
from tests.web.refused import NODES, WHY, refused_state
from tests.web.showing import Seen, app_of, shown

pytestmark = pytest.mark.skipif(not has_pages(), reason="no feature shows pages")

Read = Callable[..., Awaitable[str]]


@pytest.fixture
def read(aiohttp_client: Any) -> Read:
    """Return what a person reads on a page."""

    async def reading(seen: Seen, path: str = "/page/explain", expected: int = 200) -> str:
        app = app_of(seen, parts=[part_over_shown(seen)])
        return await read_page(await aiohttp_client(app), path, expected)

    return reading


async def test_who_is_refused_and_why(read: Read) -> None:
    state, refused = refused_state()
    text = await read(shown(state, refused=refused))
    assert "default/db-1" in text
    assert WHY in text
    assert "default/other" in text


async def test_an_explanation_in_the_words_of_the_command(read: Read) -> None:
    state, refused = refused_state()
    seen = shown(state, refused=refused)
    text = await read(seen, "/page/explain?namespace=default&pod=db-1")
    assert "default/db-1 fits on 1 of 3 nodes" in text
    assert "2 of 3 nodes: your anti-affinity on zone, blocked by default/db-0 in zone a; 1 " in text
    assert f"Your anti-affinity over {ZONE} refuses 2 nodes" in text
    assert "zone a 2 nodes blocked by default/db-0" in text
    assert "a1 no 2 zone a node(s) didn't match pod anti-affinity rules default/db-0" in text
    assert "a1 no" not in await read(seen, "/page/explain?pod=db-1&q=b1")
    assert "1 of 1 node fit" in await read(seen, "/page/explain?pod=db-1&node=b1")


@pytest.mark.parametrize(
    ("path", "code", "said"),
    [
        ("/page/explain?pod=nobody", 404, "no pod default/nobody"),
        ("/page/explain?q=" + "x" * 318, 400, "q: longer than any name"),
    ],
)
async def test_what_cannot_be_shown(path: str, code: int, said: str, read: Read) -> None:
    assert said in await read(shown(), path, code)


async def test_nothing_is_shown_of_a_cluster_that_is_not_known(read: Read) -> None:
    seen = shown(unready=lambda: "pods not synced yet")
    assert "pods not synced yet" in await read(seen, "/page/explain?pod=not-listed-yet", 503)


async def test_a_hundred_names_of_60_kib_are_cut(read: Read, aiohttp_client: Any) -> None:
    turned = "\u202e" * 60_000
    waits = [pod(f"{turned}{number}", "x" * 60_000) for number in range(100)]
    seen = shown(state_of(NODES, [], waits))
    text = await read(seen, "/page/explain")
    assert text.count("(120,00") == 101  # That of the oldest as well.
    response = await (await aiohttp_client(app_of(seen, parts=[part_over_shown(seen)]))).get(
        "/page/explain"
    )
    assert len(await response.read()) < 500_000
