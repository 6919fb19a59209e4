"""The part of a run that is about evictions or costs: users, faults and judges, beside others."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from random import Random
from typing import Final, Protocol

from simulation.apiserver.store import Store
from simulation.budgets import Budgets
from simulation.caller import Caller
from simulation.calm import Calm
from simulation.evicting_plan import Evicting
from simulation.evicting_users import EvictingUsers
from simulation.faults import Faults
from simulation.invariants.costs import CostJudge
from simulation.invariants.curing import Curing
from simulation.invariants.evictions import Evictions
from simulation.invariants.knowledge import Knowledge
from simulation.invariants.left_alone import LeftAlone
from simulation.invariants.repairs import Repairs
from simulation.leaders import LeaderFaults
from simulation.network import Link
from simulation.plan import Plan
from simulation.program import Incarnation, Process
from simulation.repairing_plan import Repairing
from simulation.repairing_users import RepairingUsers
from simulation.scaling_plan import Scaling
from simulation.scaling_users import ScalingUsers
from simulation.setbacks import Setbacks
from simulation.users import Users
from simulation.workloads import Controllers, Kubelets


class Moved(Protocol):
    plan: Plan
    store: Store
    process: Process
    standby: Process
    extender_link: Link
    controllers: Controllers
    kubelets: Kubelets
    users: Users
    faults: Faults
    calm: Calm
    knowledge: Knowledge

    @property
    def living(self) -> Sequence[Incarnation]: ...

    @property
    def now(self) -> float:
        """Return the simulated seconds since the start."""

    @property
    def behind(self) -> float:
        """Return for how many seconds watches may have shown nothing."""

    def start_extender(self, process: Process) -> None: ...


class Moving:
    """Joins them; in a run that is about something else it does nothing."""

    def __init__(self, world: Moved, steady: Caller) -> None:
        """`steady` is whom users and controllers call the API server by."""
        self._world = world
        setup, seed = world.plan.setup, world.plan.seed
        usual = world.extender_link
        self._curing: Curing | LeftAlone | None = None
        self.links: Mapping[str, Link] = {world.process.name: usual, world.standby.name: usual}
        self.evictions: Evictions | Repairs | CostJudge | None = None
        self._disturbed = 0.0
        """When a replica was last cut off."""
        if setup.evicting is None and setup.repairing is None and setup.scaling is None:
            return
        own = Link(Random(f"{seed} standby"), usual=setup.network)
        self.links = {world.process.name: usual, world.standby.name: own}
        users = EvictingUsers(steady, world.controllers, setup)
        world.users.acts.update(users.acts)
        world.faults.acts.update({**LeaderFaults(self).acts, **Setbacks(world).acts})
        self._budgets: Final = Budgets(steady, Random(f"{seed} budgets"))
        if setup.repairing is not None:
            repairing = RepairingUsers(steady, world.controllers, setup)
            world.users.acts.update(repairing.acts)
            moves = self.evictions = _judge_moves(world, setup.repairing)
            self._curing = LeftAlone(world.store, lambda: world.now, moves)
        elif setup.evicting is not None:
            judge = self.evictions = _judge(world, setup.evicting)
            self._curing = Curing(world.store, lambda: world.now, judge)
        elif setup.scaling is not None:
            world.users.acts.update(ScalingUsers(steady, world.controllers, setup).acts)
            self.evictions = self._judge_costs(setup.scaling)

    @property
    def counts(self) -> Counter[str]:
        return Counter() if self.evictions is None else self.evictions.counts

    @property
    def processes(self) -> Sequence[Process]:
        return [self._world.process, self._world.standby]

    def note_begun(self, by: str, method: str, path: str, body: bytes) -> None:
        if self.evictions is not None:
            self.evictions.note_begun(by, method, path, body)

    def look(self) -> None:
        if any(each.is_disturbed for each in self.links.values()):
            self._disturbed = self._world.now
        if self.evictions is not None:
            self.evictions.look()
        if self._curing is not None:
            self._curing.look()

    def check_end(self) -> None:
        """Raise when the calm has not brought what it must."""
        if self._curing is not None:
            self._curing.check()

    def kill(self, process: Process, seconds: float) -> None:
        if process.alive is not None:
            process.kill()
            self._later(seconds, lambda: self._world.start_extender(process))

    def pause(self, process: Process, seconds: float) -> None:
        alive = process.alive
        if alive is not None and not alive.halted:
            process.halt()
            self._later(seconds, lambda: process.go_on(alive))

    def _judge_costs(self, settings: Scaling) -> CostJudge:
        world = self._world
        return CostJudge(
            world.store,
            lambda: world.now,
            settings,
            world.knowledge.since,
            lambda: max(world.calm.undisturbed, self._disturbed),
        )

    @staticmethod
    def _later(seconds: float, act: Callable[[], None]) -> None:
        asyncio.get_running_loop().call_later(seconds, act)


def _judge(world: Moved, settings: Evicting) -> Evictions:
    return Evictions(
        world.store, lambda: world.now, settings, lambda: world.living, lambda: world.behind
    )


def _judge_moves(world: Moved, settings: Repairing) -> Repairs:
    return Repairs(
        world.store, lambda: world.now, settings, lambda: world.living, lambda: world.behind
    )
