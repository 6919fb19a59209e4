"""What goes wrong: each fault of `themes.FAULTS`, done to the world."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from random import Random
from typing import Protocol

from simulation.actions import Action
from simulation.apiserver.server import ApiServer
from simulation.loop import now, spawn, the_loop
from simulation.network import Link, Way
from simulation.program import Process
from simulation.scheduler.process import Scheduler
from simulation.themes import RESTORE_ETCD


class Breakable(Protocol):
    server: ApiServer
    process: Process
    extender_link: Link
    scheduler_link: Link
    callback_link: Link

    @property
    def schedulers(self) -> Mapping[str, Scheduler]: ...

    def kill_extender(self, seconds: float) -> None:
        """Kill the extender, and start it again after a while."""

    def kill_scheduler(self, name: str, seconds: float | None) -> None:
        """Kill a scheduler, and start it again after a while, or never."""

    def move_lead(self, seconds: float) -> None:
        """Have other schedulers take over after a while, which ask another extender if they can."""

    def restore_etcd(self, chance: Random, seconds: float) -> None:
        """Make a backup, and restore it some time later, which takes a while."""

    async def run_twin(self, seconds: float) -> None:
        """Run a second scheduler for the same pods for a while."""


class Faults:
    """Carries out faults, and ends those that last."""

    def __init__(self, world: Breakable) -> None:
        self._world = world
        self.acts: dict[str, Callable[[Action], None]] = {
            "kill extender": self._kill_extender,
            "kill extender at a step": self._kill_at_a_step,
            "kill scheduler": self._kill_scheduler,
            "twin scheduler": self._twin,
            "restart API server": lambda action: world.server.restart(action.seconds),
            "close watches": lambda _: world.server.close_watches(),
            "reset connections": self._reset,
            "compact": self._compact,
            "stall etcd": self._stall,
            "throttle": lambda action: self._trouble(action, "throttled", 0.5),
            "lose answers": lambda action: self._trouble(action, "lost", 0.5),
            "unsure binds": lambda action: self._trouble(action, "unsure", 0.6),
            "fail binds": lambda action: self._trouble(action, "failing", 0.5),
            "unsure evictions": lambda action: self._trouble(action, "unsure_evictions", 0.6),
            "fail evictions": lambda action: self._trouble(action, "failing_evictions", 0.5),
            "forbid evictions": lambda action: self._trouble(action, "forbidden", 1.0),
            "cut extender from API server": self._cut(lambda: world.extender_link.up),
            "cut API server from extender": self._cut(lambda: world.extender_link.down),
            "cut scheduler from API server": self._cut(lambda: world.scheduler_link.down),
            "cut scheduler from extender": self._cut(lambda: world.callback_link.up),
            "cut extender from scheduler": self._cut(lambda: world.callback_link.down),
            "slow watches": self._slow(lambda: world.extender_link.down),
            "slow scheduler": self._slow(lambda: world.scheduler_link.down),
            "clock jumps": self._jump,
            "lead moves": lambda action: world.move_lead(action.seconds),
            "lagging server": self._lag,
            RESTORE_ETCD: lambda action: world.restore_etcd(Random(action.number), action.seconds),
            "repeated events": self._repeat,
        }

    def act(self, action: Action) -> None:
        self.acts[action.what](action)

    def end_all(self) -> None:
        """Let nothing be wrong that a fault of its own would go on with."""
        self._world.server.troubles.end()
        for cache in self._world.server.caches:
            cache.repeats = 0.0

    def _kill_extender(self, action: Action) -> None:
        self._world.kill_extender(action.seconds)

    def _kill_at_a_step(self, action: Action) -> None:
        """Kill it between two steps of what it does while time stands still."""
        loop = the_loop()
        turn = loop.turns + Random(action.number).randrange(2_000)
        loop.at_turn(turn, lambda: self._world.kill_extender(action.seconds))

    def _kill_scheduler(self, action: Action) -> None:
        name = min(self._world.schedulers, default=None)
        if name is not None:
            self._world.kill_scheduler(name, action.seconds)

    def _twin(self, action: Action) -> None:
        """Have two schedulers at once for the same pods, as when a lease was lost."""
        spawn(self._world.run_twin(action.seconds), "world")

    def _reset(self, _: Action) -> None:
        alive = self._world.process.alive
        if alive is not None:
            alive.session.reset()

    def _compact(self, _: Action) -> None:
        self._world.server.store.compact()
        for cache in self._world.server.caches:
            cache.forget_history()

    def _stall(self, action: Action) -> None:
        troubles = self._world.server.troubles
        until = now() + action.seconds
        troubles.stalled_until = max(troubles.stalled_until, until)

    def _trouble(self, action: Action, name: str, chance: float) -> None:
        troubles = self._world.server.troubles
        setattr(troubles, name, chance)
        asyncio.get_running_loop().call_later(action.seconds, setattr, troubles, name, 0.0)

    def _cut(self, way: Callable[[], Way]) -> Callable[[Action], None]:
        return lambda action: way().cut(action.seconds)

    def _slow(self, way: Callable[[], Way]) -> Callable[[Action], None]:
        def slow(action: Action) -> None:
            slowed, factor = way(), Random(action.number).choice((10.0, 100.0, 1000.0))
            slowed.slower *= factor

            def again() -> None:
                slowed.slower /= factor

            asyncio.get_running_loop().call_later(action.seconds, again)

        return slow

    def _lag(self, action: Action) -> None:
        """Let one API server hear nothing from etcd for a while, and go on answering."""
        Random(action.number).choice(self._world.server.caches).stand_still(action.seconds)

    def _repeat(self, action: Action) -> None:
        """Have events sent twice, and watches begin with some that were sent before."""
        loop = asyncio.get_running_loop()
        for cache in self._world.server.caches:
            cache.repeats = 0.5
            loop.call_later(action.seconds, setattr, cache, "repeats", 0.0)

    def _jump(self, action: Action) -> None:
        self._world.process.skew += action.seconds
        if self._world.process.alive is not None:
            self._world.process.alive.skew = self._world.process.skew
