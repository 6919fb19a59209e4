"""What those have in common who do something to a cluster."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from simulation.apiserver.store import Store
from simulation.caller import Caller
from simulation.loop import spawn
from simulation.plan import Setup
from simulation.workloads import Controllers, Workload


class Acting:
    """Users of one kind; `acts` has what they do, by the name of the action."""

    acts: dict[str, Callable[[Random], None]]

    def __init__(self, caller: Caller, controllers: Controllers, setup: Setup) -> None:
        self._caller = caller
        self._store: Store = caller.server.store
        self._controllers = controllers
        self._setup = setup
        self._apps: list[str] = []

    def _any(self, chance: Random) -> Workload | None:
        known = sorted(self._controllers.workloads)
        return self._controllers.workloads[chance.choice(known)] if known else None

    def _on(self, node: str) -> list[str]:
        pods = self._store.all("pods").items()
        return sorted(key for key, pod in pods if pod["spec"].get("nodeName") == node)

    def _do(self, act: Callable[[], object]) -> None:
        spawn(self._caller.try_to(act), "users")
