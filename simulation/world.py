"""One run: everybody in one event loop, judged at every step."""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import Coroutine
from functools import partial
from random import Random
from typing import Any, Final

from extender.core.config.schema import Mode
from simulation import templates
from simulation.annotating_plan import ANNOTATING
from simulation.apiserver.changes import write_down
from simulation.apiserver.server import ApiServer
from simulation.apiserver.store import Store
from simulation.caller import Caller
from simulation.calm import Calm
from simulation.configuration import configured
from simulation.defects import Defects
from simulation.disruption import DisruptionController
from simulation.faults import Faults
from simulation.garbage import little_collecting
from simulation.invariants.broken import BrokenError
from simulation.invariants.counted import Recount
from simulation.invariants.hints import Hints
from simulation.invariants.knowledge import Knowledge
from simulation.invariants.referee import Referee
from simulation.invariants.reports import Reports, judge_audit
from simulation.invariants.upkeep import check_answers, check_counters, check_reservations
from simulation.loop import StuckError, simulate, spawn, the_loop
from simulation.moving import Moving
from simulation.network import Link
from simulation.outcome import Outcome
from simulation.plan import CALM_SECONDS, UNCLEAR_SECONDS, Plan
from simulation.program import Incarnation, Process
from simulation.quiet import sleep_until
from simulation.scheduler.choosing import Settings
from simulation.scheduler.extender import Assistant, Extender
from simulation.scheduler.process import Scheduler
from simulation.templates import GROUPS
from simulation.themes import HINTS, REPORTS
from simulation.trace import Trace
from simulation.transport import Session
from simulation.users import Users
from simulation.workloads import Controllers, Kubelets

LOOK_SECONDS: Final = 1.0
QUIET_LOOK_SECONDS: Final = 5.0
COUNT_SECONDS: Final = 30.0
"""Between two recounts of all counters."""
OTHER_WRITES: Final = 10_000
"""Events, for example, between a backup and its restore."""
LONG_SECONDS: Final = 16.0
MOST_TURNS: Final = 5_000_000
MOST_TURNS_A_SECOND: Final = 1_000


class World:
    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        loop = self._loop = the_loop()
        setup = plan.setup
        self.trace = Trace(loop.time)
        self.store = Store()
        self.server = ApiServer(
            self.store,
            self._chance("server"),
            self.trace,
            setup.streams_lists,
            setup.page,
            setup.servers,
        )
        for number, cache in enumerate(self.server.caches):
            cache.lag = setup.cache_lag * (1 + number)
        usual = setup.network
        self.extender_link = Link(self._chance("extender"), usual=usual)
        self.scheduler_link = Link(self._chance("scheduler"), usual=usual)
        self.callback_link = Link(self._chance("callbacks"), fastest=0.0001, usual=usual / 5)
        steady = Caller("controllers", self.server, Link(self._chance("controllers"), usual=usual))
        config = configured(setup)
        self._assists = config.mode is Mode.ASSIST
        self.process = Process(config, self.trace, self._chance("process"))
        """The one that schedulers ask."""
        self.standby = Process(config, self.trace, self._chance("standby"), "standby-extender")
        self.knowledge = Knowledge(self.store, loop.time)
        self.referee = Referee(self.store, loop.time, self._alive, self.knowledge.since)
        self.referee.limited, self.referee.assisted = setup.limited, setup.assists
        if setup.theme == HINTS:
            self.referee.judges_hints = Hints(self.store, loop.time, self.referee.broken)
        self.reports = Reports(self.store, loop.time, self.knowledge.since)
        for process in (self.process, self.standby):
            process.on_call = self.referee.note_asked
            if setup.theme == ANNOTATING:
                process.on_answer = self._note_answered
        self.controllers = Controllers(steady, self._chance("workloads"))
        self.disruption = DisruptionController(steady)
        self.kubelets = Kubelets(steady, self.controllers, self._chance("kubelets"))
        self.users = Users(steady, self.controllers, setup)
        self.faults = Faults(self)
        self.moving = Moving(self, steady)
        self.calm = Calm(self)
        self.schedulers: dict[str, Scheduler] = {}
        self.failure: BrokenError | None = None
        self.store.observers.append(partial(write_down, self.trace))
        self._twins = 0
        self._counted = 0.0
        self._count_of: list[tuple[str, int]] = []
        """The incarnation and version of the state of which all counters were found right."""
        self._recount = Recount(self.store, loop.time)

    @property
    def now(self) -> float:
        return self._loop.time()

    @property
    def living(self) -> list[Incarnation]:
        """Return the extenders that run, the one that is asked first."""
        lives = (self.process.alive, self.standby.alive)
        return [each for each in lives if each is not None]

    def _chance(self, what: str) -> Random:
        return Random(f"{self.plan.seed} {what}")

    # Processes

    def start_extender(self, process: Process) -> None:
        name = f"{process.name}-{process.lives + 1}"
        note_sent = partial(self.referee.note_sent, name)
        process.start(
            Session(
                self.moving.links[process.name], self.server, name, self._chance(name), note_sent,
                note_begun=partial(self._note_begun, name),
            )
        )  # fmt: skip

    def _note_answered(self, alive: Incarnation, verb: str, body: bytes, answer: bytes) -> None:
        if verb == "filter" and alive.ready and alive.state.stale is None:
            self.referee.note_answered(body, answer)

    def _note_begun(self, *request: Any) -> None:
        self.moving.note_begun(*request)
        if self.plan.setup.evicting is None and self.plan.setup.repairing is None:
            self.reports.note_begun(*request)
        if self.referee.judges_hints is not None:
            self.referee.judges_hints.note_begun(*request)

    def kill_extender(self, seconds: float) -> None:
        self.moving.kill(self.process, seconds)

    def move_lead(self, seconds: float) -> None:
        if self.plan.setup.replicas > 1:
            self.process, self.standby = self.standby, self.process
            self.trace.say(self.process.name, "is asked from now on")
        for name in sorted(self.schedulers):
            self.kill_scheduler(name, None if name.startswith("twin") else seconds)

    def restore_etcd(self, chance: Random, seconds: float) -> None:
        """Go back to how things are now, in a while; as documented, all others start anew then.

        The connections that are open break at once, or end as those to a server that is stopped.
        """
        if self.server.troubles.down:
            return
        # Backups are hours old. Only a long absence is noticed after few writes.
        backup = self.store.back_up(0 if seconds > LONG_SECONDS else OTHER_WRITES)
        restores = self.server.restores
        abrupt, bumped = (chance.random() < 0.5 for _ in range(2))

        def stop() -> None:
            if restores != self.server.restores:
                return  # It would go forward.
            for alive in self.living:
                if abrupt or self.moving.links[alive.name.rpartition("-")[0]].is_disturbed:
                    alive.session.reset()
            self.server.restore(seconds, go_back)

        def go_back() -> None:
            for alive in self.living:
                alive.note_restore()
            self.referee.forget()
            self.store.restore(backup, bumped=bumped)
            self.trace.say("etcd", "restored", f"{seconds:g}")
            self.kubelets.restart()
            self.controllers.restart(chance.uniform(0.0, 2.0))
            for name in sorted(self.schedulers):
                again = None if name.startswith("twin") else chance.uniform(0.0, 2.0)
                self.kill_scheduler(name, again)

        self._loop.call_later(chance.uniform(0.5, 30.0), stop)

    def start_scheduler(self, name: str, settings: Settings) -> None:
        caller = Caller(name, self.server, self.scheduler_link)
        extender = Extender(self.process, self.callback_link)
        if self._assists:
            extender = Assistant(
                self.process,
                self.callback_link,
                caller,
                ignorable=not self.plan.setup.assists,
            )
        scheduler = Scheduler(
            settings, caller, extender, self._chance(f"{name} {self.now}"), self.trace
        )
        scheduler.on_preemption = partial(self.referee.judge_preemption, name)
        scheduler.queue.on_cycle = self.referee.note_cycle
        scheduler.queue.on_end = self.referee.contention.end
        self.schedulers[name] = scheduler
        spawn(self._guarded(scheduler), name)

    def kill_scheduler(self, name: str, seconds: float | None) -> None:
        scheduler = self.schedulers.pop(name)
        scheduler.stop()
        for uid in scheduler.queue.in_flight:
            self.referee.contention.end(uid)
        self._loop.kill(name)
        self.trace.say(name, "killed")
        if seconds is not None:
            self._loop.call_later(seconds, self.start_scheduler, name, scheduler.settings)

    async def run_twin(self, seconds: float) -> None:
        self._twins += 1
        name = f"twin-{self._twins}"
        self.start_scheduler(name, self._settings(name))
        await asyncio.sleep(seconds)
        if name in self.schedulers:
            self.kill_scheduler(name, None)

    def _settings(self, name: str, *, own_only: bool = False) -> Settings:
        setup = self.plan.setup
        # A scheduler that looks after all pods has every profile.
        grouping = setup.grouping and (name == "scheduler-1" or not own_only)
        profile = GROUPS if grouping else ""
        permits = self.plan.seed % 2 == 0
        return Settings(name, setup.least_sampled, own_only, profile, permits)

    async def _guarded(self, scheduler: Scheduler) -> None:
        try:
            await scheduler.run()
        except Exception:
            logging.getLogger("extender").exception("the simulated scheduler broke")

    # The run

    async def run(self) -> None:
        """Let everything happen; BrokenError as soon as something does not hold."""
        log = Defects()
        logger = logging.getLogger("extender")
        logger.addHandler(log)
        self._loop.set_exception_handler(log.take)
        try:
            self._populate()
            await self._until(self._act())
            self.faults.end_all()
            self._loop.call_later(UNCLEAR_SECONDS, self.controllers.end_jobs)
            await self._until(asyncio.sleep(CALM_SECONDS))
            self.calm.check_end()
            self.moving.check_end()
            if self.plan.setup.theme == REPORTS and not log.defects:
                for alive in self.living:
                    await judge_audit(alive, self._chance("audit"))
                log.defects.clear()
        finally:
            logger.removeHandler(log)
            if log.defects and self.failure is None:
                self.failure = BrokenError("defect in the log", log.defects[0], ())

    def _populate(self) -> None:
        setup = self.plan.setup
        for name, team in templates.NAMESPACES.items():
            self.store.create("namespaces", templates.namespace(name, team), "users")
        for _ in range(setup.nodes):
            self.users.add_node()
        self.start_extender(self.process)
        if setup.replicas > 1:
            self.start_extender(self.standby)
        for number in range(1, setup.schedulers + 1):
            name = f"scheduler-{number}"
            self.start_scheduler(name, self._settings(name, own_only=True))
        chance = self._chance("first workloads")
        for _ in range(setup.workloads):
            self.users.new_workload(chance)

    async def _act(self) -> None:
        for action in self.plan.actions:
            await sleep_until(action.at)
            self.trace.say("plan", action.what, f"{action.seconds:g} {action.number}")
            (self.faults if action.what in self.faults.acts else self.users).act(action)
        await sleep_until(self.plan.busy)

    async def _until(self, work: Coroutine[Any, Any, None]) -> None:
        """Look at everything again and again until some work is done."""
        task = spawn(work, "world")
        while not task.done():
            seconds = QUIET_LOOK_SECONDS if self._loop.quiet else LOOK_SECONDS
            await asyncio.wait({task}, timeout=seconds)
            self._look()
            if self.now - self._counted >= COUNT_SECONDS:
                self._count()
        self._count()
        task.result()

    def _count(self) -> None:
        """Recount everything that is counted, unless nothing has changed."""
        self._counted = self.now
        versions = [(alive.name, alive.state.version) for alive in self.living]
        if versions != self._count_of:
            self._count_of = versions
            for alive in self.living:
                check_counters(alive.state)

    def _look(self) -> None:
        if self.referee.broken:
            raise self.referee.broken[0]
        self.knowledge.look(each.versions for each in self.living)
        for alive in self.living:
            if alive.awake:
                check_reservations(alive.state, self.now)
        for process in (self.process, self.standby):
            check_answers(process.slowest, assisting=self.plan.setup.assists)
        for alive in self.living:
            # In `assist`, rules in annotations count before they are on record.
            counts = alive.ready and not self.plan.setup.assists
            if counts and self._recount.look(alive.name, alive.state):
                self.trace.say(alive.name, "counts what is stored")
        self.reports.look(self.living)
        self.calm.look()
        self.moving.look()
        if self._loop.turns > MOST_TURNS + MOST_TURNS_A_SECOND * self.now:
            raise BrokenError("busy without end", f"{self._loop.turns} turns", ())

    @property
    def behind(self) -> float:
        """Return for how many seconds watches may have shown nothing, at most."""
        silence = max((each.silence for each in self.living), default=0.0)
        return max(silence, self.server.behind)

    def _alive(self) -> str | None:
        return None if self.process.alive is None else self.process.alive.name


def run(plan: Plan, *, keep_lines: bool = False) -> Outcome:
    """Run a plan; the same plan always gives the same outcome. KeyboardInterrupt has it as well."""
    worlds: list[World] = []

    async def main() -> BrokenError | None:
        world = World(plan)
        worlds.append(world)
        try:
            await world.run()
        except BrokenError as broken:
            return broken
        except StuckError as stuck:
            return BrokenError("stuck", str(stuck), ())
        return world.failure

    random.seed(plan.seed)
    try:
        with little_collecting():
            broken = simulate(main())
    except KeyboardInterrupt as interrupted:
        outcomes = [_outcome(world, None, keep_lines=keep_lines) for world in worlds]
        raise KeyboardInterrupt(*outcomes) from interrupted
    return _outcome(worlds[0], broken, keep_lines=keep_lines)


def _outcome(world: World, broken: BrokenError | None, *, keep_lines: bool) -> Outcome:
    return Outcome(
        world.plan,
        broken,
        world.trace.digest,
        world.now,
        world.referee.binds,
        world.referee.preemptions.counts,
        world.trace.kinds,
        world.moving.counts,
        world.calm.gangs.counts,
        [*world.trace.lines] if broken is not None or keep_lines else [],
    )
