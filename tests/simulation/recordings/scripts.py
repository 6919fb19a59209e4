"""What happens in a scenario, step by step, on a real control plane or on a simulated one."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Final, Protocol

from tests.simulation.recordings.between import Between
from tests.simulation.recordings.log import JSON, Log

PATIENCE_SECONDS: Final = 25.0
"""Longer than the longest back-off, twice."""
QUIET_SECONDS: Final = 1.6
"""Longer than the first back-off: who has not come back by then waits for something."""


class Stage(Protocol):
    """Where a scenario is played."""

    log: Log
    between: Between

    async def create(self, thing: JSON) -> None:
        """Create a pod or a node."""

    async def delete(self, pod: str) -> None:
        """Delete a pod as a user does, with its grace period."""

    async def remove(self, pod: str) -> None:
        """Remove a pod for good, as its kubelet does in the end."""

    async def relabel(self, namespace: str, labels: dict[str, str]) -> None:
        """Give a namespace other labels."""

    async def bind(self, pod: str, node: str) -> None:
        """Bind a pod past the scheduler."""

    async def restart_scheduler(self) -> None:
        """Kill the scheduler, and start it again."""


Act = Callable[[Stage], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class Step:
    """One thing to do or to wait for."""

    act: Act
    deed: str = ""
    """What is written down of it; nothing for what nobody but the script can see."""


@dataclass(frozen=True, slots=True)
class Scenario:
    """What there is at the start, and the steps."""

    name: str
    there: tuple[JSON, ...]
    """Nodes, namespaces and pods with a place, before the scheduler starts."""
    steps: tuple[Step, ...]


async def play(scenario: Scenario, stage: Stage) -> None:
    """Do all steps, and wait until nothing follows any more."""
    for step in (*scenario.steps, quiet()):
        if step.deed:
            stage.log.note("deed", "", f"[{step.deed}]")
        await step.act(stage)


def create(thing: JSON) -> Step:
    name = thing["metadata"]["name"]
    return Step(lambda stage: stage.create(thing), f"create {thing['kind'].lower()} {name}")


def delete(pod: str) -> Step:
    return Step(lambda stage: stage.delete(pod), f"delete pod {pod}")


def remove(pod: str) -> Step:
    """Let a deleted pod be gone, as its kubelet reports."""
    return Step(lambda stage: stage.remove(pod), f"the kubelet has ended pod {pod}")


def relabel(namespace: str, **labels: str) -> Step:
    return Step(lambda stage: stage.relabel(namespace, labels), f"relabel namespace {namespace}")


def bind(pod: str, node: str) -> Step:
    return Step(lambda stage: stage.bind(pod, node), f"somebody else binds pod {pod}")


def restart_scheduler() -> Step:
    return Step(lambda stage: stage.restart_scheduler(), "restart the scheduler")


def until(pod: str, words: str, times: int = 1) -> Step:
    async def wait(stage: Stage) -> None:
        log = stage.log
        await log.until(lambda: log.has(pod, words, times), PATIENCE_SECONDS, f"{pod}: {words}")

    return Step(wait)


def quiet() -> Step:
    return Step(lambda stage: stage.log.quiet(QUIET_SECONDS))


def hold(verb: str, pod: str) -> Step:
    async def act(stage: Stage) -> None:
        stage.between.hold(verb, pod)

    return Step(act)


def release(verb: str, pod: str) -> Step:
    async def act(stage: Stage) -> None:
        stage.between.release(verb, pod)

    return Step(act, f"pass on the {verb} of pod {pod}")


def spoil(verb: str, pod: str) -> Step:
    async def act(stage: Stage) -> None:
        stage.between.spoil(verb, pod)

    return Step(act)


def lose(verb: str, pod: str) -> Step:
    async def act(stage: Stage) -> None:
        stage.between.lose(verb, pod)

    return Step(act)
