"""Less important pods that are in the way of others: who is there, who comes, and who goes."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from time import monotonic
from typing import TYPE_CHECKING, Any

from tests.e2e.api import for_each, key_of
from tests.e2e.bursts import Burst, create
from tests.e2e.classes import ensure_priority_class
from tests.e2e.objects import HOSTNAME, JSON, NAME_LABEL, node, pod, term
from tests.e2e.sandbox import SETTLE_S, pods_path

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterable

    from tests.e2e.api import Api
    from tests.e2e.sandbox import Sandbox

BUDGETS = "/apis/policy/v1/namespaces/default/poddisruptionbudgets"
LOW, MIDDLE, HIGH = ("e2e-low", 10), ("e2e-middle", 20), ("e2e-high", 30)
DB = {"app": "db"}

QUIET_S = 1.5
"""Long enough for anybody to be evicted who is not to be."""
SPINNING = 100
"""Filter calls in that time, of a scheduler that tries a refused pod again and again."""
NEVER = ("e2e-never", 30)
"""As important as the important ones, and evicts nobody."""
WEB = {"app": "web"}


async def ensure_classes(api: Api) -> None:
    """Have the API server know all priority classes."""
    for name, value in (LOW, MIDDLE, HIGH):
        await ensure_priority_class(api, name, value)
    await ensure_priority_class(api, *NEVER, preemptionPolicy="Never")


def ranked(each: JSON, priority: tuple[str, int], grace: int = 0) -> JSON:
    """Give a pod a priority; without grace it is gone once it is evicted, kubelet or not."""
    spec = {"priorityClassName": priority[0], "terminationGracePeriodSeconds": grace}
    return each | {"spec": each["spec"] | spec}


def plain(name: str, on: str, priority: tuple[str, int] = LOW, **more: Any) -> JSON:
    """Return a placed pod that is in nobody's way."""
    return ranked(pod(name, on=on), priority, **more)


def db(name: str, on: str, priority: tuple[str, int] = LOW, **labels: str) -> JSON:
    """Return a placed pod that the important one avoids."""
    return ranked(pod(name, labels=DB | labels, on=on), priority)


def wants(name: str = "important", key: str = HOSTNAME, priority: tuple[str, int] = HIGH) -> JSON:
    """Return a pod that wants no database near it."""
    return ranked(pod(name, labels=WEB, apart=[term(key, DB)]), priority)


def shy(name: str, on: str, priority: tuple[str, int] = LOW) -> JSON:
    """Return a placed pod that wants no web server near it."""
    return ranked(pod(name, apart=[term(HOSTNAME, WEB)], on=on), priority)


def loner(name: str) -> JSON:
    """Return an important pod that wants neither databases nor web servers near it."""
    return ranked(pod(name, labels=WEB, apart=[term(HOSTNAME, DB), term(HOSTNAME, WEB)]), HIGH)


def with_port(each: JSON, number: int) -> JSON:
    """Give a pod a port of its node."""
    (container,) = each["spec"]["containers"]
    ports = {"ports": [{"containerPort": number, "hostPort": number}]}
    return each | {"spec": each["spec"] | {"containers": [container | ports]}}


def tainted(each: JSON) -> JSON:
    """Let a node keep pods away."""
    taint = {"key": "e2e/closed", "effect": "NoSchedule"}
    return each | {"spec": {"taints": [taint]}}


@asynccontextmanager
async def budget(
    api: Api, labels: dict[str, str], allowed: int = 0, name: str = "strict"
) -> AsyncIterator[None]:
    """Allow a number of disruptions; the controller that would compute it does not run."""
    kind = {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget"}
    spec = {"minAvailable": 1, "selector": {"matchLabels": labels}}
    made = await api.create(BUDGETS, kind | {"metadata": {"name": name}, "spec": spec})
    status = {
        "observedGeneration": made["metadata"]["generation"],
        "disruptionsAllowed": allowed,
        "currentHealthy": 1,
        "desiredHealthy": 1 - allowed,
        "expectedPods": 1,
    }
    await api.request("PUT", f"{BUDGETS}/{name}/status", made | {"status": status})
    try:
        yield
    finally:
        await api.delete(f"{BUDGETS}/{name}")


async def adopt(sandbox: Sandbox, pods: Iterable[JSON]) -> None:
    """Give each of some placed pods a ReplicaSet, which makes a successor once it is deleted.

    One that has not seen the pod in time makes another one, and deletes that again: no scheduler
    may run before that.
    """
    keys = {key_of(each) for each in pods if each["spec"].get("nodeName")}
    known = sandbox.pods.objects
    await sandbox.pods.until(lambda: keys <= known.keys(), SETTLE_S, "pods to be shown")
    placed = [known[key] for key in keys]
    await for_each(placed, lambda each: sandbox.api.create(_replica_sets(each), replica_set(each)))
    await sandbox.pods.until(
        lambda: (
            all(known[key]["metadata"].get("ownerReferences") for key in keys)
            and not any(map(is_successor, known.values()))
        ),
        SETTLE_S,
        "placed pods to be adopted",
    )


async def add_owned(sandbox: Sandbox, *things: JSON) -> None:
    """Create nodes, and placed pods that have controllers."""
    await sandbox.add(*things)
    await adopt(sandbox, [each for each in things if each["kind"] == "Pod"])


def _replica_sets(each: JSON) -> str:
    return f"/apis/apps/v1/namespaces/{each['metadata']['namespace']}/replicasets"


def replica_set(each: JSON) -> JSON:
    """Return one for a pod: it adopts the pod, which has a label of its own."""
    metadata = {key: each["metadata"][key] for key in ("name", "namespace")}
    spec = {key: value for key, value in each["spec"].items() if key != "nodeName"}
    # What admission added of the old one's own is added to the successor again.
    spec.pop("priority", None)
    labels = each["metadata"]["labels"]
    return {
        "apiVersion": "apps/v1",
        "kind": "ReplicaSet",
        "metadata": metadata,
        "spec": {
            "replicas": 1,
            "selector": {"matchLabels": {NAME_LABEL: labels[NAME_LABEL]}},
            "template": {"metadata": {"labels": labels}, "spec": spec},
        },
    }


def is_successor(each: JSON) -> bool:
    """Return whether a controller has made a pod."""
    return "generateName" in each["metadata"]


def left(sandbox: Sandbox) -> set[str]:
    """Return the names of the pods that are there and are not being deleted, but no successors."""
    return {
        each["metadata"]["name"]
        for each in sandbox.pods.objects.values()
        if not (each["metadata"].get("deletionTimestamp") or is_successor(each))
    }


def crowd(count: int) -> Burst:
    """Return nodes with a database on each, and important pods for which all of these go."""
    names = [f"n{number:03}" for number in range(count)]
    return Burst(
        [node(name) for name in names],
        [loner(f"p{number:03}") for number in range(count)],
        [db(f"on-{name}", name) for name in names],
    )


async def fill(sandbox: Sandbox, nodes: list[JSON], pods: list[JSON]) -> None:
    await for_each(nodes, sandbox.add)
    await create(sandbox, pods)


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
    by_stock_too: set[str] = field(default_factory=set)
    """Who may go besides where the scheduler is alone."""


def one(where: str, *victims: str) -> dict[str, Any]:
    """Return that the important pod is placed, and who goes for that."""
    return {"places": [{"important": where}], "victims": [{*victims}]}


NOBODY: dict[str, Any] = {"places": [{}], "victims": [set()]}


@dataclass(frozen=True)
class Outcome:
    """What came of a case."""

    places: dict[str, str]
    victims: set[str]
    seconds: float


async def run(sandbox: Sandbox, case: Case, mode: str) -> Outcome:
    """Let a scheduler place those who come."""
    await add_owned(sandbox, *case.there)
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
            if sandbox.extender:
                assert await sandbox.extender.calls("filter") < SPINNING
        there = {each["metadata"]["name"] for each in case.there if each["kind"] == "Pod"}
        outcome = Outcome(placed(sandbox, names), there - left(sandbox), seconds)
    await sandbox.assert_lawful()
    await sandbox.clear()
    return outcome


def placed(sandbox: Sandbox, names: list[str]) -> dict[str, str]:
    """Return where pods are that have a node."""
    places = sandbox.places()
    return {name: places[f"default/{name}"] for name in names if f"default/{name}" in places}
