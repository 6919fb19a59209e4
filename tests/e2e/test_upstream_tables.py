"""The table tests of the scheduler's own affinity plugins, each put to the extender over HTTP.

`make e2e` takes those of one release; `make conformance` those of every release.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.conformance.asking import PLUGINS, Release
from tests.conformance.test_callbacks import post, serving
from tests.upstream.tables import asked_by_tables

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.upstream.tables import Asked

_FEWEST = 100
"""Questions of any release; with fewer, the tests have not been understood."""


@pytest.fixture(scope="module")
def asked(release: str, tmp_path_factory: pytest.TempPathFactory, built: Any) -> list[Asked]:
    folder = tmp_path_factory.mktemp("tables")
    version = Release.parse(release).version
    found: list[Asked] = built(lambda report: asked_by_tables(version, folder, report))
    assert len(found) > _FEWEST
    return found


async def test_the_tables_of_the_schedulers_plugins_expect_these_answers(
    asked: list[Asked], tmp_path: Path, say: Callable[[str], None]
) -> None:
    say(f"{len(asked)} questions of upstream's tables")
    wrong = {}
    for each in asked:
        said = await answer(each, each.plugin, tmp_path)
        if not each.agrees(said):
            wrong[each.case.id] = (each.answer, said)
    assert wrong == {}


async def test_an_extender_without_the_rules_fails_them(asked: list[Asked], tmp_path: Path) -> None:
    """So that none of them is passed by silence."""
    needing = [each for each in asked if each.needs_rules]
    assert len(needing) > len(asked) / 2
    for each in needing:
        other = next(plugin for plugin in PLUGINS if plugin != each.plugin)
        assert not each.agrees(await answer(each, other, tmp_path)), each.case.id


async def answer(asked: Asked, plugin: str, folder: Path) -> Any:
    """Return what the extender answers with this plugin alone."""
    async with serving(asked.case, folder, plugin) as client:
        return await post(client, asked.verb, asked.body)
