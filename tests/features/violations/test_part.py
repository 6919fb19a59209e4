"""A metric, numbers on the first page, and nothing else until it is asked for."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from typing import Any

import pytest

from extender.core.metrics import Metrics
from tests.builders import HOST, node, pod, selector, state_of, term
from tests.features.every import has_pages
from tests.features.violations.showing import Found, part_over
from tests.ringing import AwaitedGauge
from tests.web.reading import Reader
from tests.web.showing import app_of, shown

SOLO = pod("solo").labels(app="web").anti_affinity(term(HOST, selector(app="web")))


async def test_each_kind_of_rule_has_a_series_from_the_first_look_on() -> None:
    metrics = Metrics()
    part = part_over(state_of([], [], []), metrics=metrics)
    gauge = AwaitedGauge(part.gauge)
    ((_, patrol),) = part.tasks()
    running = asyncio.create_task(patrol)
    for rule in ("affinity", "antiAffinity"):
        await gauge.shows(0, "InterPodAffinity", rule)
    running.cancel()
    (family,) = (each for each in metrics.families if each.name == "affinity_extender_violations")
    assert family.labels == ("plugin", "rule")


@pytest.mark.skipif(not has_pages(), reason="no feature shows pages")
async def test_the_first_page_has_numbers_that_lead_there(aiohttp_client: Any) -> None:
    pods = [SOLO.on("a"), pod("two").labels(app="web").on("a")]
    state = state_of([node("a", {HOST: "a"})], [], pods)
    part = part_over(state, findings=[Found(), Found()])
    client = await aiohttp_client(app_of(shown(state), parts=[part]))
    found = Reader(await (await client.get("/")).text())
    assert " 1 broken rules, each once a domain 0 hints" in found.text
    assert found.text.count("7 found by another") == 2
    assert found.links.count("/page/violations") == 4
    assert found.links[-1] == "/violations"


def test_what_answers_is_imported_by_the_first_request() -> None:
    code = "import extender.features.violations.part as part, sys; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = {*done.stdout.split()}
    assert "extender.features.violations.patrol" in loaded
    assert loaded.isdisjoint(
        {f"extender.features.violations.{each}" for each in ("answer", "page")}
    )
