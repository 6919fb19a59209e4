"""What goes wrong: each fault of `plan.FAULTS`, done to the world."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from random import Random
from typing import TYPE_CHECKING

from simulation.loop import SimulatedLoop, spawn
from simulation.network import Way
from simulation.plan import Action

if TYPE_CHECKING:
    from simulation.world import World


class Faults:
    """Carries out faults, and ends those that last."""

    def __init__(self, world: World) -> None:
        self._world = world
        self.acts: dict[str, Callable[[Action], None]] = {
            "kill extender": self._kill_extender,
            "kill extender at a step": self._kill_at_a_step,
            "kill scheduler": self._kill_scheduler,
            "twin scheduler": self._twin,
            "restart API server": lambda action: world.server.restart(action.seconds),
            "close watches": lambda _: world.server.cache.close_all(),
            "reset connections": self._reset,
            "compact": self._compact,
            "stall etcd": self._stall,
            "throttle": lambda action: self._trouble(action, "throttled", 0.5),
            "lose answers": lambda action: self._trouble(action, "lost", 0.5),
            "unsure binds": lambda action: self._trouble(action, "unsure", 0.6),
            "fail binds": lambda action: self._trouble(action, "failing", 0.5),
            "cut extender from API server": self._cut(lambda: world.extender_link.up),
            "cut API server from extender": self._cut(lambda: world.extender_link.down),
            "cut scheduler from API server": self._cut(lambda: world.scheduler_link.down),
            "cut scheduler from extender": self._cut(lambda: world.callback_link.up),
            "cut extender from scheduler": self._cut(lambda: world.callback_link.down),
            "slow watches": self._slow(lambda: world.extender_link.down),
            "slow scheduler": self._slow(lambda: world.scheduler_link.down),
            "clock jumps": self._jump,
        }

    def act(self, action: Action) -> None:
        """Let one thing go wrong."""
        self.acts[action.what](action)

    def end_all(self) -> None:
        """Let nothing be wrong that a fault of its own would go on with."""
        troubles = self._world.server.troubles
        troubles.lost = troubles.unsure = troubles.failing = troubles.throttled = 0.0

    def _kill_extender(self, action: Action) -> None:
        self._world.kill_extender(action.seconds)

    def _kill_at_a_step(self, action: Action) -> None:
        """Kill it between two steps of what it does while time stands still."""
        loop = asyncio.get_running_loop()
        assert isinstance(loop, SimulatedLoop)
        turn = loop.turns + Random(action.number).randrange(2_000)
        loop.at_turn(turn, lambda: self._world.kill_extender(action.seconds))

    def _kill_scheduler(self, action: Action) -> None:
        name = sorted(self._world.schedulers)[0] if self._world.schedulers else None
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
        self._world.store.compact()
        self._world.server.cache.forget_history()

    def _stall(self, action: Action) -> None:
        troubles = self._world.server.troubles
        until = self._world.now + action.seconds
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

    def _jump(self, action: Action) -> None:
        self._world.process.skew += action.seconds
        if self._world.process.alive is not None:
            self._world.process.alive.skew = self._world.process.skew


@contextmanager
def nothing() -> Iterator[None]:
    """Plant no bug."""
    yield
