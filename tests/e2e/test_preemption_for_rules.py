"""What only affinity rules refuse: the same pods go, for the same places, as with stock."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from time import monotonic
from typing import TYPE_CHECKING, Any

import pytest

from tests.e2e.classes import ensure_priority_class
from tests.e2e.extending import REPLACE
from tests.e2e.objects import HOSTNAME, JSON, ZONE, node, pod, term
from tests.e2e.sandbox import SETTLE_S, pods_path
from tests.e2e.scheduling import STOCK
from tests.e2e.test_preemption import DB, HIGH, LOW, MIDDLE, budget, db, left, plain, ranked

if TYPE_CHECKING:
    from tests.e2e.sandbox import Sandbox

QUIET_S = 1.5
"""Long enough for anybody to be evicted who is not to be."""
WEB = {"app": "web"}


@pytest.fixture(autouse=True)
async def _classes(sandbox: Sandbox) -> None:
    for name, value in (LOW, MIDDLE, HIGH):
        await ensure_priority_class(sandbox.api, name, value)


def wants(
    name: str = "important",
    key: str = HOSTNAME,
    priority: tuple[str, int] = HIGH,
    **spec: Any,
) -> JSON:
    """Return a pod that wants no database near it."""
    made = ranked(pod(name, labels=WEB, apart=[term(key, DB)]), priority)
    return made | {"spec": made["spec"] | spec}


def loner(name: str) -> JSON:
    """Return an important pod that wants neither databases nor web servers near it."""
    return ranked(pod(name, labels=WEB, apart=[term(HOSTNAME, DB), term(HOSTNAME, WEB)]), HIGH)


@dataclass(frozen=True)
class Case:
    """A cluster, who comes, and what is left."""

    there: list[JSON]
    coming: list[JSON]
    places: list[dict[str, str]]
    """Where those who come end up, if anywhere; any of these."""
    victims: list[set[str]]
    """Who goes, for each of the above."""
    protected: dict[str, str] = field(default_factory=dict)
    """Labels of the pods that a disruption budget is about."""


def one(where: str, *victims: str) -> dict[str, Any]:
    """Return that the important pod is placed, and who goes for that."""
    return {"places": [{"important": where}], "victims": [{*victims}]}


CASES = {
    "room everywhere, one in the way": Case(
        [node("a"), db("on-a", "a"), plain("spared", "a")], [wants()], **one("a", "on-a")
    ),
    "one in the way on each node": Case(
        [
            *(node(name) for name in ("a", "b", "c")),
            *(db("on-a", "a", MIDDLE), db("on-b", "b", LOW), db("on-c", "c", MIDDLE)),
        ],
        [wants()],
        **one("b", "on-b"),
    ),
    "several in the way in a zone": Case(
        [
            *(node("z1", "z1"), node("z2a", "z2"), node("z2b", "z2")),
            *(db("x", "z1"), db("y", "z1"), db("z2-x", "z2a"), db("z2-y", "z2b")),
        ],
        [wants(key=ZONE)],
        **one("z1", "x", "y"),
    ),
    "a budget turns the choice": Case(
        [
            *(node("guarded"), node("free")),
            *(db("kept", "guarded", LOW, budget="strict"), db("on-free", "free", MIDDLE)),
        ],
        [wants()],
        **one("free", "on-free"),
        protected={"budget": "strict"},
    ),
    "two that exclude each other, one node": Case(
        [node("a"), db("on-a", "a")],
        [loner("one"), loner("two")],
        places=[{"one": "a"}, {"two": "a"}],
        victims=[{"on-a"}, {"on-a"}],
    ),
    "two that exclude each other, two nodes": Case(
        [node("a"), node("b"), db("on-a", "a"), db("on-b", "b")],
        [loner("one"), loner("two")],
        places=[{"one": "a", "two": "b"}, {"one": "b", "two": "a"}],
        victims=[{"on-a", "on-b"}, {"on-a", "on-b"}],
    ),
}


@dataclass(frozen=True)
class Outcome:
    """What came of a case."""

    places: dict[str, str]
    victims: set[str]
    seconds: float


async def run(sandbox: Sandbox, case: Case, mode: str) -> Outcome:
    """Let a scheduler place those who come."""
    await sandbox.add(*case.there)
    async with AsyncExitStack() as stack:
        if case.protected:
            await stack.enter_async_context(budget(sandbox.api, case.protected))
        await stack.enter_async_context(sandbox.scheduled_by(mode))
        began = monotonic()
        names = [each["metadata"]["name"] for each in case.coming]
        for each in case.coming:
            await sandbox.api.create(pods_path(each), each)
        most = max(len(places) for places in case.places)
        await sandbox.pods.until(lambda: len(placed(sandbox, names)) >= most, SETTLE_S, "places")
        seconds = monotonic() - began
        if most < len(names):
            # Nothing is to happen from now on, so there is nothing to wait for.
            await asyncio.sleep(QUIET_S)
        there = {each["metadata"]["name"] for each in case.there if each["kind"] == "Pod"}
        outcome = Outcome(placed(sandbox, names), there - left(sandbox), seconds)
    await sandbox.assert_lawful()
    await sandbox.clear()
    return outcome


def placed(sandbox: Sandbox, names: list[str]) -> dict[str, str]:
    """Return where pods are that have a node."""
    places = sandbox.places()
    return {name: places[f"default/{name}"] for name in names if f"default/{name}" in places}


@pytest.mark.parametrize("name", CASES)
async def test_the_same_pods_go_for_the_same_places_as_with_stock(
    sandbox: Sandbox, name: str
) -> None:
    case = CASES[name]
    seconds = {}
    for mode in (STOCK, REPLACE):
        outcome = await run(sandbox, case, mode)
        assert outcome.places in case.places, mode
        assert outcome.victims == case.victims[case.places.index(outcome.places)], mode
        seconds[mode] = outcome.seconds
    # A place is found soon, however busy the machine is.
    assert seconds[REPLACE] < 2 * seconds[STOCK] + 1
