"""The composition root: builds every part from the configuration, and runs and stops them."""

from __future__ import annotations

import asyncio
import logging
import signal
import sys
from collections.abc import AsyncIterator, Coroutine, Iterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from typing import Any, Final, NoReturn

import uvloop

from extender import __version__
from extender.core.cluster.state import ClusterState
from extender.core.collecting import keep_collecting
from extender.core.config import Config, Mode, to_yaml
from extender.core.config.features import Maturity, enabled
from extender.core.controllers.broken_rules import keep_telling_of_broken
from extender.core.controllers.history import History
from extender.core.controllers.staleness import Freshness
from extender.core.controllers.upkeep import keep_expiring, keep_forgetting, keep_up_to_date
from extender.core.enabled import enforced
from extender.core.metrics import Metrics
from extender.core.parts import Context, build_parts
from extender.core.ports import Check, Remark
from extender.core.resources import VITAL, WatchedResource, needed
from extender.core.source import Picture, empty_state, open_source
from extender.core.warm_up import WarmUp
from extender.core.web.app import LAST_CALLS
from extender.core.web.listening import (
    callback_connections,
    listen_callbacks,
    listen_ops,
    raise_file_limit,
)
from extender.wiring import build_callbacks, build_ops

_log = logging.getLogger(__name__)

_UNSYNCED: Final = "not synced yet"


def serve(config: Config) -> int:
    """Serve until SIGTERM or SIGINT; return the exit code."""
    # The event loop needs open files itself, and ends in a stack trace or worse without.
    callback_connections(raise_file_limit(), config.serving.max_connections)
    uvloop.run(_until_signalled(config))
    return 0


class Lifecycle:
    """What probes and callbacks ask about the process as a whole."""

    def __init__(self, picture: Picture, freshness: Freshness) -> None:
        self._picture = picture
        self._freshness = freshness
        self.stopping = False

    def unready(self) -> str | None:
        """Say why no verdict can be given: which resources are not known, or not as they are."""
        missing = [resource for resource, known in self._picture.synced.items() if not known]
        return f"{', '.join(missing)} not synced yet" if missing else self._freshness.behind()

    def _unread(self, resource: str) -> Remark | None:
        """Tell of objects that are not known as they are, for which nothing is held up."""
        found = self._picture.unreadable.get(resource)
        if not found:
            return None
        key, why = next(iter(found.items()))
        return Remark(f"{len(found)} cannot be read, {key} for example: {why}")

    def checks(self) -> Mapping[str, Check]:
        def informer(resource: str) -> Check:
            return lambda: self._unread(resource) if self._picture.synced[resource] else _UNSYNCED

        checks = {
            f"informer-sync/{resource}": informer(resource) for resource in self._picture.synced
        }
        for resource in self._picture.silent_for:
            checks[f"watch-staleness/{resource}"] = self._freshness.check(resource)
        checks["shutdown"] = lambda: "the process is stopping" if self.stopping else None
        return checks


@dataclass(frozen=True, slots=True)
class Running:
    state: ClusterState
    lifecycle: Lifecycle
    callbacks_url: str
    ops_url: str
    questions: str
    """URL that takes the sample's question and says why nodes refuse its pod; "" for none."""


@asynccontextmanager
async def running(config: Config) -> AsyncIterator[Running]:
    """Start everything; on leaving stop it in reverse, calls in flight first.

    Ports are opened before the first list is through: until then callbacks are answered with an
    error that says so, and probes tell what is missing.
    """
    metrics = Metrics(version=__version__)
    metrics.describe_config(
        mode=config.mode,
        plugins=config.plugins,
        scheduler_version=config.scheduler_version,
        text=to_yaml(config),
    )
    state = empty_state(config)
    async with AsyncExitStack() as parts:
        source = await open_source(config, state, metrics, parts)
        _track(config, state, metrics)
        freshness = Freshness(
            lambda: source.picture.silent_for,
            config.client_connection.stale_after_seconds,
            state,
            VITAL,
        )
        _keep_running("freshness", freshness.run(), parts)
        lifecycle = Lifecycle(source.picture, freshness)
        context = Context(
            config, source, state, metrics, lifecycle.unready, WarmUp(state, metrics), History()
        )
        metrics.broken_rules.ask(lambda: len(state.broken_rules))
        loop = asyncio.get_running_loop()
        metrics.loop_tasks.ask(lambda: len(asyncio.all_tasks(loop)))
        _look_after_state(context.state, parts)
        if enforced(config):
            from extender.core.callbacks.refused_pods import RefusedPods  # noqa: PLC0415

            context = replace(context, refused=RefusedPods(state))
        features = build_parts(context)
        if source.leadership is not None:
            _keep_running("lease", source.leadership.run(), parts)
        for part in features:
            parts.push_async_callback(part.close)
            for name, task in part.tasks():
                _keep_running(name, task, parts)
        callbacks = build_callbacks(context, features, lambda: lifecycle.stopping)
        listening = await listen_callbacks(callbacks, config.serving, metrics, parts)
        checks = {**lifecycle.checks(), **listening.checks}
        ops = build_ops(
            context, checks, features, calls=callbacks[LAST_CALLS], callbacks_url=listening.url
        )
        ops_url = await listen_ops(ops, config.serving, metrics, parts)
        # Outside replace the scheduler has these rules, and filter lets the pod through.
        answering = [f"{listening.url}/filter"] if config.mode is Mode.REPLACE else []
        routes = chain.from_iterable(part.routes for part in features)
        answering += [f"{ops_url}{each.path}" for each in routes if each.takes_questions]
        yield Running(state, lifecycle, listening.url, ops_url, next(iter(answering), ""))


def tell_of_alpha(config: Config) -> None:
    for each in enabled(config):
        if each.maturity is Maturity.ALPHA:
            _log.warning(
                "%s is on and alpha: it may change or go in any release, see docs/promises.md",
                each.name,
            )


def _track(config: Config, state: ClusterState, metrics: Metrics) -> None:
    for each in needed(config):
        metrics.cache_objects.ask(partial(_count, state, each), each.name)
    metrics.reservations.ask(lambda: len(state.reservations))


def _look_after_state(state: ClusterState, parts: AsyncExitStack) -> None:
    _keep_running("expiry", keep_expiring(state), parts)
    _keep_running("deferred work", keep_up_to_date(state), parts)
    _keep_running("caches", keep_forgetting(state), parts)
    _keep_running("broken rules", keep_telling_of_broken(state), parts)


def _keep_running(name: str, eternal: Coroutine[Any, Any, NoReturn], parts: AsyncExitStack) -> None:
    """Run a task that never ends by itself until the stack unwinds; say so should it end."""
    task = asyncio.create_task(eternal, name=name)
    task.add_done_callback(_tell_of_end)
    parts.callback(task.cancel)


def _tell_of_end(task: asyncio.Task[NoReturn]) -> None:
    if not task.cancelled():
        _log.error(
            "%s has ended, restart the extender to run it again",
            task.get_name(),
            exc_info=task.exception(),
        )


async def _until_signalled(config: Config) -> None:
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    async with AsyncExitStack() as parts:
        _keep_running("collector", keep_collecting(), parts)
        program = await parts.enter_async_context(running(config))
        _announce(config, program)
        tell_of_alpha(config)
        await stop.wait()
        program.lifecycle.stopping = True
        _log.info("stopping: not ready from now on, calls in flight are finished")
        await asyncio.sleep(config.serving.shutdown_delay_seconds)


def _count(state: ClusterState, resource: WatchedResource[Any]) -> int:
    return len(resource.keys(state))


def _announce(config: Config, program: Running) -> None:
    _log.info("callbacks at %s, operations at %s", program.callbacks_url, program.ops_url)
    if config.cluster_files:
        sys.stdout.writelines(f"{line}\n" for line in announcement(config, program))
        sys.stdout.flush()


def announcement(config: Config, program: Running) -> Iterator[str]:
    """Yield lines that say where a cluster from a file is served, and what can be asked there."""
    yield f"callbacks  {program.callbacks_url}  (kube-scheduler's urlPrefix)"
    yield f"page       {program.ops_url}/"
    question = config.cluster_files[0].with_name("refused.json")
    if question.is_file() and program.questions:
        yield "try        which nodes refuse the pod that waits, and why:"
        json = "-H 'Content-Type: application/json'"
        yield f"  curl -s {json} --data @{question} {program.questions}"
