"""An important pod evicts who stands in its way, and nobody for nothing."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import pytest

from tests.e2e.api import key_of
from tests.e2e.extending import REPLACE, Extender
from tests.e2e.objects import HOSTNAME, JSON, ZONE, node, pod, term
from tests.e2e.preempting import (
    DB,
    HIGH,
    LOW,
    MIDDLE,
    SPINNING,
    WEB,
    add_owned,
    budget,
    db,
    ensure_classes,
    left,
    plain,
    ranked,
    with_port,
)
from tests.e2e.sandbox import SETTLE_S, pods_path
from tests.e2e.scheduling import configured, shipped

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from tests.e2e.api import Api
    from tests.e2e.sandbox import Sandbox

QUIET_S = 3.0
"""A scheduler that spins makes hundreds of calls in this time; emptying nodes takes less."""
FEW = 8
SERVICES = "/api/v1/namespaces/default/services"


@pytest.fixture(autouse=True)
async def _classes(sandbox: Sandbox) -> None:
    await ensure_classes(sandbox.api)


def important(key: str = HOSTNAME) -> JSON:
    """Return a pod that wants no database near it, and may evict those below it."""
    return ranked(pod("important", apart=[term(key, DB)]), HIGH)


async def place(sandbox: Sandbox, wanted: JSON) -> str:
    """Create a pod and return its node, however many refusals come before."""
    await sandbox.api.create(pods_path(wanted), wanted)
    await sandbox.pods.until(lambda: key_of(wanted) in sandbox.pods.objects, SETTLE_S, "the pod")
    return await sandbox.bound(key_of(wanted))


async def test_the_blocking_pod_goes_where_that_helps_and_others_stay(sandbox: Sandbox) -> None:
    # Bare pods: the victim's successor would preempt as well, here and with stock.
    await sandbox.add(
        *(node("curable", pods=3), node("hopeless", pods=2)),
        *(plain("victim", "curable"), db("blocker", "curable", MIDDLE)),
        plain("spared", "curable", MIDDLE),
        # To the scheduler this node looks better: a pod without a priority is all that has to go.
        *(pod("bystander", on="hopeless"), db("rock", "hopeless", HIGH)),
    )
    wanted = important()
    async with sandbox.scheduled_by(REPLACE):
        assert await place(sandbox, wanted) == "curable"
    # The blocker's own room is enough, so the scheduler's victim is spared as well.
    assert left(sandbox) == {"important", "victim", "spared", "bystander", "rock"}
    await sandbox.assert_lawful()


async def test_a_victim_that_was_in_the_way_is_enough(sandbox: Sandbox) -> None:
    await add_owned(sandbox, node("n", pods=2), db("blocker", "n"), plain("spared", "n", MIDDLE))
    wanted = important()
    async with sandbox.scheduled_by(REPLACE):
        assert await place(sandbox, wanted) == "n"
    assert left(sandbox) == {"important", "spared"}


async def test_a_budget_that_a_blocking_pod_has_turns_the_choice(sandbox: Sandbox) -> None:
    # Bare pods: the victim's successor would preempt as well, here and with stock.
    await sandbox.add(
        *(node("guarded", pods=2), node("free", pods=2)),
        *(plain("g-victim", "guarded"), db("g-blocker", "guarded", LOW, budget="strict")),
        # Cheaper to leave alone in every other respect: the blocker there is more important.
        *(plain("f-victim", "free"), db("f-blocker", "free", MIDDLE)),
    )
    wanted = important()
    async with budget(sandbox.api, {"budget": "strict"}), sandbox.scheduled_by(REPLACE):
        assert await place(sandbox, wanted) == "free"
    assert left(sandbox) == {"important", "g-victim", "g-blocker", "f-victim"}


async def test_whom_the_scheduler_names_for_a_rule_that_only_it_knows_goes_alone(
    sandbox: Sandbox,
) -> None:
    """Its default constraints are in no spec. By room alone the less important one would do."""
    spread = {"maxSkew": 1, "topologyKey": ZONE, "whenUnsatisfiable": "DoNotSchedule"}
    args = {"defaultingType": "List", "defaultConstraints": [spread]}
    # Bare pods: the victim's successor would preempt as well, here and with stock.
    await sandbox.add(
        *(node("a", "z1", pods=2), node("b", "z2", pods=1)),
        ranked(pod("web-1", labels=WEB, on="a"), MIDDLE),
        *(plain("other", "a"), plain("rock", "b", HIGH)),
    )
    folder, control_plane = sandbox.folder(REPLACE), sandbox.control_plane
    async with service(sandbox.api, WEB), Extender.running(control_plane, REPLACE, folder) as ours:
        config = shipped(REPLACE, ours.url)
        config["profiles"][0]["pluginConfig"] = [{"name": "PodTopologySpread", "args": args}]
        async with configured(control_plane, config, folder):
            assert await place(sandbox, ranked(pod("important", labels=WEB), HIGH)) == "a"
    assert left(sandbox) == {"important", "other", "rock"}


@asynccontextmanager
async def service(api: Api, selector: dict[str, str]) -> AsyncIterator[None]:
    """Have a service: default constraints are about the pods of services and controllers."""
    spec = {"selector": selector, "ports": [{"port": 80}]}
    kind = {"apiVersion": "v1", "kind": "Service"}
    await api.create(SERVICES, kind | {"metadata": {"name": "web"}, "spec": spec})
    try:
        yield
    finally:
        await api.delete(f"{SERVICES}/web")


async def test_nobody_is_evicted_where_that_would_not_help(sandbox: Sandbox) -> None:
    nodes = [f"n{number}" for number in range(10)]
    await add_owned(
        sandbox,
        *(node(name, "z", pods=1) for name in (*nodes, "rocky")),
        *(plain(f"on-{name}", name) for name in nodes),
        db("rock", "rocky", HIGH),
    )
    wanted = important(ZONE)
    async with sandbox.scheduled_by(REPLACE):
        assert set((await sandbox.settle(wanted)).values()) == {None}
        # Nothing is to happen from now on, so there is nothing to wait for.
        await asyncio.sleep(QUIET_S)
        extender = sandbox.extender
        assert extender
        assert 1 <= await extender.calls("preempt") <= FEW
        assert await extender.calls("filter") <= FEW
    assert left(sandbox) == {"important", "rock", *(f"on-{name}" for name in nodes)}


async def test_a_pod_waits_for_its_victims_without_evicting_more(sandbox: Sandbox) -> None:
    await add_owned(
        sandbox,
        *(node(name) for name in ("n1", "n2")),
        *(with_port(plain(f"victim-{n}", n, grace=3600), 8080) for n in ("n1", "n2")),
        *(ranked(pod(f"blocker-{n}", labels=DB, on=n), MIDDLE, grace=3600) for n in ("n1", "n2")),
    )
    wanted = with_port(important(), 8080)

    def going() -> list[JSON]:
        pods = sandbox.pods.objects.values()
        return [p for p in pods if p["metadata"].get("deletionTimestamp")]

    async with sandbox.scheduled_by(REPLACE):
        await sandbox.api.create(pods_path(wanted), wanted)
        await sandbox.pods.until(lambda: len(going()) == 2, SETTLE_S, "two pods to be evicted")
        (where,) = {each["spec"]["nodeName"] for each in going()}
        assert left(sandbox).isdisjoint({f"victim-{where}", f"blocker-{where}"})

        # Now its port is free, so that the other plugins let the pod in, and only we do not.
        await sandbox.api.delete(f"{pods_path(wanted)}/victim-{where}")
        await asyncio.sleep(QUIET_S)
        assert sandbox.extender
        # Successors of the victims are tried as well, and what becomes of them wakes all.
        assert 1 <= await sandbox.extender.calls("filter") <= SPINNING
        assert [each["metadata"]["name"] for each in going()] == [f"blocker-{where}"]

        await sandbox.api.delete(f"{pods_path(wanted)}/blocker-{where}")
        assert await sandbox.bound("default/important") == where
    assert len(left(sandbox)) == 3
