"""The composition root: builds every part from the configuration, and runs and stops them."""

from __future__ import annotations

import asyncio
import logging
import signal
import sys
from collections.abc import AsyncIterator, Coroutine, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from functools import partial
from random import random
from time import monotonic, time
from typing import Any, NoReturn

import uvloop
from aiohttp import web
from prometheus_client import CollectorRegistry

from extender import __version__
from extender.callbacks.answers import Answers, Rules
from extender.callbacks.binding import Binds
from extender.callbacks.in_flight import Flights
from extender.callbacks.preempting import Preemptions
from extender.callbacks.shadow import Disagreements
from extender.cluster.audits.drift import DriftWatch
from extender.cluster.state import ClusterState
from extender.config import Config, Mode, Plugin, effective
from extender.controllers.nomination.hints import HintLimits, Hints
from extender.controllers.staleness import Freshness
from extender.controllers.violations import keep_patrolling, keep_watching_drift
from extender.metrics import Metrics
from extender.model.verdict import INTER_POD_AFFINITY
from extender.preparing import Preparer
from extender.source import (
    RESOURCES,
    Source,
    keep_auditing,
    keep_expiring,
    object_counts,
    open_source,
    pod_reader,
)
from extender.verbs.binding import interact
from extender.verbs.plugins import (
    CrossNamespacePodAffinity,
    FilterPlugin,
    InterPodAffinity,
    Plugins,
)
from extender.verbs.prioritizing import Scoring
from extender.web.app import LAST_CALLS, LastCalls, callbacks_app
from extender.web.domains import Domains
from extender.web.health import Check
from extender.web.listening import listen_callbacks, listen_ops
from extender.web.ops import ops_app
from extender.web.page import Resource, Status
from extender.wire.objects import MOST_ENTRIES

_log = logging.getLogger(__name__)


def serve(config: Config) -> int:
    """Serve until SIGTERM or SIGINT; return the exit code."""
    uvloop.run(_until_signalled(config))
    return 0


class Lifecycle:
    """What probes and callbacks ask about the process as a whole."""

    def __init__(self, source: Source, freshness: Freshness) -> None:
        self._source = source
        self._freshness = freshness
        self.stopping = False

    def unsynced(self) -> str | None:
        """Say which resources are not known yet, None when all are."""
        missing = [resource for resource, known in self._source.synced.items() if not known]
        return f"{', '.join(missing)} not synced yet" if missing else None

    def checks(self) -> Mapping[str, Check]:
        """Return the readiness checks by name."""

        def informer(resource: str) -> Check:
            return lambda: None if self._source.synced[resource] else "not synced yet"

        checks = {
            f"informer-sync/{resource}": informer(resource) for resource in self._source.synced
        }
        for resource in self._source.silent_for:
            checks[f"watch-staleness/{resource}"] = self._freshness.check(resource)
        checks["shutdown"] = lambda: "the process is stopping" if self.stopping else None
        return checks


@dataclass(frozen=True, slots=True)
class Running:
    """A program that serves."""

    state: ClusterState
    lifecycle: Lifecycle
    callbacks_url: str
    ops_url: str


@asynccontextmanager
async def running(config: Config) -> AsyncIterator[Running]:
    """Start everything; on leaving stop it in reverse, calls in flight first.

    Ports are opened before the first list is through: until then callbacks are answered with an
    error that says so, and probes tell what is missing.
    """
    metrics = Metrics(CollectorRegistry(), __version__)
    state = ClusterState()
    async with AsyncExitStack() as parts:
        source = await open_source(config, state, metrics, parts)
        for resource in source.synced:
            metrics.track_objects(resource, partial(_count, state, resource))
        metrics.track_reservations(lambda: len(state.reservations))
        if config.looks_at_quotas:
            quotas = state.quotas
            metrics.track_quotas(lambda: quotas.pods, lambda: len(quotas.namespaces))
        freshness = Freshness(
            lambda: source.silent_for,
            config.client_connection.stale_after_seconds,
            state,
            RESOURCES,
        )
        _keep_running("freshness", freshness.run(), parts)
        lifecycle = Lifecycle(source, freshness)
        _keep_running("audit", keep_auditing(state, metrics), parts)
        _keep_running("expiry", keep_expiring(state), parts)
        patrolling = keep_patrolling(state, metrics, INTER_POD_AFFINITY, lifecycle.unsynced)
        _keep_running("patrol", patrolling, parts)
        drift = DriftWatch(state)
        watching = keep_watching_drift(drift, metrics, lifecycle.unsynced)
        _keep_running("drift", watching, parts)
        preparer = Preparer(state, metrics)
        hints = _hints(config, source, state, metrics, preparer)
        if hints is not None:
            parts.push_async_callback(hints.close)
            _keep_running("hints", hints.run(), parts)
        callbacks = _callbacks(
            config, source, state, metrics, lifecycle, preparer=preparer, hints=hints
        )
        calls = callbacks[LAST_CALLS]
        listening = await listen_callbacks(callbacks, config.serving, metrics, parts)
        started = time()
        ops = ops_app(
            status=lambda: _status(
                config, source, state, calls, callbacks_url=listening.url, started=started
            ),
            configuration=effective(config),
            readiness={**lifecycle.checks(), **listening.checks},
            metrics=metrics,
            domains=Domains(state, drift, lifecycle.unsynced),
        )
        ops_url = await listen_ops(ops, config.serving, metrics, parts)
        yield Running(state, lifecycle, listening.url, ops_url)


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
    async with running(config) as program:
        _announce(config, program)
        await stop.wait()
        program.lifecycle.stopping = True
        _log.info("stopping: not ready from now on, calls in flight are finished")
        await asyncio.sleep(config.serving.shutdown_delay_seconds)


def _callbacks(
    config: Config,
    source: Source,
    state: ClusterState,
    metrics: Metrics,
    lifecycle: Lifecycle,
    *,
    preparer: Preparer,
    hints: Hints | None,
) -> web.Application:
    """Build the callbacks' application; binding and preemption go with the hard rules."""
    limit = config.serving.max_body_bytes
    rules, pods = _rules(config), pod_reader(config, MOST_ENTRIES)
    if not rules.plugins:
        plugins = _plugins(config)
        shadow = Disagreements(state, metrics, plugins) if config.mode is Mode.SHADOW else None
        answers = Answers(
            state,
            rules,
            metrics,
            lifecycle.unsynced,
            pods=pods,
            shadow=shadow,
            preparer=preparer,
        )
        return callbacks_app(answers, metrics, limit)
    # Whoever refuses nodes has to be asked before pods are evicted from them.
    preemptions = Preemptions(
        state,
        metrics,
        rules.plugins,
        unready=lifecycle.unsynced,
        may_be_empty=config.scheduler_takes_empty_victims,
        clock=monotonic,
        pods=pods,
        give_way=None if hints is None else hints.give_way,
        preparer=preparer,
    )
    binding = config.mode is Mode.REPLACE
    flights = Flights(partial(interact, state))
    answers = Answers(
        state,
        rules,
        metrics,
        lifecycle.unsynced,
        flights if binding else None,
        hints=hints,
        keep_waiting=preemptions.keep_waiting,
        pods=pods,
        preparer=preparer,
    )
    if not binding:
        return callbacks_app(answers, metrics, limit, preemptions=preemptions)
    binds = Binds(
        state,
        source.binder,
        flights,
        metrics,
        rules.plugins,
        unready=lifecycle.unsynced,
        clock=monotonic,
        preparer=preparer,
    )
    return callbacks_app(answers, metrics, limit, binds, preemptions)


def _hints(
    config: Config, source: Source, state: ClusterState, metrics: Metrics, preparer: Preparer
) -> Hints | None:
    """Build what nominates nodes, where the hard rules are ours and somebody can be told."""
    if source.nominator is None or not config.hints.enabled or config.mode is not Mode.REPLACE:
        return None
    limits = HintLimits(
        config.hints.per_second, config.hints.max_outstanding, config.hints.patience_seconds
    )
    nominator = source.nominator
    plugins = _plugins(config)
    return Hints(
        state,
        nominator,
        metrics,
        limits,
        plugins,
        clock=monotonic,
        chance=random,
        preparer=preparer,
    )


def _plugins(config: Config) -> Plugins:
    """Build the plugins that are enabled."""
    limited = config.cross_namespace_pod_affinity.limited_by_default
    built: dict[Plugin, FilterPlugin] = {
        Plugin.INTER_POD_AFFINITY: InterPodAffinity(),
        Plugin.CROSS_NAMESPACE_POD_AFFINITY: CrossNamespacePodAffinity(limited),
    }
    return tuple(built[name] for name in config.plugins)


def _enforced(config: Config) -> Plugins:
    """Return those that refuse nodes in this mode: in `assist`, what the scheduler lacks."""
    match config.mode:
        case Mode.SHADOW:
            return ()
        case Mode.ASSIST:
            return tuple(each for each in _plugins(config) if each != InterPodAffinity())
        case Mode.REPLACE:
            return _plugins(config)


def _rules(config: Config) -> Rules:
    plugin = config.inter_pod_affinity
    return Rules(
        plugins=_enforced(config),
        resolvable=config.filter.resolvable,
        scoring=Scoring(
            plugin.hard_pod_affinity_weight, plugin.ignore_preferred_terms_of_existing_pods
        ),
        max_score=config.prioritize.max_score,
    )


def _count(state: ClusterState, resource: str) -> int:
    return object_counts(state)[resource]


def _status(
    config: Config,
    source: Source,
    state: ClusterState,
    calls: LastCalls,
    *,
    callbacks_url: str,
    started: float,
) -> Status:
    synced, heard, counts = source.synced, source.last_heard, object_counts(state)
    return Status(
        mode=config.mode.value,
        source=source.description,
        callbacks=callbacks_url,
        calls=calls.at,
        started=started,
        resources=tuple(Resource(name, synced[name], counts[name], heard[name]) for name in synced),
    )


def _announce(config: Config, program: Running) -> None:
    """Tell whoever tries a cluster from a file where to look."""
    _log.info("callbacks at %s, operations at %s", program.callbacks_url, program.ops_url)
    if not config.cluster_files:
        return
    lines = [
        f"callbacks  {program.callbacks_url}  (kube-scheduler's urlPrefix)",
        f"page       {program.ops_url}/",
    ]
    question = config.cluster_files[0].with_name("refused.json")
    if question.is_file():
        lines += [
            "try        which nodes refuse the pod that waits, and why:",
            f"  curl -s --data @{question} {program.callbacks_url}/filter",
        ]
    sys.stdout.write("\n".join(lines) + "\n")
    sys.stdout.flush()
