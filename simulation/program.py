"""The extender's process: the program's own parts, put together as its runtime does, and killed."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine, Mapping, Sequence
from contextlib import AsyncExitStack
from random import Random
from typing import Any, Final

from kubernetes_asyncio.client import Configuration

from extender.core.config import Config
from extender.core.controllers.context import Clocks
from extender.core.controllers.history import History
from extender.core.controllers.staleness import Freshness
from extender.core.controllers.upkeep import keep_expiring, keep_forgetting
from extender.core.errors import RequestError
from extender.core.kube.client import ApiClient
from extender.core.kube.credentials import Credentials
from extender.core.kube.flowcontrol import FlowControl
from extender.core.kube.pacing import Timing
from extender.core.kube.watchers import Watchers
from extender.core.metrics import Metrics
from extender.core.parts import Context, Part, build_parts
from extender.core.resources import VITAL
from extender.core.source import Source, empty_state, mirror
from extender.core.warm_up import WarmUp
from extender.core.web.app import CALLBACKS, Callback
from extender.wiring import build_callbacks
from simulation.apiserver.store import PATHS
from simulation.loop import now, spawn, the_loop
from simulation.trace import Trace
from simulation.transport import Session

AWAKE_SECONDS: Final = 5.0
"""After it stood still, until it has caught up."""
HOST: Final = "http://apiserver.simulated"
EPOCH: Final = 1_767_225_600.0

_log = logging.getLogger(__name__)


class Incarnation:
    def __init__(
        self, name: str, config: Config, session: Session, chance: Random, skew: float
    ) -> None:
        self.name = name
        self.state = empty_state(config)
        self.verbs: Mapping[str, Callback] = {}
        self.source: Source | None = None
        self.parts: Sequence[Part] = ()
        self.metrics: Metrics | None = None
        self.session = session
        self.skew = skew
        """By how much the clock on the wall is wrong; it may jump."""
        self.died_at: float | None = None
        self.halted = False
        """Whether it stands still."""
        self.resumed = -AWAKE_SECONDS
        """When it did so last."""
        self._restored: dict[str, tuple[int, int]] = {}
        """How far each watch had come when etcd was last restored: as shown, and in order."""
        self._parts: list[object] = [self.state]
        self._config = config
        self._chance = chance

    @property
    def ready(self) -> bool:
        """Tell whether everything has been listed once."""
        return self.source is not None and all(self.source.picture.synced.values())

    @property
    def awake(self) -> bool:
        """Return whether it is running, and has been for a moment."""
        return not self.halted and now() - self.resumed >= AWAKE_SECONDS

    @property
    def leads(self) -> bool:
        """Return whether it is the one that evicts, as far as it knows."""
        leadership = None if self.source is None else self.source.leadership
        return leadership is not None and leadership.leads

    @property
    def roots(self) -> list[object]:
        """Return the parts from which all others can be reached."""
        return self._parts

    @property
    def silence(self) -> float:
        """Return for how many seconds nothing was heard of the quietest resource."""
        silent = {} if self.source is None else self.source.picture.silent_for
        return max((now() if each is None else each for each in silent.values()), default=0.0)

    @property
    def versions(self) -> dict[str, int]:
        """Return how far the watch of each resource has come, 0 before anything was listed.

        Versions go on though etcd was restored: what is from before is as old as it was.
        """
        ahead = self.session.server.store.ahead
        return {
            name: old[1] if (old := self._restored.get(name)) and old[0] == shown else shown + ahead
            for name, shown in self._shown.items()
        }

    def note_restore(self) -> None:
        """Note that etcd is about to be restored."""
        self._restored = {name: (self._shown[name], each) for name, each in self.versions.items()}

    @property
    def _shown(self) -> dict[str, int]:
        watchers = self.source and self.source.picture
        if not isinstance(watchers, Watchers):
            return dict.fromkeys(PATHS, 0)
        reflectors = watchers._reflectors  # noqa: SLF001 - nobody else has to know
        return {each.name: int(each.mirror.version or "0") for each in reflectors}

    def _unsynced(self) -> str | None:
        return None if self.ready else "not synced yet"

    async def run(self) -> None:
        """Build every part, and let it run until the process is killed."""
        timing = Timing(
            clock=now,
            wall=lambda: EPOCH + now() + self.skew,
            sleep=asyncio.sleep,
            chance=self._chance.random,
        )
        config, metrics = self._config, Metrics()
        connection = config.client_connection
        async with AsyncExitStack() as parts:
            client = ApiClient(
                await _credentials(),
                observer=metrics,
                limit=FlowControl(connection.qps, connection.burst, timing),
                session=lambda: self.session,  # type: ignore[arg-type,return-value]
                timing=timing,
            )
            await parts.enter_async_context(client)
            source = self.source = await mirror(
                client,
                config,
                self.state,
                metrics=metrics,
                parts=parts,
                timing=timing,
            )
            context = Context(
                config,
                source,
                self.state,
                metrics,
                self._unsynced,
                WarmUp(self.state, metrics, clock=now),
                History(timing.wall),
                Clocks(now, timing.wall, self._chance.random),
            )
            features = self.parts = build_parts(context)
            self.metrics = metrics
            self.verbs = build_callbacks(context, features)[CALLBACKS]
            if source.leadership is not None:
                spawn(_kept(source.leadership.run()), self.name)
            for part in features:
                for _, task in part.tasks():
                    spawn(_kept(task), self.name)
            controllers = self._controllers(source)
            self._parts += [self.verbs, source, client, *features, *controllers]
            for eternal in controllers:
                spawn(_kept(eternal), self.name)
            await asyncio.Event().wait()

    def _controllers(self, source: Source) -> list[Coroutine[Any, Any, None]]:
        stale_after = self._config.client_connection.stale_after_seconds
        freshness = Freshness(
            lambda: source.picture.silent_for, stale_after, self.state, VITAL, clock=now
        )
        return [
            freshness.run(),
            keep_expiring(self.state, now),
            keep_forgetting(self.state),
        ]


class Process:
    """Where the extender listens, whichever incarnation is alive."""

    def __init__(
        self, config: Config, trace: Trace, chance: Random, name: str = "extender"
    ) -> None:
        self.name = name
        self.alive: Incarnation | None = None
        self.slowest: dict[str, float] = {}
        """Seconds that the slowest answer of each verb took."""
        self.skew = 0.0
        self._config = config
        self._trace = trace
        self._chance = chance
        self.lives = 0
        self.on_call: Callable[[str, str, bytes], None] = lambda *_: None
        """Hears of each call that reaches the process, with the name of its life."""
        self.on_answer: Callable[[Incarnation, str, bytes, bytes], None] = lambda *_: None

    def start(self, session: Session) -> Incarnation:
        self.lives += 1
        chance = Random(self._chance.random())
        name = f"{self.name}-{self.lives}"
        alive = self.alive = Incarnation(name, self._config, session, chance, self.skew)
        spawn(_kept(alive.run()), name)
        self._trace.say(name, "started")
        return alive

    def kill(self) -> None:
        alive, self.alive = self.alive, None
        if alive is None:
            return
        alive.died_at = now()
        alive.session.cut_off()
        the_loop().kill(alive.name)
        self._trace.say(alive.name, "killed")

    def halt(self) -> None:
        if self.alive is not None:
            self.alive.halted = True
            the_loop().halt(self.alive.name)
            self._trace.say(self.alive.name, "stands still")

    def go_on(self, alive: Incarnation) -> None:
        """Let the process go on, if it is still that one."""
        if alive is self.alive and alive.halted:
            alive.halted, alive.resumed = False, now()
            the_loop().go_on(alive.name)
            self._trace.say(alive.name, "goes on")

    def call(self, verb: str, body: bytes) -> asyncio.Future[bytes]:
        """Begin to answer a callback, as the HTTP side does."""
        alive = self.alive
        if alive is None or verb not in alive.verbs:
            raise ConnectionRefusedError("connection refused")
        self.on_call(alive.name, verb, body)
        return spawn(self._answer(alive, verb, body), alive.name)

    async def _answer(self, alive: Incarnation, verb: str, body: bytes) -> bytes:
        callback = alive.verbs[verb]
        start = now()
        try:
            answer = await callback.answer(body)
        except RequestError:
            _log.exception("%s: the simulated scheduler sends what no scheduler sends", verb)
            raise
        except Exception as error:  # noqa: BLE001 - as the HTTP side does
            _log.exception("%s failed unexpectedly", verb)
            return callback.fault(error, now() - start)
        else:
            self.on_answer(alive, verb, body, answer)
            return answer
        finally:
            if alive is self.alive and alive.resumed < start:
                self.slowest[verb] = max(self.slowest.get(verb, 0.0), now() - start)


async def _kept(eternal: Coroutine[Any, Any, Any]) -> None:
    try:
        await eternal
    except Exception:  # noqa: BLE001 - whatever it is, it is a defect
        _log.exception("a part of the program has ended")


async def _credentials() -> Credentials:
    async def load(*, forced: bool) -> None:
        del forced

    return Credentials(Configuration(host=HOST), load, clock=now)
