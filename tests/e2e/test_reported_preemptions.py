"""Preemptions that were reported: in `replace` no more pods go than with the scheduler alone.

Each file of `reported_preemptions/` has the nodes, what budgets keep available of an app, the pods
that run already, and those that come, in order, each after a pause of so many seconds.
"""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.e2e.api import for_each
from tests.e2e.classes import ensure_priority_class
from tests.e2e.controlplane.cluster import CONTROLLERS, ControlPlane, control_plane
from tests.e2e.controlplane.credentials import SCHEDULER
from tests.e2e.extending import EXTENDER, REPLACE
from tests.e2e.kubelet import RUNNING, end_pods, run_pods, working
from tests.e2e.objects import HOSTNAME, JSON, ZONE, node, pod, term
from tests.e2e.preempting import BUDGETS, ranked, with_port
from tests.e2e.sandbox import SETTLE_S
from tests.e2e.scheduling import STOCK
from tests.e2e.storing import removed_afterwards

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Iterator

    from tests.e2e.controlplane.binaries import Binaries
    from tests.e2e.sandbox import Sandbox

pytestmark = pytest.mark.long

FILES = Path(__file__).parent / "reported_preemptions"
CLASSES = {"p3": 1000, "never": 1000, "p2": 100, "p1": 10, "p0": 0}
KEYS = {"host": HOSTNAME, "zone": ZONE, "rack": "rack"}
QUIET_S = 11.0
"""The scheduler's longest back-off, and a little: after so long without an event, nothing comes."""


CAUGHT_UP_S = 1.0
"""Until the scheduler and the controller of budgets have read what is there."""


@dataclass(frozen=True)
class Reported:
    """What the scheduler alone comes to; `bench/results/reported-preemptions.md` has the runs."""

    most: int
    """As many go, where it takes equal nodes in the worst order."""
    placed: set[str]
    """Of those who come, they have a node in the end each time."""
    stay: set[str] = field(default_factory=set)
    """They never go."""
    held_up: set[str] = field(default_factory=set)
    """In `replace` they may wait: docs/refused-pods.md, "What it cannot do"."""


REPORTED = {
    "50026": Reported(2, {"new-1", "new-2"}),
    "50036": Reported(
        16,
        {"new-1", "new-2", "new-3", "new-4", "new-5", "new-7", "new-8"},
        stay={"old-29", "old-56"},
        held_up={"new-3"},
    ),
    "50049": Reported(9, {"new-1", "new-2", "new-3", "new-4", "new-6"}, stay={"old-28"}),
    "50056": Reported(4, {"new-0", "new-1"}),
}


@dataclass(frozen=True)
class Outcome:
    """Names, in an order of their own."""

    placed: dict[str, str]
    """The nodes of those who came."""
    waiting: list[str]
    victims: list[str]
    """Who had a node and went; those who came may be among them."""


@pytest.fixture(scope="module")
def cluster(binaries: Binaries, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    """Return a control plane in which budgets are kept."""
    folder = tmp_path_factory.mktemp("control-plane")
    controllers = (*CONTROLLERS, "disruption-controller")
    with control_plane(binaries, folder, [SCHEDULER, EXTENDER], controllers=controllers) as running:
        yield running


@pytest.fixture(autouse=True)
async def _classes(sandbox: Sandbox) -> None:
    for name, value in CLASSES.items():
        policy = {"preemptionPolicy": "Never"} if name == "never" else {}
        await ensure_priority_class(sandbox.api, name, value, **policy)


@pytest.mark.parametrize("name", REPORTED)
async def test_no_more_go_than_with_the_scheduler_alone(
    sandbox: Sandbox, name: str, say: Callable[[str], None]
) -> None:
    reported, scenario = REPORTED[name], json.loads((FILES / f"{name}.json").read_text())
    for mode in (STOCK, REPLACE):
        async with removed_afterwards(sandbox.api, "PodDisruptionBudget"):
            outcome = await come(sandbox, mode, scenario)
        say(f"{name}, {mode}: {outcome}")
        assert len(outcome.victims) <= reported.most, mode
        assert reported.stay & {*outcome.victims} == set(), mode
        may_wait = reported.held_up if mode == REPLACE else set()
        assert reported.placed - may_wait <= outcome.placed.keys(), mode


async def come(sandbox: Sandbox, mode: str, scenario: JSON) -> Outcome:
    """Create a scenario, and let a scheduler place those who come."""
    there = [pod_of(**each) for each in scenario["there"]]
    coming = [(each.get("pause", 0), pod_of(**each)) for each in scenario["coming"]]
    for app, available in scenario["minAvailable"].items():
        await sandbox.api.create(BUDGETS, budget(app, available))
    await sandbox.add(*(node_of(**each) for each in scenario["nodes"]))
    async with working(*kubelets(sandbox)):
        await for_each(there, sandbox.add)
        await sandbox.pods.until(lambda: running(sandbox) == len(there), SETTLE_S, "them to run")
        async with sandbox.scheduled_by(mode):
            await asyncio.sleep(CAUGHT_UP_S)
            for pause, each in coming:
                await asyncio.sleep(pause)
                await sandbox.add(each)
            await rest(sandbox)
    broken = (await sandbox.checker()).broken_rules()
    # Whom a pod has to be near may be evicted once it is placed.
    assert [line for line in broken if "has nobody to be near" not in line] == []
    outcome = found(sandbox, {each["metadata"]["name"] for _, each in coming})
    await sandbox.clear()
    return outcome


def found(sandbox: Sandbox, coming: set[str]) -> Outcome:
    """Return what has come of them."""
    left = {each["metadata"]["name"]: each for each in sandbox.pods.objects.values()}
    had = {e["metadata"]["name"] for e in sandbox.pods.history if e["spec"].get("nodeName")}
    places = {name: each["spec"].get("nodeName") for name, each in sorted(left.items())}
    return Outcome(
        {name: place for name, place in places.items() if place and name in coming},
        [name for name, place in places.items() if not place],
        sorted(had - left.keys()),
    )


def node_of(name: str, cpu: str, rack: str, zone: str | None = None) -> JSON:
    built = node(name, zone, rack=rack)
    room = {"cpu": cpu, "memory": "32Gi", "pods": "110"}
    return built | {"status": built["status"] | {"capacity": room, "allocatable": room}}


def pod_of(name: str, app: str, cpu: str, priority: str, grace: int, **more: Any) -> JSON:
    rules: JSON = {
        kind: [term(KEYS[key], {"app": other}) for key, other in more[kind]]
        for kind in ("apart", "near")
        if kind in more
    }
    built = pod(name, labels={"app": app}, on=more.get("on"), **rules)
    built["spec"]["containers"][0]["resources"] = {"requests": {"cpu": cpu}}
    if "port" in more:
        built = with_port(built, more["port"])
    return ranked(built, (priority, CLASSES[priority]), grace)


def budget(app: str, available: int) -> JSON:
    spec = {"minAvailable": available, "selector": {"matchLabels": {"app": app}}}
    kind = {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget"}
    return kind | {"metadata": {"name": app}, "spec": spec}


def kubelets(sandbox: Sandbox) -> Iterator[Coroutine[None, None, None]]:
    """Yield the work of kubelets: a pod runs once it is placed, and takes its grace to end."""

    def now() -> JSON:
        return RUNNING | {"startTime": f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}"}

    yield run_pods(sandbox.api, sandbox.pods, stays=lambda _: True, running=now)
    yield end_pods(
        sandbox.api,
        sandbox.pods,
        lambda each: float(each["metadata"]["deletionGracePeriodSeconds"]),
    )


def running(sandbox: Sandbox) -> int:
    return sum(each["status"]["phase"] == "Running" for each in sandbox.pods.objects.values())


async def rest(sandbox: Sandbox) -> None:
    """Return once nothing has happened for a while."""
    pods, seen = sandbox.pods, (-1, -1)
    while (told := (len(pods.history), len(pods.objects))) != seen:
        seen = told
        await asyncio.sleep(QUIET_S)
